//! Until when a request must be answered, and what is said when it is not.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{io, mem};

use apiwright_chain::{Body, Piece, Pieces, Query, Response, respond};
use apiwright_meta::Status;
use apiwright_meta::{status, time};
use futures::Stream;
use http::request::Parts;
use tokio::time::Sleep;

/// What a client is told when time has run out: upstream writes this without kind and version.
const TIMED_OUT: &str = concat!(
    r#"{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","#,
    r#""reason":"Timeout","details":{},"code":504}"#,
    "\n"
);

/// The deadline of a request that arrived then. `?timeout=` makes it earlier, never later.
pub(crate) fn of(
    head: &Parts,
    long_running: bool,
    arrived: Instant,
    timeout_max: Duration,
) -> status::Result<Option<Instant>> {
    if long_running {
        return Ok(None);
    }
    let query = head.uri.query().unwrap_or_default();
    let asked =
        if query.contains("timeout") { Query::parse(query).get("timeout").map(str::to_owned) } else { None };
    let timeout = match asked.filter(|text| !text.is_empty()) {
        None => timeout_max,
        Some(text) => match time::Duration::parse(&text).map(time::Duration::to_std) {
            // Zero, less, and more than is allowed all mean: as long as is allowed.
            Ok(Duration::ZERO) => timeout_max,
            Ok(asked) => timeout_max.min(asked),
            Err(why) => {
                return Err(Status::bad_request(format!(
                    "invalid timeout specified in the request URL - {why}"
                )));
            }
        },
    };
    Ok(Some(arrived + timeout))
}

/// The answer if it comes in time. One that is under way by then is cut.
pub(crate) async fn enforce(deadline: Option<Instant>, answer: impl Future<Output = Response>) -> Response {
    let Some(deadline) = deadline else { return answer.await };
    let deadline = tokio::time::Instant::from_std(deadline);
    match tokio::time::timeout_at(deadline, answer).await {
        Ok(mut response) => {
            if let Body::Stream(stream) = response.body_mut() {
                let stream = mem::replace(stream, Box::pin(futures::stream::empty()));
                let until = Box::pin(tokio::time::sleep_until(deadline));
                *response.body_mut() = Body::Stream(Box::pin(Cut { stream, until }));
            }
            response
        }
        Err(_) => respond::bytes(504, "text/plain; charset=utf-8", TIMED_OUT),
    }
}

/// A body that fails when its time is over.
struct Cut {
    stream: Pieces,
    until: Pin<Box<Sleep>>,
}

impl Stream for Cut {
    type Item = io::Result<Piece>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Poll::Ready(next) = self.stream.as_mut().poll_next(cx) {
            return Poll::Ready(next);
        }
        self.until.as_mut().poll(cx).map(|()| Some(Err(io::ErrorKind::TimedOut.into())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(address: &str) -> Parts {
        http::Request::get(address).body(()).unwrap().into_parts().0
    }

    #[test]
    fn the_query_may_shorten_it() {
        let now = Instant::now();
        let seconds = |seconds| Ok(Some(Duration::from_secs(seconds)));
        let refused = |text: &str| Err(format!("invalid timeout specified in the request URL - {text}"));
        for (address, long_running, expected) in [
            ("/api", false, seconds(60)),
            ("/api", true, Ok(None)),
            ("/api?timeout=32s", false, seconds(32)),
            ("/api?timeout=", false, seconds(60)),
            ("/api?timeout=0s", false, seconds(60)),
            ("/api?timeout=-1s", false, seconds(60)),
            ("/api?timeout=2h", false, seconds(60)),
            ("/api?timeout=soon", true, Ok(None)),
            ("/api?timeout=soon", false, refused("time: invalid duration \"soon\"")),
            ("/api?timeout=10", false, refused("time: missing unit in duration \"10\"")),
            ("/api?timeout=1y", false, refused("time: unknown unit \"y\" in duration \"1y\"")),
        ] {
            let found = of(&head(address), long_running, now, Duration::from_mins(1));
            let found = found.map(|at| at.map(|at| at - now)).map_err(|status| status.message);
            assert_eq!(found, expected, "{address}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn late_answers_are_given_up() {
        let deadline = Some(Instant::now() + Duration::from_secs(1));
        let response = enforce(deadline, std::future::pending()).await;
        assert_eq!(response.status(), 504);
        let slow = Body::Stream(Box::pin(futures::stream::pending()));
        let response = enforce(deadline, std::future::ready(Response::new(slow))).await;
        let Body::Stream(mut stream) = response.into_body() else { panic!("no stream") };
        let next = futures::StreamExt::next(&mut stream).await;
        assert!(next.is_some_and(|piece| piece.is_err()));
    }
}
