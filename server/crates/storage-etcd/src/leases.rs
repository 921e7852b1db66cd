//! Leases, shared by entries that expire at about the same time: a lease costs etcd a write.
//!
//! As with kube-apiserver, an entry may live a little longer than asked for, by a twentieth and at
//! most a minute; and entries of one lease expire at one revision.

use std::collections::HashMap;
use std::time::Duration;

use apiwright_storage::Result;
use parking_lot::Mutex;
use tokio::time::Instant;

/// The longest that an entry may live more than it should.
const EXTRA_SECONDS_MAX: u32 = 60;
/// How many entries may share a lease: deleting them is one transaction.
const ENTRIES_MAX: usize = 1000;

/// The leases that others may join, by the time to live.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    open: Mutex<HashMap<u32, Lease>>,
    /// Held while a lease is asked for, so that many who need one ask once.
    granting: tokio::sync::Mutex<()>,
}

#[derive(Clone, Copy, Debug)]
struct Lease {
    id: i64,
    /// Who comes later would live too short.
    joinable_until: Instant,
    entries: usize,
}

impl Leases {
    /// A lease for one more entry: one that is there, or what `grant` gives for so many seconds.
    pub(crate) async fn get(&self, seconds: u32, grant: impl AsyncFnOnce(i64) -> Result<i64>) -> Result<i64> {
        let seconds = seconds.max(1);
        if let Some(id) = self.join(seconds) {
            return Ok(id);
        }
        let _granting = self.granting.lock().await;
        if let Some(id) = self.join(seconds) {
            return Ok(id);
        }
        let extra = (seconds / 20).min(EXTRA_SECONDS_MAX);
        // Asked before it is granted: it must not end too early for who joins.
        let joinable_until = Instant::now() + Duration::from_secs(u64::from(extra));
        let id = grant(i64::from(seconds) + i64::from(extra)).await?;
        if extra > 0 {
            let mut open = self.open.lock();
            let now = Instant::now();
            open.retain(|_, lease| lease.joinable_until > now);
            open.insert(seconds, Lease { id, joinable_until, entries: 1 });
        }
        Ok(id)
    }

    /// A lease has ended: nobody joins it any more.
    pub(crate) fn forget(&self, id: i64) {
        self.open.lock().retain(|_, lease| lease.id != id);
    }

    fn join(&self, seconds: u32) -> Option<i64> {
        let mut open = self.open.lock();
        let lease = open.get_mut(&seconds)?;
        if lease.entries >= ENTRIES_MAX || lease.joinable_until <= Instant::now() {
            return None;
        }
        lease.entries += 1;
        Some(lease.id)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn leases_are_shared_for_a_while() {
        let leases = Leases::default();
        let granted = RefCell::new(Vec::new());
        let grant = async |seconds| {
            granted.borrow_mut().push(seconds);
            Ok(granted.borrow().len() as i64)
        };
        for (wait_seconds, seconds, want) in [
            (0, 3600, 1),
            (30, 3600, 1),
            (29, 3600, 1),
            (2, 3600, 2),
            (0, 100, 3),
            (4, 100, 3),
            (0, 3600, 2),
            (1, 100, 4),
            // Too short a life to be stretched.
            (0, 10, 5),
            (0, 10, 6),
        ] {
            tokio::time::advance(Duration::from_secs(wait_seconds)).await;
            assert_eq!(leases.get(seconds, &grant).await.unwrap(), want, "after {wait_seconds}: {seconds}");
        }
        assert_eq!(*granted.borrow(), [3660, 3660, 105, 105, 10, 10]);
        leases.forget(2);
        assert_eq!(leases.get(3600, &grant).await.unwrap(), 7);
        for _ in 1..ENTRIES_MAX {
            assert_eq!(leases.get(3600, &grant).await.unwrap(), 7);
        }
        assert_eq!(leases.get(3600, &grant).await.unwrap(), 8);
    }
}
