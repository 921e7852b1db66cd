//! A body on its way in, which is read to its end even where nobody wants it.
//!
//! Many requests are answered before their body was read: whoever may not, whatever does not exist,
//! what is too long. A connection that is closed, or a stream that is reset, while the client still
//! sends takes the answer with it, so that the client learns of a broken pipe instead of its fault.
//! Hence what is left is read and forgotten, within bounds, while the answer is on its way.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::future::poll_fn;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

/// Nobody sends more than this by mistake.
const FORGOTTEN_BYTES_MAX: usize = 16 << 20;
/// Nobody who sends as fast as they can needs longer for it.
const FORGOTTEN_SECONDS_MAX: u64 = 5;

/// A body; dropping it reads what is left of it in the background.
pub struct Upload<B: Body<Data = Bytes> + Send + Unpin + 'static = Incoming> {
    /// None once it has ended.
    body: Option<B>,
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Upload<B> {
    /// A body of which nothing was read yet.
    pub fn new(body: B) -> Self {
        Self { body: Some(body) }
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Body for Upload<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Some(body) = &mut self.body else { return Poll::Ready(None) };
        let polled = Pin::new(body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            self.body = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body.as_ref().map_or_else(|| SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B: Body<Data = Bytes> + Send + Unpin + 'static> Drop for Upload<B> {
    fn drop(&mut self) {
        let Some(body) = self.body.take().filter(|body| !body.is_end_stream()) else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let patience = Duration::from_secs(FORGOTTEN_SECONDS_MAX);
            runtime.spawn(async move { tokio::time::timeout(patience, forget(body)).await });
        }
    }
}

async fn forget<B: Body<Data = Bytes> + Unpin>(mut body: B) {
    let mut forgotten = 0;
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        forgotten += frame.data_ref().map_or(0, Bytes::len);
        if forgotten > FORGOTTEN_BYTES_MAX {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Pieces of one MiB each, of which it counts how many were taken.
    struct Pieces {
        left: usize,
        taken: Arc<AtomicUsize>,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.left == 0 {
                return Poll::Ready(None);
            }
            self.left -= 1;
            self.taken.fetch_add(1, Ordering::SeqCst);
            Poll::Ready(Some(Ok(Frame::data(vec![0; 1 << 20].into()))))
        }
    }

    #[tokio::test]
    async fn what_nobody_wants_is_read_within_bounds() {
        // (sent, read before it is dropped, taken in the end)
        let cases = [(0, 0, 0), (4, 0, 4), (4, 2, 4), (4, 5, 4), (100, 0, 17)];
        for (sent, read, expected) in cases {
            let taken = Arc::new(AtomicUsize::new(0));
            let mut upload = Upload::new(Pieces { left: sent, taken: Arc::clone(&taken) });
            for _ in 0..read {
                let _ = poll_fn(|cx| Pin::new(&mut upload).poll_frame(cx)).await;
            }
            drop(upload);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            assert_eq!(taken.load(Ordering::SeqCst), expected, "{sent} sent, {read} read");
        }
    }
}
