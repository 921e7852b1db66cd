//! What one writer publishes and everyone else reads.
//!
//! The snapshot and the window change together under the hub's lock; reading the newest snapshot
//! alone takes no lock.

use std::sync::Arc;

use apiwright_storage::{At, Error, Event, Only, Page, Range, Result, Revision, Select, Watch};
use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::Limits;
use crate::facets::Facets;
use crate::hub::Hub;
use crate::snapshot::{Snapshot, select};
use crate::watch::WatchStream;

/// Entries of many versions, and the watches of their changes.
#[derive(Debug)]
pub struct Memory {
    snapshot: ArcSwap<Snapshot>,
    hub: Arc<Mutex<Hub>>,
    facets: Facets,
    /// Why nothing works any more.
    ended: arc_swap::ArcSwapOption<Error>,
}

impl Memory {
    /// What begins with these entries; their past is unknown.
    pub fn new(snapshot: Snapshot, limits: &Limits) -> Self {
        let hub = Hub::new(snapshot.revision, limits);
        Self::of(snapshot, hub)
    }

    /// What begins with these entries and the changes that led to them, of which there is one a
    /// revision.
    pub fn with_past(snapshot: Snapshot, past: Vec<Event>, limits: &Limits) -> Self {
        let floor = past.first().map_or(snapshot.revision, |first| first.revision() - 1);
        let mut hub = Hub::new(floor, limits);
        hub.publish(past, snapshot.revision, &mut Vec::new());
        Self::of(snapshot, hub)
    }

    fn of(snapshot: Snapshot, hub: Hub) -> Self {
        Self {
            snapshot: ArcSwap::from_pointee(snapshot),
            hub: Arc::new(Mutex::new(hub)),
            facets: Facets::default(),
            ended: arc_swap::ArcSwapOption::empty(),
        }
    }

    /// The newest entries.
    pub fn newest(&self) -> Arc<Snapshot> {
        self.snapshot.load_full()
    }

    /// Fails once it has ended.
    pub fn check(&self) -> Result<()> {
        match &*self.ended.load() {
            Some(error) => Err(Error::clone(error)),
            None => Ok(()),
        }
    }

    /// Runs `read` on the entries at a moment.
    pub fn read<T>(&self, at: At, read: impl FnOnce(&Snapshot) -> T) -> Result<T> {
        self.check()?;
        let newest = self.snapshot.load();
        match at {
            At::Latest => Ok(read(&newest)),
            At::NotOlderThan(requested) if requested > newest.revision => {
                Err(Error::Future { requested, newest: newest.revision })
            }
            At::NotOlderThan(_) => Ok(read(&newest)),
            At::Revision(revision) if revision == newest.revision => Ok(read(&newest)),
            At::Revision(revision) => Ok(read(&self.past(revision)?)),
        }
    }

    /// The entries of a range that are wanted, from an index where all of them have something in common.
    pub fn select(&self, range: Range<'_>, wanted: &dyn Select) -> Result<Page> {
        self.check()?;
        if let Some(only) = wanted.only() {
            return self.facets.page(&self.snapshot, &self.hub, range, wanted, only);
        }
        self.read(range.at, |snapshot| {
            select(snapshot.range(range.prefix, range.after), snapshot.revision, range.limit, wanted)
        })
    }

    /// Every change below a prefix after a revision, then those to come. With `only`, changes of other entries
    /// are left out.
    pub fn watch(&self, prefix: &str, after: Revision, only: Option<&Only>) -> Result<Watch> {
        self.check()?;
        let subscriber = self.hub.lock().subscribe(prefix, after, only)?;
        Ok(Box::pin(WatchStream::new(self.hub.clone(), subscriber)))
    }

    /// Forgets the past before a revision.
    pub fn compact(&self, revision: Revision) -> Result<()> {
        self.check()?;
        self.hub.lock().history_mut().compact(revision)
    }

    /// Shows the next snapshot to everyone, and the changes that led to it.
    pub fn publish(&self, snapshot: Snapshot, events: Vec<Event>) {
        self.replace(snapshot, events, false);
    }

    /// As [`Memory::publish`], where the changes are only the difference between the two: what was
    /// between them cannot be read, and no watch can begin there.
    pub fn leap(&self, snapshot: Snapshot, events: Vec<Event>) {
        self.replace(snapshot, events, true);
    }

