//! A request's place among those under way, kept until its answer is out.

use std::pin::Pin;
use std::task::{Context, Poll};

use apiwright_chain::{Body, Piece, Pieces, Response, respond};
use bytes::Buf;
use futures::Stream;
use http::HeaderValue;
use http::header::RETRY_AFTER;
use tokio::sync::OwnedSemaphorePermit;

use crate::flow::{Meter, Seat};

/// What is given back when dropped; nothing, where nothing was taken.
#[derive(Default)]
pub(crate) struct Place {
    taken: Option<Taken>,
    meter: Option<Meter>,
}

#[allow(dead_code)] // held for their drops
enum Taken {
    Slot(OwnedSemaphorePermit),
    Seat(Seat),
}

impl Place {
    /// One of a number of places.
    pub(crate) fn slot(permit: OwnedSemaphorePermit) -> Self {
        Self { taken: Some(Taken::Slot(permit)), meter: None }
    }

    /// A seat of a priority level; the meter wants to know how long the answer is.
    pub(crate) fn seat(seat: Seat, meter: Option<Meter>) -> Self {
        Self { taken: Some(Taken::Seat(seat)), meter }
    }

    /// Keeps the place until the answer's body is over; a watch's only until it has caught up with
    /// the present and waits.
    pub(crate) fn stay_with(self, response: &mut Response, is_watch: bool) {
        if self.taken.is_none() {
            return;
        }
        if let Body::Stream(stream) = response.body_mut() {
            let stream = std::mem::replace(stream, Box::pin(futures::stream::empty()));
            *response.body_mut() = Body::Stream(Box::pin(Held { stream, place: Some(self), is_watch }));
        }
    }
}

/// The answer to a request that finds no place.
pub(crate) fn refused() -> Box<Response> {
    let mut response = respond::text_error(429, "Too many requests, please try again later.");
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    Box::new(response)
}

struct Held {
    stream: Pieces,
    place: Option<Place>,
    is_watch: bool,
}

impl Stream for Held {
    type Item = std::io::Result<Piece>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.stream.as_mut().poll_next(cx);
        match &next {
            Poll::Pending if self.is_watch => self.place = None,
            Poll::Pending => {}
            Poll::Ready(Some(Ok(piece))) => {
                if let Some(meter) = self.place.as_mut().and_then(|place| place.meter.as_mut()) {
                    meter.add(piece.remaining());
                }
            }
            Poll::Ready(Some(Err(_)) | None) => self.place = None,
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::StreamExt;
    use std::sync::Arc;
    use tokio::sync::Semaphore;

    #[tokio::test]
    async fn places_are_kept_as_long_as_they_are_needed() {
        let places = Arc::new(Semaphore::new(1));
        for (is_watch, while_pending) in [(false, 0), (true, 1)] {
            let place = Place::slot(Arc::clone(&places).try_acquire_owned().unwrap());
            let pieces = futures::stream::iter([Ok(bytes::Bytes::from_static(b"a").into())]);
            let body = Body::Stream(Box::pin(pieces.chain(futures::stream::pending())));
            let mut response = Response::new(body);
            place.stay_with(&mut response, is_watch);
            let Body::Stream(mut stream) = response.into_body() else { panic!("no stream") };
            assert!(stream.next().await.is_some());
            assert_eq!(places.available_permits(), 0);
            assert!(futures::poll!(stream.next()).is_pending());
            assert_eq!(places.available_permits(), while_pending);
            drop(stream);
            assert_eq!(places.available_permits(), 1);
        }
    }
}
