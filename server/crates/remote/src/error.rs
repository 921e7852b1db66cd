//! Why a server outside did not answer, in the words of Go's HTTP client.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use http::{Method, Uri};
use rustls::AlertDescription;

/// A failed exchange.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of failure.
    pub kind: Kind,
    text: String,
}

/// The kinds of failures that callers tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The target says nothing that could be reached or trusted.
    Target,
    /// No connection came about.
    Connect,
    /// It took too long.
    Timeout,
    /// The connection ended before the answer did.
    Exchange,
    /// The answer is longer than anybody wants to read.
    TooLong,
}

impl Error {
    /// A failure in these words.
    pub fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }

    /// The time that a caller gave has run out.
    pub fn deadline_exceeded() -> Self {
        Self::new(Kind::Timeout, "context deadline exceeded")
    }

    /// The failure as Go's client reports it of a request: `Post "https://…": EOF`.
    pub fn of_request(&self, method: &Method, uri: &Uri) -> String {
        let method = method.as_str();
        let (first, rest) = method.split_at(method.len().min(1));
        format!("{first}{} \"{uri}\": {}", rest.to_ascii_lowercase(), self.text)
    }

    /// What an exchange over a pooled connection failed of.
    pub(crate) fn of_exchange(error: &(dyn StdError + 'static)) -> Self {
        let mut innermost = error;
        let mut cause = Some(error);
        while let Some(error) = cause {
            if let Some(own) = error.downcast_ref::<Self>() {
                return own.clone();
            }
            if let Some(hyper) = error.downcast_ref::<hyper::Error>() {
                if hyper.is_incomplete_message() || hyper.is_closed() || hyper.is_canceled() {
                    return Self::new(Kind::Exchange, "EOF");
                }
                if hyper.is_parse() {
                    return Self::new(
                        Kind::Exchange,
                        "net/http: HTTP/1.x transport connection broken: malformed HTTP response",
                    );
                }
            }
            if let Some(io) = error.downcast_ref::<io::Error>()
                && io.get_ref().is_none_or(|inner| !inner.is::<Self>())
            {
                return Self::new(Kind::Exchange, of_io(io));
            }
            innermost = error;
            cause = error.source();
        }
        Self::new(Kind::Exchange, innermost.to_string())
    }

    /// What the handshake failed of.
    pub(crate) fn of_handshake(error: &io::Error) -> Self {
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
        Self::new(Kind::Connect, tls.map_or_else(|| of_io(error), of_tls))
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl StdError for Error {}

/// What the system's refusal is called.
pub(crate) fn of_errno(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".into(),
        io::ErrorKind::ConnectionReset => "connection reset by peer".into(),
        io::ErrorKind::HostUnreachable => "no route to host".into(),
        io::ErrorKind::NetworkUnreachable => "network is unreachable".into(),
        io::ErrorKind::TimedOut => "connection timed out".into(),
        io::ErrorKind::BrokenPipe => "broken pipe".into(),
        _ => {
            let text = error.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_ascii_lowercase()
        }
    }
}

fn of_io(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "EOF".into(),
        _ => match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
            Some(tls) => of_tls(tls),
            None => format!("read: {}", of_errno(error)),
        },
    }
}

fn of_tls(error: &rustls::Error) -> String {
    use rustls::{CertificateError, InvalidMessage};
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(words)) => {
            format!("tls: failed to verify certificate: {}", words.0)
        }
        rustls::Error::AlertReceived(alert) => format!("remote error: tls: {}", of_alert(*alert)),
        rustls::Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "http: server gave HTTP response to HTTPS client".into()
        }
        rustls::Error::InvalidMessage(_) => "tls: first record does not look like a TLS handshake".into(),
        other => format!("tls: {other}"),
    }
}

fn of_alert(alert: AlertDescription) -> String {
    match alert {
        AlertDescription::UnexpectedMessage => "unexpected message",
        AlertDescription::BadRecordMac => "bad record MAC",
        AlertDescription::RecordOverflow => "record overflow",
        AlertDescription::HandshakeFailure => "handshake failure",
        AlertDescription::BadCertificate => "bad certificate",
        AlertDescription::UnsupportedCertificate => "unsupported certificate",
        AlertDescription::CertificateRevoked => "revoked certificate",
        AlertDescription::CertificateExpired => "expired certificate",
        AlertDescription::CertificateUnknown => "unknown certificate",
        AlertDescription::IllegalParameter => "illegal parameter",
        AlertDescription::UnknownCA => "unknown certificate authority",
        AlertDescription::AccessDenied => "access denied",
        AlertDescription::DecodeError => "error decoding message",
        AlertDescription::DecryptError => "error decrypting message",
        AlertDescription::ProtocolVersion => "protocol version not supported",
        AlertDescription::InsufficientSecurity => "insufficient security level",
        AlertDescription::InternalError => "internal error",
        AlertDescription::UnrecognisedName => "unrecognized name",
        AlertDescription::CertificateRequired => "certificate required",
        AlertDescription::NoApplicationProtocol => "no application protocol",
        other => return format!("alert({})", u8::from(other)),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_requests() {
        let error = Error::new(Kind::Connect, "dial tcp 127.0.0.1:1: connect: connection refused");
        let uri: Uri = "https://127.0.0.1:1/admit?timeout=10s".parse().unwrap();
        assert_eq!(
            error.of_request(&Method::POST, &uri),
            "Post \"https://127.0.0.1:1/admit?timeout=10s\": dial tcp 127.0.0.1:1: connect: connection refused"
        );
    }

    #[test]
    fn words_of_the_system() {
        for (kind, expected) in [
            (io::ErrorKind::ConnectionRefused, "connection refused"),
            (io::ErrorKind::NetworkUnreachable, "network is unreachable"),
        ] {
            assert_eq!(of_errno(&kind.into()), expected);
        }
        assert_eq!(of_errno(&io::Error::from_raw_os_error(13)), "permission denied");
    }
}
