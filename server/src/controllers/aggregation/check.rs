//! Whether a server answers for a group version.
//!
//! One slow or lost answer says little: several are asked for, and one that comes is enough.

use std::time::Duration;

use apiwright_aggregator::{Remote, Routes, aggregator_headers};
use apiwright_remote::{Backend, Error, Kind, empty};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use http::{Method, Request, Uri};

const ATTEMPTS: usize = 5;
/// How long the first attempt is waited for alone.
const FIRST_SECONDS_MAX: u64 = 1;
const ATTEMPT_SECONDS_MAX: u64 = 5;
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Asks the server for the document of a group version.
///
/// # Errors
/// The last attempt's failure, in upstream's words.
pub(super) async fn answers(routes: &Routes, remote: &Remote, path: &str) -> Result<(), String> {
    let backend = routes.backend(remote).map_err(|error| error.to_string())?;
    let attempt = || attempt(routes, remote, &backend, path);
    let mut attempts = FuturesUnordered::new();
    attempts.push(attempt());
    let first = tokio::time::timeout(Duration::from_secs(FIRST_SECONDS_MAX), attempts.next()).await;
    let mut last = match first {
        Ok(Some(Ok(()))) => return Ok(()),
        Ok(Some(Err(why))) => why,
        Ok(None) | Err(_) => String::new(),
    };
    attempts.extend((1..ATTEMPTS).map(|_| attempt()));
    while let Some(outcome) = attempts.next().await {
        match outcome {
            Ok(()) => return Ok(()),
            Err(why) => last = why,
        }
    }
    Err(last)
}

async fn attempt(routes: &Routes, remote: &Remote, backend: &Backend, path: &str) -> Result<(), String> {
    let host = routes.resolver.resolve(&remote.service).await?;
    let address = format!("https://{host}{path}");
    let uri: Uri = address.parse().map_err(|error| format!("{address}: {error}"))?;
    let mut request = Request::new(empty());
    *request.uri_mut() = uri.clone();
    *request.headers_mut() = aggregator_headers();
    let answer = backend.exchange(request, Duration::from_secs(ATTEMPT_SECONDS_MAX), ANSWER_BYTES_MAX).await;
    let why = match answer {
        Ok(answer) if answer.status().is_success() => return Ok(()),
        Ok(answer) => format!("bad status from {address}: {}", answer.status().as_u16()),
        Err(error) if error.kind == Kind::TooLong => return Ok(()),
        Err(error) => waited_for(error).of_request(&Method::GET, &uri),
    };
    Err(format!("failing or missing response from {address}: {why}"))
}

/// A client with a timeout says that it was its own.
fn waited_for(error: Error) -> Error {
    if error == Error::deadline_exceeded() {
        return Error::new(
            Kind::Timeout,
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
        );
    }
    error
}
