//! How much may be under way at once: `--max-requests-inflight`, `--max-mutating-requests-inflight`.

use std::sync::Arc;

use apiwright_chain::{RequestInfo, Response, User, respond};
use http::HeaderValue;
use http::header::RETRY_AFTER;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The two limits.
pub(crate) struct InFlight {
    reads: Option<Arc<Semaphore>>,
    writes: Option<Arc<Semaphore>>,
}

/// A place among the requests under way, given back when dropped.
pub(crate) type Place = Option<OwnedSemaphorePermit>;

impl InFlight {
    /// 0 is no limit.
    pub(crate) fn new(reads_max: usize, writes_max: usize) -> Self {
        let limit = |max| (max > 0).then(|| Arc::new(Semaphore::new(max)));
        Self { reads: limit(reads_max), writes: limit(writes_max) }
    }

    /// A place, or the answer 429. Watches take none, and those who may everything always get one.
    pub(crate) fn admit(&self, info: &RequestInfo, user: &User) -> Result<Place, Box<Response>> {
        if info.is_long_running() {
            return Ok(None);
        }
        let limit = if info.is_read_only() { &self.reads } else { &self.writes };
        let Some(limit) = limit else { return Ok(None) };
        match Arc::clone(limit).try_acquire_owned() {
            Ok(place) => Ok(Some(place)),
            Err(_) if user.in_group("system:masters") => Ok(None),
            Err(_) => {
                let mut response = respond::text_error(429, "Too many requests, please try again later.");
                response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
                Err(Box::new(response))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::Method;

    #[test]
    fn limits() {
        let limits = InFlight::new(1, 1);
        let info =
            |method: &str, path| RequestInfo::parse(&method.parse::<Method>().unwrap(), path, "").unwrap();
        let (get, post) = (info("GET", "/api/v1/nodes/n"), info("POST", "/api/v1/nodes"));
        let watch = info("GET", "/api/v1/watch/nodes");
        let user = User::default();
        let held = limits.admit(&get, &user).unwrap();
        let refused = limits.admit(&get, &user).unwrap_err();
        assert_eq!(
            (refused.status().as_u16(), &refused.headers()[RETRY_AFTER]),
            (429, &HeaderValue::from_static("1"))
        );
        assert!(limits.admit(&get, &User::loopback()).is_ok());
        assert!(limits.admit(&post, &user).is_ok());
        assert!(limits.admit(&watch, &user).is_ok());
        drop(held);
        assert!(limits.admit(&get, &user).is_ok());
    }
}
