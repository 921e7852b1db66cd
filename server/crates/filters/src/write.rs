//! A write once begun is finished: neither a client that hangs up nor a deadline stops it halfway.

use std::sync::Arc;

use apiwright_chain::{Authorized, Body, Delegate, Request, Response};
use futures::StreamExt;

use crate::in_flight::Place;

/// The chain's answer. Writes run in a task of their own, reads end with whoever waits for them.
/// The place is given back when the answer has been made.
pub(crate) async fn finish(head: Arc<dyn Delegate>, request: Authorized<Request>, place: Place) -> Response {
    if request.info.is_read_only() || request.info.is_long_running() || !request.info.is_resource {
        let mut response = head.serve(request).await;
        if place.is_some()
            && let Body::Stream(stream) = response.body_mut()
        {
            let stream = std::mem::replace(stream, Box::pin(futures::stream::empty()));
            let held = stream.map(move |piece| {
                let _ = &place;
                piece
            });
            *response.body_mut() = Body::Stream(Box::pin(held));
        }
        return response;
    }
    let task = tokio::spawn(async move {
        let _place = place;
        head.serve(request).await
    });
    match task.await {
        Ok(response) => response,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only the end of the runtime cancels it, and that of the connection with it.
            Err(_) => std::future::pending().await,
        },
    }
}
