//! How much may be under way at once where there is no fairness: `--max-requests-inflight`,
//! `--max-mutating-requests-inflight` and `--enable-priority-and-fairness=false`.

use std::sync::Arc;

use apiwright_chain::{RequestInfo, Response, User};
use tokio::sync::Semaphore;

use crate::place::{self, Place};

/// The two limits.
pub(crate) struct InFlight {
    reads: Option<Arc<Semaphore>>,
    writes: Option<Arc<Semaphore>>,
}

impl InFlight {
    /// 0 is no limit.
    pub(crate) fn new(reads_max: usize, writes_max: usize) -> Self {
        let limit = |max| (max > 0).then(|| Arc::new(Semaphore::new(max)));
        Self { reads: limit(reads_max), writes: limit(writes_max) }
    }

    /// A place, or the answer 429. Watches take none, and those who may everything always get one.
    pub(crate) fn admit(&self, info: &RequestInfo, user: &User) -> Result<Place, Box<Response>> {
        if info.is_long_running() {
            return Ok(Place::default());
        }
        let limit = if info.is_read_only() { &self.reads } else { &self.writes };
        let Some(limit) = limit else { return Ok(Place::default()) };
        match Arc::clone(limit).try_acquire_owned() {
            Ok(permit) => Ok(Place::slot(permit)),
            Err(_) if user.in_group("system:masters") => Ok(Place::default()),
            Err(_) => Err(place::refused()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::header::RETRY_AFTER;
    use http::{HeaderValue, Method};

    #[test]
    fn limits() {
        let limits = InFlight::new(1, 1);
        let info =
            |method: &str, path| RequestInfo::parse(&method.parse::<Method>().unwrap(), path, "").unwrap();
        let (get, post) = (info("GET", "/api/v1/nodes/n"), info("POST", "/api/v1/nodes"));
        let watch = info("GET", "/api/v1/watch/nodes");
        let user = User::default();
        let held = limits.admit(&get, &user);
        assert!(held.is_ok());
        let refused = limits.admit(&get, &user).err().unwrap();
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
