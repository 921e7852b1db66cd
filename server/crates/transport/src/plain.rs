//! Clients that forget the S of HTTPS are told so, in the words of Go's server.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// What requests begin with whose first five bytes Go takes for HTTP.
const BEGINNINGS: [&[u8; 5]; 5] = [b"GET /", b"HEAD ", b"POST ", b"PUT /", b"OPTIO"];
const ANSWER: &[u8] = b"HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 22;
/// How long such a client may take to send the rest and to read the answer.
const PATIENCE: Duration = Duration::from_millis(500);

/// Whether the client speaks HTTP instead of TLS. Waits for its first byte and takes none.
pub(crate) async fn is_http(stream: &TcpStream) -> bool {
    let mut first = [0; 5];
    match stream.peek(&mut first).await {
        Ok(count) if count > 0 && first[0] != HANDSHAKE => {
            BEGINNINGS.iter().any(|beginning| beginning.starts_with(&first[..count]))
        }
        _ => false,
    }
}

/// Tells it, and waits a moment for it to go: a connection that is closed with something unread loses the answer.
pub(crate) async fn refuse(mut stream: TcpStream) {
    let _ = tokio::time::timeout(PATIENCE, async {
        stream.write_all(ANSWER).await?;
        stream.shutdown().await?;
        let mut rest = [0; 4096];
        while stream.read(&mut rest).await? > 0 {}
        Ok::<_, std::io::Error>(())
    })
    .await;
}
