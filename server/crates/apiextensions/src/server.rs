//! The apiextensions server as a link of the chain.

use std::sync::Arc;

use apiwright_chain::{Authorized, Delegate, Request, Response, respond};
use apiwright_endpoints::GroupServer;
use apiwright_meta::Status;
use futures::future::BoxFuture;

use crate::view::CustomResources;

/// Serves CustomResourceDefinitions and what they define.
pub struct ApiExtensions {
    own: GroupServer,
    custom: Arc<CustomResources>,
    next: Arc<dyn Delegate>,
}

impl ApiExtensions {
    /// Serves its own groups and custom resources, and hands the rest to `next`.
    pub fn new(own: GroupServer, custom: Arc<CustomResources>, next: Arc<dyn Delegate>) -> Self {
        Self { own, custom, next }
    }
}

impl Delegate for ApiExtensions {
    fn serve(&self, request: Authorized<Request>) -> BoxFuture<'_, Response> {
        Box::pin(async move {
            if self.own.owns(&request.info) {
                return self.own.serve(request).await;
            }
            let mut found = if request.info.is_resource { self.custom.find(&request.info) } else { None };
            if found.is_none() && request.info.is_resource && self.custom.catch_up(&request.info).await {
                found = self.custom.find(&request.info);
            }
            match found {
                Some(Ok(server)) => server.serve(request).await,
                Some(Err(why)) => respond::failure(&request.head, &Status::service_unavailable(why)),
                None => self.next.serve(request).await,
            }
        })
    }
}
