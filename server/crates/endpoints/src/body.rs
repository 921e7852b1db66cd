//! Reading request bodies, as far as they may be long.

use apiwright_chain::Upload;
use apiwright_chain::request::RequestBody;
use apiwright_meta::Status;
use apiwright_meta::status::{Reason, Result};
use bytes::{Bytes, BytesMut};
use futures::future::poll_fn;
use http_body::Body as _;
use std::pin::Pin;

/// The longest body that is read: 3 MiB, as kube-apiserver has it.
pub const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// All of a body.
///
/// # Errors
/// 413 where it is longer than `limit`, 500 where the client broke off.
pub(crate) async fn read(body: RequestBody, limit: usize) -> Result<Bytes> {
    match body {
        RequestBody::Full(bytes) if bytes.len() > limit => Err(too_large(limit)),
        RequestBody::Full(bytes) => Ok(bytes),
        RequestBody::Incoming(incoming) => collect(incoming, limit).await,
    }
}

/// Keeps the one piece that most bodies come in, and copies only where there are more.
async fn collect(mut body: Upload, limit: usize) -> Result<Bytes> {
    let mut first = Bytes::new();
    let mut rest = BytesMut::new();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        let frame = frame.map_err(|error| Status::unclassified(error.to_string()))?;
        let Ok(piece) = frame.into_data() else { continue };
        if first.len().max(rest.len()) + piece.len() > limit {
            return Err(too_large(limit));
        }
        if first.is_empty() && rest.is_empty() {
            first = piece;
            continue;
        }
        if rest.is_empty() {
            rest.extend_from_slice(&first);
        }
        rest.extend_from_slice(&piece);
    }
    Ok(if rest.is_empty() { first } else { rest.freeze() })
}

fn too_large(limit: usize) -> Box<Status> {
    let message = format!("Request entity too large: limit is {limit}");
    Status::failure(413, Reason::RequestEntityTooLarge, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn refuses_long_bodies() {
        let read = |length| read(RequestBody::Full(vec![0; length].into()), 3);
        assert_eq!(read(3).await.map(|bytes| bytes.len()), Ok(3));
        let status = read(4).await.expect_err("too long");
        assert_eq!((status.code, status.message.as_str()), (413, "Request entity too large: limit is 3"));
    }
}
