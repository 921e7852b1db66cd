//! Which of several replicas leads: by a Lease, with client-go's rules.
//!
//! Whoever holds the lease renews it every two seconds. Others take it over when it has not changed for
//! as long as it says, by their own clocks: clocks of machines need not agree.
//! Invariant: who cannot renew stops leading before anybody else may begin.

use std::time::Duration;

use apiwright_chain::Drain;
use apiwright_meta::status::Result;
use futures::future::BoxFuture;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tracing::{debug, info, warn};

/// How long a lease holds that nobody renews.
pub const LEASE_DURATION: Duration = Duration::from_secs(15);
/// How long a leader tries to renew before it gives up.
const RENEW_DEADLINE: Duration = Duration::from_secs(10);
/// How long everybody waits between tries.
const RETRY_PERIOD: Duration = Duration::from_secs(2);
/// What a candidate waits longer at most, as a factor: candidates do not all try at once.
const JITTER: f64 = 1.2;

/// What a lease says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// Who leads; empty for nobody.
    pub holder: String,
    /// How long it holds.
    pub duration_seconds: i64,
    /// When the leader took it.
    pub acquired: String,
    /// When the leader last renewed it.
    pub renewed: String,
    /// How often it changed hands.
    pub transitions: i64,
}

/// Where the lease is.
pub trait Lock: Send + Sync + 'static {
    /// What it says, and at which version; `None` where there is none.
    fn read(&self) -> BoxFuture<'_, Result<Option<(Record, String)>>>;
    /// Creates it, or replaces it at a version.
    fn write<'a>(&'a self, record: &'a Record, version: Option<&'a str>) -> BoxFuture<'a, Result<()>>;
    /// The moment, as leases write it.
    fn now(&self) -> String;
}

/// One candidate.
pub struct Election<L> {
    lock: L,
    identity: String,
    /// What the lease last said, and since when.
    observed: Option<(Record, Instant)>,
}

impl<L: Lock> Election<L> {
    /// A candidate of this name.
    pub fn new(lock: L, identity: String) -> Self {
        Self { lock, identity, observed: None }
    }

    /// Tries to lead, and says whether it does, until the drain begins; then somebody else may at once.
    pub async fn run(mut self, leads: watch::Sender<bool>, mut drain: Drain) {
        tokio::select! {
            () = self.compete(&leads) => {}
            () = drain.begun() => {}
        }
        if leads.send_replace(false) {
            self.release().await;
        }
    }

    async fn compete(&mut self, leads: &watch::Sender<bool>) {
        loop {
            while !self.try_once().await {
                sleep(RETRY_PERIOD.mul_f64(1.0 + JITTER * random())).await;
            }
            info!(identity = self.identity, "leading");
            leads.send_replace(true);
            self.keep().await;
            warn!(identity = self.identity, "no longer leading");
            leads.send_replace(false);
        }
    }

    /// Renews until that fails for too long.
    async fn keep(&mut self) {
        let mut renewed = Instant::now();
        loop {
            let left = RENEW_DEADLINE.saturating_sub(renewed.elapsed());
            if left.is_zero() {
                return;
            }
            let began = Instant::now();
            match timeout(left, self.try_once()).await {
                Ok(true) => renewed = began,
                // Somebody else has it.
                Ok(false) if self.is_held() => return,
                Ok(false) | Err(_) => {}
            }
            sleep(RETRY_PERIOD.min(left)).await;
        }
    }

    /// Takes or renews the lease; gives whether it is ours.
    async fn try_once(&mut self) -> bool {
        match self.try_to_hold().await {
            Ok(held) => held,
            Err(why) => {
                debug!(identity = self.identity, why = why.message, "cannot take or renew the lease");
                false
            }
        }
    }

    async fn try_to_hold(&mut self) -> Result<bool> {
        let now = self.lock.now();
        let mut record = Record {
            holder: self.identity.clone(),
            duration_seconds: LEASE_DURATION.as_secs() as i64,
            acquired: now.clone(),
            renewed: now,
            transitions: 0,
        };
        let Some((current, version)) = self.lock.read().await? else {
            self.lock.write(&record, None).await?;
            self.observe(record);
            return Ok(true);
        };
        self.observe(current.clone());
        if self.is_held() {
            return Ok(false);
        }
        if current.holder == self.identity {
            record.acquired = current.acquired;
            record.transitions = current.transitions;
        } else {
            record.transitions = current.transitions + 1;
        }
        self.lock.write(&record, Some(&version)).await?;
        self.observe(record);
        Ok(true)
    }

    /// Whether somebody else holds it, as far as our clock tells.
    fn is_held(&self) -> bool {
        self.observed.as_ref().is_some_and(|(record, since)| {
            let duration = Duration::from_secs(u64::try_from(record.duration_seconds).unwrap_or_default());
            !record.holder.is_empty() && record.holder != self.identity && since.elapsed() < duration
        })
    }

