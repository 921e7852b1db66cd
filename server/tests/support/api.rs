//! Objects and events of a server, through a client.

use std::time::Duration;

use apiwright_json::Value;
use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Method, Response};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use super::process::Client;

/// How long anything may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A connection that is asked for objects.
#[derive(Clone)]
pub struct Api(pub Client);

/// A whole answer.
pub struct Answer {
    pub code: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// The events of a watch.
pub struct Events {
    body: Incoming,
    unread: BytesMut,
}

impl Api {
    /// One request; an empty body is none.
    pub async fn call(&self, method: Method, path: &str, body: &str) -> Answer {
        let (parts, body) = self.send(method, path, body).await.into_parts();
        let body = tokio::time::timeout(PATIENCE, body.collect()).await.expect("an end").expect("a body");
        Answer { code: parts.status.as_u16(), headers: parts.headers, body: body.to_bytes() }
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path, "").await
    }

    pub async fn post(&self, path: &str, body: &str) -> Answer {
        self.call(Method::POST, path, body).await
    }

    /// A merge patch.
    pub async fn patch(&self, path: &str, body: &str) -> Answer {
        self.call(Method::PATCH, path, body).await
    }

    /// What `kubectl get` shows.
    pub async fn table(&self, path: &str) -> Value {
        let accept = ("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        let client = self.0.with(&[("authorization", "Bearer admintoken"), accept]);
        Self(client).get(path).await.object()
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.call(Method::DELETE, path, "").await
    }

    /// A watch.
    pub async fn watch(&self, path: &str) -> Events {
        let response = self.send(Method::GET, path, "").await;
        assert_eq!(response.status(), 200, "{path}");
        Events { body: response.into_body(), unread: BytesMut::new() }
    }

    async fn send(&self, method: Method, path: &str, body: &str) -> Response<Incoming> {
        let answer = tokio::time::timeout(PATIENCE, self.0.send(method, path, body)).await;
        answer.expect("an answer in time").expect("an answer")
    }
}

impl Answer {
    /// What came, as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The object that came.
    pub fn object(&self) -> Value {
        object(&self.body)
    }

    /// The object, where the request must have succeeded.
    #[track_caller]
    pub fn ok(&self) -> Value {
        assert!(self.code < 300, "{}: {}", self.code, self.text());
        self.object()
    }
}

impl Events {
    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                return Some(object(&self.unread.split_to(end + 1)));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("an event in time")?;
            if let Ok(data) = frame.expect("a frame").into_data() {
                self.unread.extend_from_slice(&data);
            }
        }
    }
}

fn object(text: &[u8]) -> Value {
    apiwright_json::decode(text).unwrap_or_else(|why| panic!("{why}: {}", String::from_utf8_lossy(text))).0
}
