//! A write once begun is finished: neither a client that hangs up nor a deadline stops it halfway.

use std::sync::Arc;

use apiwright_chain::{Authorized, Delegate, Request, Response};

use crate::place::Place;

/// The chain's answer. Writes run in a task of their own, reads end with whoever waits for them.
/// The place is given back when the answer has been made.
pub(crate) async fn finish(head: Arc<dyn Delegate>, request: Authorized<Request>, place: Place) -> Response {
    if request.info.is_read_only() || request.info.is_long_running() || !request.info.is_resource {
        let is_watch = request.info.is_long_running();
        let mut response = head.serve(request).await;
        place.stay_with(&mut response, is_watch);
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