    fn replace(&self, snapshot: Snapshot, events: Vec<Event>, is_leap: bool) {
        let mut wakers = Vec::new();
        let replaced = {
            let mut hub = self.hub.lock();
            if is_leap {
                hub.history_mut().leap(snapshot.revision);
            }
            let revision = snapshot.revision;
            let replaced = self.snapshot.swap(Arc::new(snapshot));
            hub.publish(events, revision, &mut wakers);
            replaced
        };
        drop(replaced);
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    /// Tells watches how far they have come.
    pub fn report_progress(&self) {
        let mut wakers = Vec::new();
        self.hub.lock().report_progress(&mut wakers);
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    /// Ends everything.
    pub fn end(&self, error: Error) {
        if self.ended.load().is_some() {
            return;
        }
        self.ended.store(Some(Arc::new(error.clone())));
        let mut wakers = Vec::new();
        self.hub.lock().close(error, &mut wakers);
        wakers.into_iter().for_each(std::task::Waker::wake);
    }

    fn past(&self, revision: Revision) -> Result<Snapshot> {
        let rewind = {
            let hub = self.hub.lock();
            hub.history().rewind(&self.snapshot.load(), revision)?
        };
        let (snapshot, keep) = rewind.run();
        if keep {
            self.hub.lock().history_mut().keep(snapshot.clone());
        }
        Ok(snapshot)
    }
}

#[cfg(test)]
mod tests {
    use apiwright_storage::{Annex, Entry};
    use bytes::Bytes;
    use futures::{FutureExt, StreamExt};

    use super::*;
    use crate::snapshot::Map;

    fn entry(key: &str, revision: Revision) -> Arc<Entry> {
        Arc::new(Entry {
            key: key.into(),
            value: Bytes::from(revision.to_string()),
            create_revision: revision,
            mod_revision: revision,
            version: 1,
            annex: Annex::default(),
        })
    }

    /// Publishes what makes or deletes each key at one revision.
    fn step(memory: &Memory, revision: Revision, puts: &[&str], deletes: &[&str]) {
        let mut map = memory.newest().map.clone();
        let mut events = Vec::new();
        for key in puts {
            let entry = entry(key, revision);
            let previous = map.insert(entry.key.clone(), entry.clone());
            events.push(Event::Put { entry, previous });
        }
        for key in deletes {
            let previous = map.remove(*key).unwrap();
            events.push(Event::Delete { previous, revision });
        }
        memory.publish(Snapshot { revision, map }, events);
    }

    fn keys(memory: &Memory, at: Revision) -> Vec<String> {
        let page = memory.read(At::Revision(at), |snapshot| snapshot.page("", None, 0)).unwrap();
        page.entries.iter().map(|entry| format!("{}={}", entry.key, entry.mod_revision)).collect()
    }

    /// A revision may have several changes, or none: reads of the past and watches that fall behind
    /// in its middle treat it as a whole.
    #[test]
    fn revisions_of_several_changes() {
        for queue in 1..6 {
            let limits = Limits { watch_queue_events_max: queue, ..Limits::default() };
            let memory = Memory::new(Snapshot { revision: 3, map: Map::new() }, &limits);
            let mut early = memory.watch("", 3, None).unwrap();
            let mut future = memory.watch("", 9, None).unwrap();
            assert!(matches!(early.next().now_or_never(), Some(Some(Ok(Event::Progress(3))))));
            step(&memory, 5, &["a", "b", "c"], &[]);
            assert_eq!(early.next().now_or_never().unwrap().unwrap().unwrap().revision(), 5);
            step(&memory, 9, &["d"], &["a", "b"]);
            step(&memory, 12, &[], &[]);
            step(&memory, 15, &[], &["c", "d"]);
            for (at, want) in [
                (3, &[][..]),
                (4, &[]),
                (5, &["a=5", "b=5", "c=5"]),
                (8, &["a=5", "b=5", "c=5"]),
                (9, &["c=5", "d=9"]),
                (12, &["c=5", "d=9"]),
                (15, &[]),
            ] {
                assert_eq!(keys(&memory, at), want, "at {at}");
            }
            let rest = |watch: &mut Watch| {
                let mut seen = Vec::new();
                while let Some(event) = watch.next().now_or_never() {
                    let event = event.unwrap().unwrap();
                    seen.extend(event.key().map(|key| format!("{key}@{}", event.revision())));
                }
                seen
            };
            assert_eq!(rest(&mut early), ["b@5", "c@5", "d@9", "a@9", "b@9", "c@15", "d@15"], "{queue}");
            assert_eq!(rest(&mut future), ["c@15", "d@15"], "{queue}");
            memory.compact(9).unwrap();
            assert_eq!(keys(&memory, 9), ["c=5", "d=9"]);
            assert!(memory.watch("", 8, None).is_err());
            assert_eq!(rest(&mut memory.watch("", 9, None).unwrap()), ["c@15", "d@15"], "{queue}");
        }
    }
}
