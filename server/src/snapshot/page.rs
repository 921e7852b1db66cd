//! Where a running server gives its snapshot: a path that only the authorizer's yes leads to.
//!
//! It shows everything, secrets included, so only cluster administrators have it by default. It is
//! not in the list at `/`, which says what kube-apiserver's says.

use std::sync::Arc;

use apiwright_chain::{Body, Pages, Request, Response, respond};
use apiwright_meta::Status;
use apiwright_meta::status::Reason;
use apiwright_storage_embedded::Embedded;
use futures::StreamExt;
use futures::future::BoxFuture;
use http::Method;

/// The path.
pub(super) const PATH: &str = apiwright_chain::info::SNAPSHOT_PATH;

/// Answers with a snapshot.
pub struct SnapshotPage(Option<Arc<Embedded>>);

impl SnapshotPage {
    /// The snapshots of this engine; `None` where another one has the objects.
    pub fn new(engine: Option<Arc<Embedded>>) -> Self {
        Self(engine)
    }

    async fn snapshot(&self) -> Result<Response, Box<Status>> {
        let Some(engine) = &self.0 else {
            let why = "this server keeps its objects in etcd: use etcdctl snapshot save";
            return Err(Status::failure(501, Reason::MethodNotAllowed, why));
        };
        let backup = engine.backup().await.map_err(|why| Status::internal(why.to_string()))?;
        let pieces = futures::stream::iter(backup.pieces().map(|piece| Ok(piece.into())));
        Ok(respond::bytes(200, "application/octet-stream", Body::Stream(pieces.boxed())))
    }
}

impl Pages for SnapshotPage {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        Box::pin(async {
            if request.info.path != PATH {
                return None;
            }
            let answer = match request.head.method {
                Method::GET => self.snapshot().await,
                _ => Err(Status::method_not_allowed()),
            };
            Some(answer.unwrap_or_else(|status| respond::failure(&request.head, &status)))
        })
    }

    fn paths(&self) -> Vec<String> {
        Vec::new()
    }
}
