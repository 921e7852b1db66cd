//! The aggregator as a link of the chain.

use std::sync::Arc;

use apiwright_chain::{Authorized, Delegate, Pages, Request, Response};
use apiwright_endpoints::GroupServer;
use futures::future::BoxFuture;

use crate::proxy::proxy;
use crate::registration::Registration;
use crate::routes::Route;

/// The head of the chain.
pub struct Aggregator {
    own: GroupServer,
    pages: Vec<Arc<dyn Pages>>,
    registration: Arc<Registration>,
    next: Arc<dyn Delegate>,
}

impl Aggregator {
    /// Serves its own groups and these pages, hands to servers outside what is registered as theirs,
    /// and the rest to `next`.
    pub fn new(
        own: GroupServer,
        pages: Vec<Arc<dyn Pages>>,
        registration: Arc<Registration>,
        next: Arc<dyn Delegate>,
    ) -> Self {
        Self { own, pages, registration, next }
    }

    fn route(&self, request: &Request) -> Option<Arc<Route>> {
        let route = self.registration.routes().find(&request.info);
        if route.is_some() || request.info.is_resource {
            return route;
        }
        let document = request.info.path.strip_prefix("/openapi/v3/")?;
        self.registration.document(document)
    }
}

impl Delegate for Aggregator {
    fn serve(&self, request: Authorized<Request>) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            if let Some(route) = self.route(&request) {
                return proxy(self.registration.routes(), &route, request.into_inner()).await;
            }
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
