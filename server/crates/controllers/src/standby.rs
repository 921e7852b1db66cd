//! Whether somebody else does the work: a lease that others hold, followed by its changes.

use std::sync::Arc;
use std::time::Duration;

use apiwright_meta::time::Time;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};
use tracing::info;

use crate::change::Change;
use crate::election::Record;
use crate::informers::Handler;

/// A lease that somebody else may hold.
pub struct Standby {
    /// `namespace/name` of the lease.
    lease: &'static str,
    /// What it last said, and until when that holds.
    held: watch::Sender<Option<(String, Instant)>>,
}

impl Standby {
    /// Follows a lease; nobody holds it yet.
    pub fn new(lease: &'static str) -> Arc<Self> {
        Arc::new(Self { lease, held: watch::channel(None).0 })
    }

    /// Says whether somebody holds the lease: at once when it is taken or given back, and when it runs out.
    pub async fn run(self: Arc<Self>, aside: watch::Sender<bool>) {
        let mut held = self.held.subscribe();
        loop {
            let now = held.borrow_and_update().clone();
            let end = now.as_ref().map(|(_, end)| *end).filter(|end| *end > Instant::now());
            let is_held = end.is_some();
            let was_held = aside.send_replace(is_held);
            match now {
                Some((holder, _)) if is_held && !was_held => {
                    info!(lease = self.lease, holder, "standing aside");
                }
                _ if was_held && !is_held => info!(lease = self.lease, "at work again"),
                _ => {}
            }
            let changed = match end {
                None => held.changed().await,
                Some(end) => tokio::select! {
                    changed = held.changed() => changed,
                    () = sleep_until(end) => Ok(()),
                },
            };
            if changed.is_err() || aside.is_closed() {
                return;
            }
        }
    }

    /// Whether somebody holds it now.
    pub fn is_held(&self) -> bool {
        self.held.borrow().as_ref().is_some_and(|(_, end)| *end > Instant::now())
    }

    fn hear(&self, record: Option<&Record>, now: Time) {
        let held = record
            .filter(|record| !record.holder.is_empty())
            .map(|record| (record.holder.clone(), Instant::now() + left(record, now)));
        self.held.send_replace(held);
    }
}

impl Handler for Standby {
    fn changed(&self, change: &Change<'_>) {
        if change.key() != self.lease {
            return;
        }
        let record = change.new.and_then(|_| change.decode()).map(|lease| Record::of(&lease));
        self.hear(record.as_ref(), Time::now());
    }
}

/// How long a record holds: from when it was renewed, by the holder's clock, but not longer than from now.
fn left(record: &Record, now: Time) -> Duration {
    let whole = Duration::from_secs(u64::try_from(record.duration_seconds).unwrap_or_default());
    match Time::parse_micro(&record.renewed) {
        Ok(renewed) => {
            let since = u64::try_from(now.seconds - renewed.seconds).unwrap_or_default();
            whole.saturating_sub(Duration::from_secs(since))
        }
        Err(_) => whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_is_held_until_it_runs_out_or_is_given_back() {
        let standby = Standby::new("kube-system/x");
        let (sender, mut aside) = watch::channel(false);
        let running = tokio::spawn(Arc::clone(&standby).run(sender));
        let now = Time::now();
        let record = |holder: &str| Record {
            holder: holder.into(),
            duration_seconds: 15,
            renewed: now.to_rfc3339_micro(),
            ..Record::default()
        };
        standby.hear(Some(&record("somebody")), now);
        assert!(aside.wait_for(|aside| *aside).await.is_ok());
        let since = Instant::now();
        tokio::time::sleep(Duration::from_secs(10)).await;
        standby.hear(Some(&record("somebody")), now);
        assert!(aside.wait_for(|aside| !*aside).await.is_ok());
        assert!((24..=25).contains(&since.elapsed().as_secs()), "{:?}", since.elapsed());
        standby.hear(Some(&record("somebody")), now);
        assert!(aside.wait_for(|aside| *aside).await.is_ok());
        standby.hear(Some(&record("")), now);
        assert!(aside.wait_for(|aside| !*aside).await.is_ok());
        let old = now.plus(Duration::from_mins(1));
        standby.hear(Some(&record("somebody who is gone")), old);
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(!*aside.borrow(), "it ran out long ago");
        running.abort();
    }
}
