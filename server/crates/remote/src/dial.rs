//! A TCP connection and the TLS handshake over it.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::error::{Error, Kind, of_errno};
use crate::resolve::Host;

/// As Go's default dialer.
const DIAL_SECONDS_MAX: u64 = 30;
/// As Go's default transport.
const HANDSHAKE_SECONDS_MAX: u64 = 10;
const KEEPALIVE_SECONDS: u64 = 30;

/// Connects to a host that must prove to be `server_name`.
pub(crate) async fn dial(
    host: &Host,
    server_name: &str,
    config: Arc<ClientConfig>,
) -> Result<TlsStream<TcpStream>, Error> {
    let stream = tcp(host).await?;
    let name = ServerName::try_from(server_name.to_owned())
        .map_err(|_| Error::new(Kind::Target, format!("tls: invalid server name {server_name:?}")))?;
    let handshake = TlsConnector::from(config).connect(name, stream);
    match tokio::time::timeout(Duration::from_secs(HANDSHAKE_SECONDS_MAX), handshake).await {
        Ok(Ok(stream)) => Ok(stream),
        Ok(Err(error)) => Err(Error::of_handshake(&error)),
        Err(_) => Err(Error::new(Kind::Timeout, "net/http: TLS handshake timeout")),
    }
}

async fn tcp(host: &Host) -> Result<TcpStream, Error> {
    let connecting = async {
        let mut first = None;
        for address in addresses(host).await? {
            match TcpStream::connect(address).await {
                Ok(stream) => {
                    configure(&stream);
                    return Ok(stream);
                }
                Err(error) => {
                    first.get_or_insert_with(|| refused(address, &error));
                }
            }
        }
        Err(first.unwrap_or_else(|| no_such_host(&host.name)))
    };
    tokio::time::timeout(Duration::from_secs(DIAL_SECONDS_MAX), connecting)
        .await
        .unwrap_or_else(|_| Err(Error::new(Kind::Timeout, format!("dial tcp {host}: i/o timeout"))))
}

async fn addresses(host: &Host) -> Result<Vec<SocketAddr>, Error> {
    if let Ok(ip) = host.name.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, host.port)]);
    }
    match tokio::net::lookup_host((host.name.as_str(), host.port)).await {
        Ok(found) => Ok(found.collect()),
        Err(_) => Err(no_such_host(&host.name)),
    }
}

/// Small messages go out at once, dead servers are noticed.
fn configure(stream: &TcpStream) {
    let keepalive = TcpKeepalive::new().with_time(Duration::from_secs(KEEPALIVE_SECONDS));
    if let Err(error) =
        stream.set_nodelay(true).and_then(|()| SockRef::from(stream).set_tcp_keepalive(&keepalive))
    {
        tracing::debug!(%error, "cannot configure a connection");
    }
}

fn refused(address: SocketAddr, error: &io::Error) -> Error {
    Error::new(Kind::Connect, format!("dial tcp {address}: connect: {}", of_errno(error)))
}

fn no_such_host(name: &str) -> Error {
    let server = name_server().map(|server| format!(" on {server}")).unwrap_or_default();
    Error::new(Kind::Connect, format!("dial tcp: lookup {name}{server}: no such host"))
}

/// Go tells which name server it has asked.
fn name_server() -> Option<&'static String> {
    static SERVER: OnceLock<Option<String>> = OnceLock::new();
    let server = SERVER.get_or_init(|| {
        let text = std::fs::read_to_string("/etc/resolv.conf").ok()?;
        let name = text.lines().find_map(|line| line.strip_prefix("nameserver"))?.trim();
        Some(Host { name: name.to_owned(), port: 53 }.to_string())
    });
    server.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refusals_read_as_gos() {
        let refused = tcp(&Host { name: "127.0.0.1".into(), port: 1 }).await.unwrap_err();
        assert_eq!(refused.to_string(), "dial tcp 127.0.0.1:1: connect: connection refused");
        assert_eq!(refused.kind, Kind::Connect);
        let unknown = tcp(&Host { name: "no.such.host.invalid".into(), port: 1 }).await.unwrap_err();
        let text = unknown.to_string();
        assert!(text.starts_with("dial tcp: lookup no.such.host.invalid"), "{text}");
        assert!(text.ends_with(": no such host"), "{text}");
    }
}
