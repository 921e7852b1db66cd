//! A panic is a bug; its request is answered, the log gets the rest.

use std::any::Any;
use std::panic::AssertUnwindSafe;

use apiwright_chain::{Response, respond};
use futures::FutureExt;
use tracing::error;

/// The answer, or 500 where making it panicked.
pub(crate) async fn guard(audit_id: &str, answer: impl Future<Output = Response>) -> Response {
    match AssertUnwindSafe(answer).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => {
            error!(audit_id, panic = text(panic.as_ref()), "a request caused a panic");
            respond::text_error(500, "This request caused apiserver to panic. Look in the logs for details.")
        }
    }
}

fn text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("something that is no text")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn panics_are_answered() {
        let response = guard("id", async { panic!("on purpose, in a test") }).await;
        assert_eq!(response.status(), 500);
        let apiwright_chain::Body::Full(body) = response.into_body() else { panic!("not at once") };
        assert_eq!(
            bytes::Bytes::from(body),
            "This request caused apiserver to panic. Look in the logs for details.\n"
        );
    }
}
