//! The plugin's service, over gRPC on a socket of this machine.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::uri::PathAndQuery;
use hyper_util::rt::TokioIo;
use prost::Message;
use tokio::net::UnixStream;
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic_prost::ProstCodec;
use tower::service_fn;

use super::envelope::Envelope;

const STATUS: &str = "/v2.KeyManagementService/Status";
const ENCRYPT: &str = "/v2.KeyManagementService/Encrypt";
const DECRYPT: &str = "/v2.KeyManagementService/Decrypt";

/// A connection that is made when it is needed.
pub(super) struct Service {
    channel: Channel,
    timeout: Duration,
}

#[derive(Clone, PartialEq, Message)]
struct StatusRequest {}

/// What the plugin says of itself.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(string, tag = "1")]
    pub(super) version: String,
    #[prost(string, tag = "2")]
    pub(super) healthz: String,
    #[prost(string, tag = "3")]
    pub(super) key_id: String,
}

#[derive(Clone, PartialEq, Message)]
struct EncryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    plaintext: Vec<u8>,
    #[prost(string, tag = "2")]
    uid: String,
}

/// A sealed seed.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Encrypted {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(super) key_id: String,
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub(super) annotations: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct DecryptRequest {
    #[prost(bytes = "vec", tag = "1")]
    ciphertext: Vec<u8>,
    #[prost(string, tag = "2")]
    uid: String,
    #[prost(string, tag = "3")]
    key_id: String,
    #[prost(btree_map = "string, bytes", tag = "4")]
    annotations: BTreeMap<String, Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Decrypted {
    #[prost(bytes = "vec", tag = "1")]
    plaintext: Vec<u8>,
}

impl Service {
    /// At `unix:///path`, or `unix://@name` of the abstract ones.
    pub(super) fn new(endpoint: &str, timeout: Duration) -> Self {
        let path = endpoint.strip_prefix("unix://").unwrap_or(endpoint);
        // What comes behind @ has a name only in memory.
        let path = PathBuf::from(match path.strip_prefix('@') {
            Some(name) => format!("\0{name}"),
            None => path.to_owned(),
        });
        let connect = service_fn(move |_: http::Uri| {
            let path = path.clone();
            async move { UnixStream::connect(path).await.map(TokioIo::new) }
        });
        let channel = Endpoint::from_static("http://localhost").connect_with_connector_lazy(connect);
        Self { channel, timeout }
    }

    pub(super) async fn status(&self) -> Result<Status, String> {
        self.call(STATUS, StatusRequest {}).await
    }

    pub(super) async fn encrypt(&self, uid: &str, plaintext: Vec<u8>) -> Result<Encrypted, String> {
        self.call(ENCRYPT, EncryptRequest { plaintext, uid: uid.to_owned() }).await
    }

    pub(super) async fn decrypt(&self, uid: &str, envelope: &Envelope) -> Result<Vec<u8>, String> {
        let request = DecryptRequest {
            ciphertext: envelope.encrypted_dek_source.clone(),
            uid: uid.to_owned(),
            key_id: envelope.key_id.clone(),
            annotations: envelope.annotations.clone(),
        };
        let answer: Decrypted = self.call(DECRYPT, request).await?;
        Ok(answer.plaintext)
    }

    async fn call<Q, A>(&self, method: &'static str, question: Q) -> Result<A, String>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut grpc = Grpc::new(self.channel.clone());
        let asked = async {
            grpc.ready().await.map_err(|why| words(&why))?;
            let codec: ProstCodec<Q, A> = ProstCodec::default();
            let answer =
                grpc.unary(tonic::Request::new(question), PathAndQuery::from_static(method), codec).await;
            answer.map(tonic::Response::into_inner).map_err(|status| {
                format!("rpc error: code = {:?} desc = {}", status.code(), status.message())
            })
        };
        match tokio::time::timeout(self.timeout, asked).await {
            Ok(answer) => answer,
            Err(_) => Err("rpc error: code = DeadlineExceeded desc = context deadline exceeded".into()),
        }
    }
}

/// An error with its causes.
fn words(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}