    fn observe(&mut self, record: Record) {
        if self.observed.as_ref().is_none_or(|(known, _)| *known != record) {
            self.observed = Some((record, Instant::now()));
        }
    }

    async fn release(&self) {
        let read = self.lock.read().await;
        let Ok(Some((current, version))) = read else { return };
        if current.holder != self.identity {
            return;
        }
        let now = self.lock.now();
        let record = Record {
            duration_seconds: 1,
            acquired: now.clone(),
            renewed: now,
            transitions: current.transitions,
            ..Record::default()
        };
        if let Err(why) = self.lock.write(&record, Some(&version)).await {
            warn!(why = why.message, "cannot give the lease back; it runs out by itself");
        }
    }
}

/// Between 0 and 1.
fn random() -> f64 {
    let (bits, _) = uuid::Uuid::new_v4().as_u64_pair();
    (bits >> 32) as f64 / f64::from(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex, PoisonError};

    use apiwright_chain::drain;
    use apiwright_meta::Status;

    use super::*;

    /// A lease in memory, out of reach while `broken`.
    #[derive(Clone, Default)]
    struct Memory(Arc<Mutex<State>>);

    #[derive(Default)]
    struct State {
        record: Option<Record>,
        version: u64,
        broken: bool,
    }

    impl Memory {
        fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
            look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
        }
    }

    impl Lock for Memory {
        fn read(&self) -> BoxFuture<'_, Result<Option<(Record, String)>>> {
            let read = self.with(|state| match (state.broken, &state.record) {
                (true, _) => Err(Status::internal("broken")),
                (false, record) => Ok(record.clone().map(|record| (record, state.version.to_string()))),
            });
            Box::pin(std::future::ready(read))
        }

        fn write<'a>(&'a self, record: &'a Record, version: Option<&'a str>) -> BoxFuture<'a, Result<()>> {
            let written = self.with(|state| {
                let there = state.record.as_ref().map(|_| state.version.to_string());
                if state.broken || there.as_deref() != version {
                    return Err(Status::internal("broken, or another version"));
                }
                state.version += 1;
                // Every write is another moment.
                state.record = Some(Record { renewed: state.version.to_string(), ..record.clone() });
                Ok(())
            });
            Box::pin(std::future::ready(written))
        }

        fn now(&self) -> String {
            String::new()
        }
    }

    fn candidate(lease: &Memory, name: &'static str, drain: Drain) -> watch::Receiver<bool> {
        let (sender, receiver) = watch::channel(false);
        tokio::spawn(Election::new(lease.clone(), name.to_owned()).run(sender, drain));
        receiver
    }

    #[tokio::test(start_paused = true)]
    async fn one_leads_and_the_other_takes_over() {
        let lease = Memory::default();
        let (first_ends, first_drain) = drain();
        let (_second_ends, second_drain) = drain();
        let first = candidate(&lease, "first", first_drain);
        sleep(Duration::from_secs(1)).await;
        let mut second = candidate(&lease, "second", second_drain);
        sleep(Duration::from_mins(5)).await;
        assert_eq!((*first.borrow(), *second.borrow()), (true, false), "it renews");
        let since = Instant::now();
        first_ends.begin();
        assert!(second.wait_for(|leads| *leads).await.is_ok());
        assert!(since.elapsed() < Duration::from_secs(7), "it was given back, not left to run out");
        assert_eq!(lease.with(|state| state.record.as_ref().map(|one| one.transitions)), Some(1));
    }

    #[tokio::test(start_paused = true)]
    async fn who_cannot_renew_stops_before_others_begin() {
        let lease = Memory::default();
        let (_ends, drain) = drain();
        let mut first = candidate(&lease, "first", drain.clone());
        assert!(first.wait_for(|leads| *leads).await.is_ok());
        sleep(Duration::from_secs(30)).await;
        let since = Instant::now();
        lease.with(|state| state.broken = true);
        assert!(first.wait_for(|leads| !*leads).await.is_ok());
        let stopped = since.elapsed();
        assert!(stopped <= LEASE_DURATION && stopped >= Duration::from_secs(8), "{stopped:?}");
        let mut second = candidate(&lease, "second", drain);
        lease.with(|state| {
            state.broken = false;
            state.record = Some(Record { holder: "gone".into(), duration_seconds: 15, ..Record::default() });
        });
        let since = Instant::now();
        tokio::select! {
            led = first.wait_for(|leads| *leads) => drop(led),
            led = second.wait_for(|leads| *leads) => drop(led),
        }
        assert!(since.elapsed() >= LEASE_DURATION, "what another held has to run out first");
    }
}
