//! A server outside that a test plays: HTTPS, one answer a request.

use std::path::Path;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{CertificateParams, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use tokio::net::TcpListener;

/// What a server is asked: the path, and the body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub path: String,
    pub body: String,
    pub authorization: String,
}

/// A server; it goes with the test's runtime.
#[derive(Clone)]
pub struct Outside {
    pub url: String,
    /// Its own certificate, whom it is trusted by.
    pub certificate: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Outside {
    /// Starts one.
    pub async fn start(answer: impl Fn(&Asked) -> (u16, String) + Send + Sync + 'static) -> Self {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("names");
        let certificate = params.self_signed(&key).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let private = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .expect("a pair");
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("https://{}", listener.local_addr().expect("an address"));
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (noted, answer) = (Arc::clone(&asked), Arc::new(answer));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, noted, answer) = (acceptor.clone(), Arc::clone(&noted), Arc::clone(&answer));
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(|request| respond(request, &noted, answer.as_ref()));
                    let http = hyper::server::conn::http1::Builder::new();
                    let _ = http.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { url, certificate: certificate.pem(), asked }
    }

    /// What it has been asked so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("no panic").clone()
    }

    /// Writes a kubeconfig for it, with a token.
    pub fn kubeconfig(&self, file: &Path, path: &str) {
        let authority = file.with_extension("crt");
        std::fs::write(&authority, &self.certificate).expect("a file");
        let text = format!(
            "current-context: w\ncontexts: [{{name: w, context: {{cluster: w, user: w}}}}]\n\
             clusters: [{{name: w, cluster: {{server: '{}{path}', certificate-authority: {}}}}}]\n\
             users: [{{name: w, user: {{token: secret}}}}]\n",
            self.url,
            authority.display()
        );
        std::fs::write(file, text).expect("a file");
    }
}

async fn respond(
    request: Request<Incoming>,
    noted: &Mutex<Vec<Asked>>,
    answer: &(dyn Fn(&Asked) -> (u16, String) + Send + Sync),
) -> hyper::Result<Response<Full<Bytes>>> {
    let (parts, body) = request.into_parts();
    let body = String::from_utf8_lossy(&body.collect().await?.to_bytes()).into_owned();
    let path = parts.uri.path_and_query().map_or_else(String::new, ToString::to_string);
    let authorization = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
    let asked = Asked { path, body, authorization: authorization.unwrap_or_default().to_owned() };
    let (code, text) = answer(&asked);
    noted.lock().expect("no panic").push(asked);
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a code");
    let json = http::HeaderValue::from_static("application/json");
    response.headers_mut().insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}
