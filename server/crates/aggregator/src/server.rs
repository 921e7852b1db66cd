//! The aggregator as a link of the chain.

use std::sync::Arc;

use apiwright_chain::{Authorized, Delegate, Pages, Request, Response};
use apiwright_endpoints::GroupServer;
use futures::future::BoxFuture;

/// The head of the chain.
pub struct Aggregator {
    own: GroupServer,
    pages: Vec<Arc<dyn Pages>>,
    next: Arc<dyn Delegate>,
}

impl Aggregator {
    /// Serves its own groups and these pages, and hands the rest to `next`.
    pub fn new(own: GroupServer, pages: Vec<Arc<dyn Pages>>, next: Arc<dyn Delegate>) -> Self {
        Self { own, pages, next }
    }
}

impl Delegate for Aggregator {
    fn serve(&self, request: Authorized<Request>) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            if !request.info.is_resource {
                for page in &self.pages {
                    if let Some(response) = page.answer(&request).await {
                        return response;
                    }
                }
            }
            if self.own.owns(&request.info) {
                return self.own.serve(request).await;
            }
            self.next.serve(request).await
        })
    }
}
