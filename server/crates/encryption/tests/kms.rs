//! A plugin outside that keeps the key: values are sealed by its word, and not without it.
#![allow(missing_docs)]
#![cfg(feature = "kms")]

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use apiwright_encryption::{Configuration, Encrypted, GroupResource, Transformers};
use apiwright_storage::{At, Change, Error, Expect, Storage};
use apiwright_storage_embedded::{Embedded, Options};
use bytes::{BufMut, Bytes, BytesMut};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use tokio::net::UnixListener;
use tokio::task::JoinHandle;

/// Seals by turning bytes around, under the name of its key.
#[derive(Clone, Default)]
struct Plugin {
    key_id: Arc<Mutex<String>>,
    opened: Arc<Mutex<usize>>,
}

impl Plugin {
    fn named(key_id: &str) -> Self {
        let plugin = Self::default();
        key_id.clone_into(&mut plugin.key_id.lock());
        plugin
    }

    fn serve(&self, socket: &Path) -> JoinHandle<()> {
        let _ = std::fs::remove_file(socket);
        let listener = UnixListener::bind(socket).unwrap();
        let plugin = self.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let plugin = plugin.clone();
                let service = service_fn(move |request: http::Request<Incoming>| {
                    let plugin = plugin.clone();
                    async move {
                        let path = request.uri().path().to_owned();
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        Ok::<_, Infallible>(answered(plugin.answer(&path, &body[5..])))
                    }
                });
                let builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
                tokio::spawn(builder.serve_connection(TokioIo::new(stream), service));
            }
        })
    }

    /// One message for another, in protobuf.
    fn answer(&self, path: &str, question: &[u8]) -> BytesMut {
        let mut answer = BytesMut::new();
        let key_id = self.key_id.lock().clone();
        let first = field(question, 1);
        match path {
            "/v2.KeyManagementService/Status" => {
                put(&mut answer, 1, b"v2");
                put(&mut answer, 2, b"ok");
                put(&mut answer, 3, key_id.as_bytes());
            }
            "/v2.KeyManagementService/Encrypt" => {
                put(&mut answer, 1, &first.iter().rev().copied().collect::<Vec<_>>());
                put(&mut answer, 2, key_id.as_bytes());
            }
            "/v2.KeyManagementService/Decrypt" => {
                *self.opened.lock() += 1;
                put(&mut answer, 1, &first.iter().rev().copied().collect::<Vec<_>>());
            }
            path => panic!("{path}"),
        }
        answer
    }
}

/// A message of gRPC's, with the trailers that say that all is well.
fn answered(
    message: BytesMut,
) -> http::Response<StreamBody<impl futures::Stream<Item = Result<Frame<Bytes>, Infallible>>>> {
    let mut framed = BytesMut::new();
    framed.put_u8(0);
    framed.put_u32(message.len() as u32);
    framed.extend_from_slice(&message);
    let trailers = http::HeaderMap::from_iter([("grpc-status".parse().unwrap(), "0".parse().unwrap())]);
    let frames = [Ok(Frame::data(framed.freeze())), Ok(Frame::trailers(trailers))];
    let body = StreamBody::new(futures::stream::iter(frames));
    http::Response::builder().header("content-type", "application/grpc").body(body).unwrap()
}

/// Short fields of bytes are all that there is.
fn put(out: &mut BytesMut, number: u8, value: &[u8]) {
    out.put_u8(number << 3 | 2);
    out.put_u8(value.len() as u8);
    out.extend_from_slice(value);
}

fn field(message: &[u8], wanted: u8) -> &[u8] {
    let mut rest = message;
    while let [tag, length, ..] = *rest {
        let value = &rest[2..2 + usize::from(length)];
        if tag >> 3 == wanted {
            return value;
        }
        rest = &rest[2 + usize::from(length)..];
    }
    &[]
}

async fn transformers(socket: &Path) -> Transformers {
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n- resources: [secrets]\n  \
         providers:\n  - kms: {{apiVersion: v2, name: plug, endpoint: 'unix://{}', timeout: 1s}}\n",
        socket.display()
    );
    Configuration::read(text.as_bytes()).unwrap().transformers().await.unwrap()
}

fn over(engine: &Arc<dyn Storage>, transformers: Transformers) -> Encrypted {
    let secrets = Arc::new(|_: &str| Some(GroupResource::parse("secrets")));
    Encrypted::new(Arc::clone(engine), transformers, secrets, "/registry/")
}

fn value(text: &'static str) -> Change {
    Change::Put { value: Bytes::from_static(text.as_bytes()), ttl_seconds: None }
}

const KEY: &str = "/registry/secrets/ns/a";

#[tokio::test]
async fn a_plugin_seals_and_opens() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("kms.sock");
    let plugin = Plugin::named("first");
    let serving = plugin.serve(&socket);
    let engine: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
    let sealed = over(&engine, transformers(&socket).await);
    assert_eq!(sealed.transformers().check().await, Ok(()));
    sealed.commit(KEY.into(), Expect::Absent, value("{\"a\":1}")).await.unwrap();
    let stored = engine.get(KEY, At::Latest).await.unwrap().1.unwrap();
    assert!(stored.value.starts_with(b"k8s:enc:kms:v2:plug:\x0a"), "{:?}", stored.value);

    // Another server has to ask for the seed, once.
    *plugin.key_id.lock() = "second".into();
    let other = over(&engine, transformers(&socket).await);
    for _ in 0..3 {
        let read = other.get(KEY, At::Latest).await.unwrap().1.unwrap();
        assert_eq!((&*read.value, other.is_stale(&read)), (&b"{\"a\":1}"[..], true));
    }
    assert_eq!(*plugin.opened.lock(), 1);
    serving.abort();
}

#[tokio::test]
async fn without_the_plugin_nothing_is_sealed_or_lost() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("kms.sock");
    let plugin = Plugin::named("first");
    let serving = plugin.serve(&socket);
    let engine: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
    over(&engine, transformers(&socket).await)
        .commit(KEY.into(), Expect::Absent, value("{\"a\":1}"))
        .await
        .unwrap();
    serving.abort();
    let _ = serving.await;
    std::fs::remove_file(&socket).unwrap();

    let sealed = over(&engine, transformers(&socket).await);
    let why = sealed.transformers().check().await.unwrap_err();
    assert!(
        why.starts_with(
            "failed to perform status section of the healthz check for KMS Provider plug, error: "
        ),
        "{why}"
    );
    let why = sealed.commit("/registry/secrets/ns/b".into(), Expect::Absent, value("{}")).await.unwrap_err();
    assert_eq!(why, Error::Internal("got unexpected nil transformer".into()));
    assert!(matches!(sealed.get(KEY, At::Latest).await, Err(Error::Unavailable(_))));
    assert!(engine.get("/registry/secrets/ns/b", At::Latest).await.unwrap().1.is_none());
}
