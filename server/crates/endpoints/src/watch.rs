//! Watches: a stream of frames, one an event, until time is up, the server drains or the client
//! leaves.

mod bookmark;
mod frame;
mod websocket;

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

use apiwright_chain::{Body, Media, Response, Rope, respond};
use apiwright_meta::status::Result;
use apiwright_registry::{Selection, WatchOptions, WatchStream};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, stream};
use tokio::time::Instant;

use crate::call::Call;
use crate::negotiate;
use crate::options::ListOptions;
use crate::route::not_supported;
use crate::server::Target;
use frame::Frames;

/// Events that are ready together are sent together, up to about this length.
const PIECE_BYTES: usize = 64 * 1024;
/// The same for HTTP/1.1, where up to 16 pieces wait for a client that does not read.
const HTTP1_PIECE_BYTES: usize = 16 * 1024;

/// Streams what becomes of the objects of a selection.
pub(crate) async fn watch(
    call: &Call,
    target: Target<'_>,
    options: &ListOptions,
    selection: Selection,
) -> Result<Response> {
    if !target.resource().allows(apiwright_registry::Verb::Watch) {
        return Err(not_supported(target.resource(), "watch"));
    }
    let lasts = timeout(options.timeout_seconds, target.server.shared.watch_timeout_min);
    let until = Instant::now() + lasts;
    // The last bookmark comes shortly before the end, so that clients go on from there.
    let watching = WatchOptions { timeout: Some(lasts), ..options.watching()? };
    let events = target.store().watch(selection, watching).await?;
    let output = negotiate::stream_output(&call.head, target.server.flavour)?;
    let frames = Frames::new(call, target, output)?;
    let mut drain = target.server.shared.drain.clone();
    let until = Box::pin(async move {
        tokio::select! {
            () = drain.begun() => {}
            () = tokio::time::sleep_until(until) => {}
        }
    });
    let is_http2 = call.head.version == http::Version::HTTP_2;
    let piece_bytes = if is_http2 { PIECE_BYTES } else { HTTP1_PIECE_BYTES };
    let is_protobuf = output.form.media == Media::Protobuf;
    if websocket::is_wanted(&call.head) {
        // A message has one event.
        let state = State { events, frames, until, piece_bytes: 0, over: false };
        let framing = if is_protobuf { websocket::Framing::Binary } else { websocket::Framing::Text };
        return Ok(websocket::answer(&call.head, state, framing));
    }
    let state = State { events, frames, until, piece_bytes, over: false };
    let body = stream::unfold(state, |mut state| async move {
        let piece = state.next().await?;
        Some((Ok(piece.into()), state))
    });
    let mime =
        if is_protobuf { "application/vnd.kubernetes.protobuf;stream=watch" } else { Media::Json.mime() };
    Ok(respond::bytes(200, mime, Body::Stream(body.boxed())))
}

/// How long a watch lasts: as the client says, a negative time being over at once, else once to twice the
/// shortest, so that clients that began together do not come back together.
fn timeout(seconds: Option<i64>, shortest: Duration) -> Duration {
    if let Some(seconds) = seconds.filter(|seconds| *seconds != 0) {
        // A client may ask for more than time can hold.
        return Duration::from_secs(u64::try_from(seconds).unwrap_or(0).min(10 * 365 * 86_400));
    }
    let random = RandomState::new().hash_one(Instant::now()) as f64 / u64::MAX as f64;
    shortest.mul_f64(1.0 + random)
}

struct State {
    events: WatchStream,
    frames: Frames,
    /// Ready when time is up or the server drains.
    until: BoxFuture<'static, ()>,
    piece_bytes: usize,
    over: bool,
}

impl State {
    /// The next frames, at least one; `None` at the end.
    async fn next(&mut self) -> Option<Rope> {
        while !self.over {
            let event = tokio::select! {
                biased;
                () = &mut self.until => None,
                event = self.events.next() => event,
            };
            let Some(event) = event else {
                self.over = true;
                return None;
            };
            let mut out = Rope::default();
            self.over = self.frames.write(event, &mut out);
            while !self.over && out.len() < self.piece_bytes {
                let Some(Some(event)) = self.events.next().now_or_never() else { break };
                self.over = self.frames.write(event, &mut out);
            }
            if !out.is_empty() {
                return Some(out);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lasts_as_asked() {
        let shortest = Duration::from_mins(30);
        assert_eq!(timeout(Some(5), shortest), Duration::from_secs(5));
        assert_eq!(timeout(Some(-5), shortest), Duration::ZERO);
        for seconds in [None, Some(0)] {
            let lasts = timeout(seconds, shortest);
            assert!(lasts >= shortest && lasts <= 2 * shortest, "{lasts:?}");
        }
        assert!(timeout(Some(i64::MAX), shortest) > Duration::from_hours(24));
    }
}
