//! Compression of long answers, as kube-apiserver compresses: the fast level, from 128 KiB on.
//!
//! What is around the compressed data is written here: crc32fast takes a tenth of the time that zlib-rs takes.

use std::io::Write;

use apiwright_chain::{Piece, Response};
use bytes::Buf;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, HeaderValue, VARY};
use http::request::Parts;

/// Answers up to this long are sent as they are.
pub(super) const LONG_BYTES: usize = 128 * 1024;

/// Whether the client asks for gzip, plainly: with a quality it is not heard.
pub(super) fn accepted(head: &Parts) -> bool {
    let header = head.headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    header.split(',').any(|one| one.trim() == "gzip")
}

/// Says on an answer that its body is compressed.
pub(super) fn mark(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

/// A whole body, compressed.
pub(super) fn whole(body: Piece) -> Vec<u8> {
    let mut encoder = Encoder::new();
    encoder.add(body);
    encoder.end()
}

/// A body that is compressed piece by piece.
pub(super) struct Encoder {
    deflate: DeflateEncoder<Vec<u8>>,
    checksum: crc32fast::Hasher,
}

/// No name, no time, the fast level, an unknown system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff];

impl Encoder {
    pub(super) fn new() -> Self {
        let deflate = DeflateEncoder::new(HEAD.to_vec(), Compression::fast());
        Self { deflate, checksum: crc32fast::Hasher::new() }
    }

    /// Takes a piece in.
    pub(super) fn add(&mut self, mut piece: Piece) {
        while piece.has_remaining() {
            let part = piece.chunk();
            // Writing to a vector cannot fail.
            let _ = self.deflate.write_all(part);
            self.checksum.update(part);
            piece.advance(part.len());
        }
    }

    /// How much can be sent.
    pub(super) fn ready(&self) -> usize {
        self.deflate.get_ref().len()
    }

    /// What can be sent. The next piece is as long, about.
    pub(super) fn take(&mut self) -> Vec<u8> {
        let room = Vec::with_capacity(self.ready() + self.ready() / 8);
        std::mem::replace(self.deflate.get_mut(), room)
    }

    /// What is left to send.
    pub(super) fn end(mut self) -> Vec<u8> {
        let length = self.deflate.total_in() as u32;
        let _ = self.deflate.try_finish();
        let mut out = self.take();
        out.extend_from_slice(&self.checksum.finalize().to_le_bytes());
        out.extend_from_slice(&length.to_le_bytes());
        out
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn reads_back() {
        let body: Vec<u8> = (0..300_000u32).map(|n| (n % 251) as u8).collect();
        let mut back = Vec::new();
        flate2::read::GzDecoder::new(&whole(body.clone().into())[..])
            .read_to_end(&mut back)
            .expect("valid gzip");
        assert!(back == body);
    }

    #[test]
    fn asks_the_client() {
        for (header, expected) in [
            ("gzip", true),
            ("br, gzip , deflate", true),
            ("gzip;q=0", false),
            ("identity", false),
            ("", false),
        ] {
            let request =
                http::Request::builder().header(ACCEPT_ENCODING, header).body(()).expect("a request");
            assert_eq!(accepted(&request.into_parts().0), expected, "{header}");
        }
    }
}
