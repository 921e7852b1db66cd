//! Objects that a server makes for itself where they are absent.

use std::sync::Arc;
use std::time::Duration;

use apiwright_storage::{Change, Error, Expect, Outcome, Storage};
use bytes::Bytes;
use tracing::warn;

/// How often an engine that is not ready is asked again.
const ATTEMPTS_MAX: u32 = 10;

/// Stores each object under its key unless something is there; says how many were made.
///
/// # Errors
/// When storage stays unavailable.
pub async fn ensure(
    storage: &dyn Storage,
    objects: impl IntoIterator<Item = (String, Bytes)>,
) -> Result<usize, Error> {
    let mut made = 0;
    for (key, value) in objects {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let change = Change::Put { value: value.clone(), ttl_seconds: None };
            match storage.commit(Arc::from(key.as_str()), Expect::Absent, change).await {
                Ok(Outcome::Done { .. }) => made += 1,
                Ok(Outcome::Mismatch { .. }) => {}
                // Whether it was stored shows when it is tried again.
                Err(why @ (Error::Unavailable(_) | Error::Unknown(_))) if attempt < ATTEMPTS_MAX => {
                    warn!(key, %why, "cannot store a bootstrap object yet");
                    tokio::time::sleep(Duration::from_millis(200)).await;
                    continue;
                }
                Err(why) => return Err(why),
            }
            break;
        }
    }
    Ok(made)
}
