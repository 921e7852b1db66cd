//! Response bodies: bytes at once, or produced as the client reads.

use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Buf, Bytes};
use futures::stream::BoxStream;
use http_body::{Frame, SizeHint};

use crate::piece::{Piece, Rope};

/// A response on its way to the client.
pub type Response = http::Response<Body>;

/// A response body.
#[derive(Default)]
pub enum Body {
    /// Nothing.
    #[default]
    Empty,
    /// All of it.
    Full(Piece),
    /// Pieces as they come: lists and watches. An error cuts the connection.
    Stream(Pieces),
}

/// The pieces of a body, as they come.
pub type Pieces = BoxStream<'static, std::io::Result<Piece>>;

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Full(piece) => write!(f, "Full({piece:?})"),
            Self::Stream(_) => f.write_str("Stream"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Piece;
    type Error = std::io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = self.get_mut();
        match this {
            Self::Empty => Poll::Ready(None),
            Self::Full(piece) => {
                let piece = std::mem::take(piece);
                *this = Self::Empty;
                Poll::Ready(piece.has_remaining().then(|| Ok(Frame::data(piece))))
            }
            Self::Stream(stream) => {
                stream.as_mut().poll_next(cx).map(|next| next.map(|piece| piece.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Empty => true,
            Self::Full(piece) => !piece.has_remaining(),
            Self::Stream(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Empty => SizeHint::with_exact(0),
            Self::Full(piece) => SizeHint::with_exact(piece.remaining() as u64),
            Self::Stream(_) => SizeHint::default(),
        }
    }
}

impl From<Bytes> for Body {
    fn from(bytes: Bytes) -> Self {
        Self::Full(bytes.into())
    }
}

impl From<Piece> for Body {
    fn from(piece: Piece) -> Self {
        Self::Full(piece)
    }
}

impl From<Rope> for Body {
    fn from(rope: Rope) -> Self {
        Self::Full(rope.into())
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Full(bytes.into())
    }
}

impl From<String> for Body {
    fn from(text: String) -> Self {
        Self::Full(text.into_bytes().into())
    }
}

impl From<&'static str> for Body {
    fn from(text: &'static str) -> Self {
        Self::Full(Bytes::from_static(text.as_bytes()).into())
    }
}
