//! The apiextensions server as a link of the chain.

use std::sync::Arc;

use apiwright_chain::{Authorized, Delegate, Request, Response};
use apiwright_endpoints::GroupServer;
use futures::future::BoxFuture;

/// Serves CustomResourceDefinitions.
pub struct ApiExtensions {
    own: GroupServer,
    next: Arc<dyn Delegate>,
}

impl ApiExtensions {
    /// Serves its own groups and hands the rest to `next`.
    pub fn new(own: GroupServer, next: Arc<dyn Delegate>) -> Self {
        Self { own, next }
    }
}

impl Delegate for ApiExtensions {
    fn serve(&self, request: Authorized<Request>) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            if self.own.owns(&request.info) {
                return self.own.serve(request).await;
            }
            self.next.serve(request).await
        })
    }
}
