//! What a connection is doing, and how long its client may take for the next thing.
//!
//! Go's rules: a request's head has to come within a time of its own, counted from its first byte (the
//! first request's, from the handshake); between requests a connection may idle for longer; a
//! connection that speaks HTTP/2 has to say so at once. While a request is under way its client may be as
//! slow as that request's deadline allows.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use apiwright_chain::{Body, Peer, Piece};
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant, Sleep};

use crate::limits::Limits;

/// How many bytes a client of HTTP/2 sends before anything else.
const PREFACE_BYTES: usize = 24;

/// The requests of one connection.
#[derive(Debug, Default)]
pub(crate) struct Activity {
    begun: AtomicUsize,
    under_way: AtomicUsize,
}

impl Activity {
    /// A request has come; it is under way until what this gives is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> UnderWay {
        self.begun.fetch_add(1, Ordering::Relaxed);
        self.under_way.fetch_add(1, Ordering::Relaxed);
        UnderWay(Arc::clone(self))
    }
}

/// A request under way.
#[derive(Debug)]
pub(crate) struct UnderWay(Arc<Activity>);

impl UnderWay {
    /// The connection is no longer HTTP's: nobody counts its time any more.
    pub(crate) fn for_ever(self) {
        self.0.under_way.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.under_way.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer. Its request is under way until the body is out.
pub(crate) struct Answering {
    pub(crate) body: Body,
    pub(crate) _request: Option<UnderWay>,
}

impl hyper::body::Body for Answering {
    type Data = Piece;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection whose reads end when its client takes too long.
pub(crate) struct Timed<S> {
    stream: S,
    activity: Arc<Activity>,
    peer: Arc<Peer>,
    limits: Limits,
    waits_for: WaitsFor,
    /// Requests that had begun when last looked at.
    seen: usize,
    /// When patience ends, while it is counted.
    alarm: Option<Pin<Box<Sleep>>>,
    is_counting: bool,
    /// Whether the client has been told that its time is over.
    is_leaving: bool,
}

/// What the client has to send next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitsFor {
    /// So many more bytes of HTTP/2's preface.
    Preface(usize),
    /// The rest of a head.
    Head,
    /// Another request, or nothing more.
    Request,
}

impl<S> Timed<S> {
    pub(crate) fn new(stream: S, activity: Arc<Activity>, peer: Arc<Peer>, limits: Limits) -> Self {
        let waits_for = if peer.is_http2 { WaitsFor::Preface(PREFACE_BYTES) } else { WaitsFor::Head };
        Self {
            stream,
            activity,
            peer,
            limits,
            waits_for,
            seen: 0,
            alarm: None,
            is_counting: false,
            is_leaving: false,
        }
    }

    /// Something has been read.
    fn heard(&mut self, bytes: usize) {
        self.look();
        let next = match self.waits_for {
            WaitsFor::Preface(missing) if missing > bytes => WaitsFor::Preface(missing - bytes),
            WaitsFor::Preface(_) => WaitsFor::Request,
            // Over HTTP/2 anything may come in between; only requests count.
            WaitsFor::Request if self.peer.is_http2 || self.is_busy() => WaitsFor::Request,
            WaitsFor::Request | WaitsFor::Head => WaitsFor::Head,
        };
        if std::mem::discriminant(&next) != std::mem::discriminant(&self.waits_for) {
            self.is_counting = false;
        }
        self.waits_for = next;
    }

    /// A request that has begun is one whose head has come.
    fn look(&mut self) {
        let begun = self.activity.begun.load(Ordering::Relaxed);
        if begun != self.seen {
            self.seen = begun;
            self.waits_for = WaitsFor::Request;
            self.is_counting = false;
        }
    }

    fn is_busy(&self) -> bool {
        self.activity.under_way.load(Ordering::Relaxed) > 0
    }

    /// Ready when patience has ended.
    fn poll_alarm(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.look();
        if self.is_busy() {
            self.is_counting = false;
            return Poll::Pending;
        }
        let patience = match self.waits_for {
            WaitsFor::Preface(_) => self.limits.preface,
            WaitsFor::Head => self.limits.head,
            WaitsFor::Request => self.limits.idle,
        };
        if !self.is_counting {
            self.is_counting = true;
            self.set_alarm(patience);
        }
        match &mut self.alarm {
            Some(alarm) => alarm.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }

    fn set_alarm(&mut self, patience: Duration) {
        let at = Instant::now() + patience;
        match &mut self.alarm {
            Some(alarm) => alarm.as_mut().reset(at),
            None => self.alarm = Some(Box::pin(tokio::time::sleep_until(at))),
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Timed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut self.stream).poll_read(cx, out) {
            self.heard(out.filled().len() - before);
            return Poll::Ready(read);
        }
        ready!(self.poll_alarm(cx));
        if self.peer.is_http2 && self.waits_for == WaitsFor::Request && !self.is_leaving {
            // It is told before it is left, so that it sends no request into the void.
            self.is_leaving = true;
            self.peer.close_when_idle();
            let patience = self.limits.head;
            self.set_alarm(patience);
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Timed<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
