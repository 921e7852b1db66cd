//! One GET to a server, its answer piece by piece.

use std::sync::Arc;

use apiwright_webhook::Access;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, HOST};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;

/// How much of a refusal is read.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

/// An answer on its way.
pub(crate) struct Pieces {
    body: Incoming,
    server: String,
}

/// Asks for a path.
pub(crate) async fn get(access: &Access, path: &str) -> Result<Pieces, String> {
    let server = access.server.clone();
    let fail = |why: &dyn std::fmt::Display| format!("cannot reach {server}: {why}");
    let uri: http::Uri = access.server.parse().map_err(|why| fail(&why))?;
    let (Some("https"), Some(host)) = (uri.scheme_str(), uri.host()) else {
        return Err(fail(&"it is no https address"));
    };
    let host = host.trim_matches(['[', ']']);
    let port = uri.port_u16().unwrap_or(443);
    let stream = TcpStream::connect((host, port)).await.map_err(|why| fail(&why))?;
    let name = access.server_name.as_deref().unwrap_or(host).to_owned();
    let name = ServerName::try_from(name).map_err(|why| fail(&why))?;
    let stream = tokio_rustls::TlsConnector::from(Arc::new(tls(access)?))
        .connect(name, stream)
        .await
        .map_err(|why| fail(&why))?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|why| fail(&why))?;
    tokio::spawn(connection);
    let base = uri.path().trim_end_matches('/');
    let authority = uri.authority().map_or(host, http::uri::Authority::as_str);
    let mut request =
        http::Request::get(format!("{base}{path}")).header(HOST, authority).header(ACCEPT, "*/*");
    if let Some(token) = &access.token {
        request = request.header(AUTHORIZATION, format!("Bearer {token}"));
    }
    let request = request.body(Empty::<Bytes>::new()).map_err(|why| fail(&why))?;
    let response = sender.send_request(request).await.map_err(|why| fail(&why))?;
    let code = response.status();
    let mut pieces = Pieces { body: response.into_body(), server };
    if code.is_success() {
        return Ok(pieces);
    }
    let mut refusal = Vec::new();
    while let Some(piece) = pieces.next().await? {
        refusal.extend_from_slice(&piece);
        if refusal.len() > REFUSAL_BYTES_MAX {
            break;
        }
    }
    let message = apiwright_json::decode(&refusal).ok();
    let message = message.as_ref().map(|(status, _)| status.text_at(&["message"])).unwrap_or_default();
    Err(format!("{} refuses ({code}): {message}", pieces.server))
}

impl Pieces {
    /// The next piece; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, String> {
        loop {
            match self.body.frame().await {
                None => return Ok(None),
                // Trailers say nothing to us.
                Some(Ok(frame)) => {
                    if let Ok(piece) = frame.into_data() {
                        return Ok(Some(piece));
                    }
                }
                Some(Err(why)) => return Err(format!("{} broke off: {why}", self.server)),
            }
        }
    }
}

fn tls(access: &Access) -> Result<rustls::ClientConfig, String> {
    let fail =
        |what: &str, why: &dyn std::fmt::Display| format!("the kubeconfig's {what} is unusable: {why}");
    let mut roots = rustls::RootCertStore::empty();
    let authority = access.authority.as_deref().ok_or("its cluster has no certificate-authority")?;
    if access.is_insecure || access.password.is_some() {
        return Err("insecure-skip-tls-verify and passwords are not supported".into());
    }
    for certificate in CertificateDer::pem_slice_iter(authority) {
        let certificate = certificate.map_err(|why| fail("certificate authority", &why))?;
        roots.add(certificate).map_err(|why| fail("certificate authority", &why))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|why| fail("server", &why))?
        .with_root_certificates(roots);
    match &access.identity {
        None => Ok(config.with_no_client_auth()),
        Some((certificate, key)) => {
            let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
            let chain = chain.map_err(|why| fail("client certificate", &why))?;
            let key = PrivateKeyDer::from_pem_slice(key).map_err(|why| fail("client key", &why))?;
            config.with_client_auth_cert(chain, key).map_err(|why| fail("client certificate", &why))
        }
    }
}
