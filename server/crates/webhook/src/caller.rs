//! Calls one server that a kubeconfig names: one POST of JSON, tried again while that may help.
//!
//! Who authenticates, authorizes or audits by webhook is told to the server by a file, unlike admission webhooks, which
//! objects tell.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use apiwright_json::Value;
use apiwright_remote::{Backend, Error, Identity, Kind, Trust, Via, full};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Response, Uri};

use crate::client::{ANSWER_BYTES_MAX, read, shown};
use crate::kubeconfig::Access;

/// How long a call may take unless somebody says otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(30);
/// How often a call is tried.
const TRIES_MAX: u32 = 5;
/// How long after the first try the second comes; each other after half as long again.
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// Calls a server.
#[derive(Debug)]
pub struct Caller {
    backend: Backend,
    address: Uri,
    headers: HeaderMap,
    timeout: Duration,
}

/// Why a try has no answer.
struct Failure {
    text: String,
    /// Whether another try may have one.
    is_passing: bool,
}

impl Caller {
    /// Of the server that a kubeconfig names.
    ///
    /// # Errors
    /// One line that names the file.
    pub fn load(kubeconfig: &Path, timeout: Duration) -> Result<Self, String> {
        let access = Access::read(kubeconfig)?;
        Self::new(&access, timeout)
            .map_err(|why| format!("cannot use the kubeconfig {}: {why}", kubeconfig.display()))
    }

    fn new(access: &Access, timeout: Duration) -> Result<Self, String> {
        let server = access.server.trim_end_matches('/');
        let address: Uri = format!(
            "{server}{}?timeout={}",
            if server.matches('/').count() < 3 { "/" } else { "" },
            shown(timeout)
        )
        .parse()
        .map_err(|error| format!("its server {:?} is no URL: {error}", access.server))?;
        if address.scheme_str() != Some("https") {
            return Err(format!("its server {:?} is not called: only https is spoken", access.server));
        }
        let trust = Trust::of(access.authority.as_deref().unwrap_or_default(), access.is_insecure);
        let identity = match &access.identity {
            Some((certificate, key)) => Some(Arc::new(Identity::of_pem(certificate, key)?)),
            None => None,
        };
        let backend = Backend::new(Via::Address, access.server_name.clone(), &trust, identity.as_ref())
            .map_err(|error| error.to_string())?;
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, */*"));
        headers.insert(USER_AGENT, HeaderValue::from_static("kube-apiserver"));
        let credentials = match (&access.token, &access.password) {
            (Some(token), _) => Some(format!("Bearer {token}")),
            (None, Some((name, password))) => {
                Some(format!("Basic {}", BASE64_STANDARD.encode(format!("{name}:{password}"))))
            }
            (None, None) => None,
        };
        if let Some(credentials) = credentials {
            let mut value = HeaderValue::try_from(credentials)
                .map_err(|_| "its user's credentials fit into no header")?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self { backend, address, headers, timeout })
    }

    /// Sends JSON; gives the answer's.
    ///
    /// # Errors
    /// In the words of kube-apiserver's client, where there is none after several tries.
    pub async fn post(&self, body: impl Into<Bytes>) -> Result<Value, String> {
        let body = body.into();
        let mut interval = RETRY_INTERVAL;
        let mut tries = 1;
        loop {
            match self.attempt(body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(failure) if !failure.is_passing || tries == TRIES_MAX => return Err(failure.text),
                Err(failure) => {
                    tracing::debug!(address = %self.address, why = failure.text, "a call is tried again");
                }
            }
            tokio::time::sleep(interval).await;
            interval = interval * 3 / 2;
            tries += 1;
        }
    }

    /// Sends JSON once; any answer that is no refusal will do.
    ///
    /// # Errors
    /// In the words of kube-apiserver's client.
    pub async fn tell(&self, body: impl Into<Bytes>) -> Result<(), String> {
        let answer = self.exchange(body.into()).await;
        let answer = answer.map_err(|error| error.of_request(&Method::POST, &self.address))?;
        if answer.status().is_success() { Ok(()) } else { read(answer).map(drop) }
    }

    async fn exchange(&self, body: Bytes) -> Result<Response<Bytes>, Error> {
        let mut request = Request::new(full(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.address.clone();
        *request.headers_mut() = self.headers.clone();
        self.backend.exchange(request, self.timeout, ANSWER_BYTES_MAX).await
    }

    async fn attempt(&self, body: Bytes) -> Result<Value, Failure> {
        let answer = self.exchange(body).await;
        let answer = answer.map_err(|error| Failure {
            is_passing: is_lost(&error),
            text: error.of_request(&Method::POST, &self.address),
        })?;
        let is_passing = invites(&answer);
        read(answer).map_err(|text| Failure { text, is_passing })
    }
}

/// Whether a connection ended that might not have.
fn is_lost(error: &Error) -> bool {
    error.kind == Kind::Exchange && error.to_string().contains("connection reset")
}

/// Whether a server that refuses may do so once only.
fn invites(answer: &Response<Bytes>) -> bool {
    matches!(answer.status().as_u16(), 429 | 500 | 504)
        || (!answer.status().is_success() && answer.headers().contains_key(RETRY_AFTER))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_to_call() {
        let access = |server: &str| Access { server: server.into(), ..Access::default() };
        for (server, expected) in [
            ("https://auth.example", Ok("https://auth.example/?timeout=30s")),
            ("https://auth.example:8443/authorize", Ok("https://auth.example:8443/authorize?timeout=30s")),
            ("https://auth.example/authorize/", Ok("https://auth.example/authorize?timeout=30s")),
            (
                "http://auth.example/",
                Err("its server \"http://auth.example/\" is not called: only https is spoken"),
            ),
        ] {
            let found = Caller::new(&access(server), TIMEOUT).map(|caller| caller.address.to_string());
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{server}");
        }
    }
}
