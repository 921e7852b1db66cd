//! Writes of one turn of an HTTP/2 connection go out together.
//!
//! The HTTP/2 library flushes after each frame of 16 KiB, and each flush is a call of the kernel: a third of
//! a long list's CPU time. Here a flush only counts once enough has gathered; what is left goes out at the end
//! of the turn, when the connection has nothing more to write for now. Nothing is copied for it: what
//! gathers are TLS records, where the session holds them.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// How much gathers at most.
const GATHERED_BYTES_MAX: usize = 64 << 10;
/// How much a session holds that the kernel does not take.
const SESSION_BYTES_MAX: usize = 128 << 10;

/// A stream whose writes gather until the end of a turn.
pub(crate) struct Batched(Shared);

/// Ends the turns of a [`Batched`] stream.
pub(crate) struct Turns(Shared);

/// Shared by the two within one task: nobody ever waits for the lock.
type Shared = Arc<Mutex<Gathering>>;

struct Gathering {
    stream: TlsStream<TcpStream>,
    /// How much was written since the last flush that counted.
    bytes: usize,
}

/// Makes a stream gather its writes.
pub(crate) fn batched(mut stream: TlsStream<TcpStream>) -> (Batched, Turns) {
    stream.get_mut().1.set_buffer_limit(Some(SESSION_BYTES_MAX));
    let shared = Arc::new(Mutex::new(Gathering { stream, bytes: 0 }));
    (Batched(Arc::clone(&shared)), Turns(shared))
}

impl Turns {
    /// Writes what gathered; the task is woken when the kernel takes more.
    ///
    /// # Errors
    /// When the connection is broken; its next write tells the same.
    pub(crate) fn end(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        lock(&self.0).flush(context)
    }
}

impl Gathering {
    fn flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.bytes == 0 {
            return Poll::Ready(Ok(()));
        }
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        if flushed.is_ready() {
            self.bytes = 0;
        }
        flushed
    }

    fn write(&mut self, context: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if slices.iter().all(|slice| slice.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        loop {
            let written = io::Write::write_vectored(&mut self.stream.get_mut().1.writer(), slices)?;
            self.bytes += written;
            if written > 0 && self.bytes < GATHERED_BYTES_MAX {
                return Poll::Ready(Ok(written));
            }
            match self.flush(context) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                _ if written > 0 => return Poll::Ready(Ok(written)),
                Poll::Ready(Ok(())) => {}
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}

impl AsyncRead for Batched {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Batched {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        lock(&self.0).write(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        lock(&self.0).write(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// Waits only where enough has gathered.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut gathering = lock(&self.0);
        if gathering.bytes < GATHERED_BYTES_MAX { Poll::Ready(Ok(())) } else { gathering.flush(context) }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut lock(&self.0).stream).poll_shutdown(context)
    }
}

fn lock(shared: &Shared) -> MutexGuard<'_, Gathering> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
