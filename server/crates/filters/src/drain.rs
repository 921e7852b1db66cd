//! Watches end when the server drains, as if their time were over: clients reconnect elsewhere.

use std::mem;

use apiwright_chain::{Body, Drain, Response};
use futures::StreamExt;

/// Ends a streamed answer when the drain begins.
pub(crate) fn end_with(response: &mut Response, mut drain: Drain) {
    if let Body::Stream(stream) = response.body_mut() {
        let stream = mem::replace(stream, Box::pin(futures::stream::empty()));
        let begun = Box::pin(async move { drain.begun().await });
        *response.body_mut() = Body::Stream(Box::pin(stream.take_until(begun)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_ends_without_an_error() {
        let (drainer, drain) = apiwright_chain::drain();
        let mut response = Response::new(Body::Stream(Box::pin(futures::stream::pending())));
        end_with(&mut response, drain);
        drainer.begin();
        let Body::Stream(mut stream) = response.into_body() else { panic!("no stream") };
        assert!(stream.next().await.is_none());
    }
}
