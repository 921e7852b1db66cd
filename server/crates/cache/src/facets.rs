//! Entries by what a layer above tells them apart by.
//!
//! An index is made when it is first asked for. Who asks brings it up to date with the changes since, so that writers
//! do nothing for it; where these are forgotten it is made anew. Like snapshots, its states cost what changed
//! between them, and the past is read by undoing changes.

use std::ops::Bound;
use std::sync::Arc;

use apiwright_storage::{At, Entry, Error, Event, Facet, Key, Only, Page, Range, Result, Revision, Select};
use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::hub::Hub;
use crate::snapshot::{Snapshot, select};

/// The indexes there are.
#[derive(Debug, Default)]
pub(crate) struct Facets(Mutex<Vec<Index>>);

/// The entries of one facet at one revision.
#[derive(Clone, Debug)]
struct Index {
    facet: Arc<dyn Facet>,
    revision: Revision,
    entries: imbl::OrdMap<Place, Arc<Entry>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    value: Arc<str>,
    key: Key,
}

impl Facets {
    /// What is wanted of a range, all of which has one value of a facet.
    pub(crate) fn page(
        &self,
        snapshot: &ArcSwap<Snapshot>,
        hub: &Mutex<Hub>,
        range: Range<'_>,
        wanted: &dyn Select,
        only: &Only,
    ) -> Result<Page> {
        let mut index = self.newest(snapshot, hub, &only.facet);
        match range.at {
            At::Latest => {}
            At::NotOlderThan(requested) | At::Revision(requested) if requested > index.revision => {
                return Err(Error::Future { requested, newest: index.revision });
            }
            At::NotOlderThan(_) => {}
            At::Revision(revision) => index.go_back(hub, revision)?,
        }
        Ok(index.page(range, wanted, &only.value))
    }

    /// The index of a facet as it is now.
    fn newest(&self, snapshot: &ArcSwap<Snapshot>, hub: &Mutex<Hub>, facet: &Arc<dyn Facet>) -> Index {
        let mut all = self.0.lock();
        // Loaded under the lock, so that indexes never go back.
        let newest = snapshot.load_full();
        let at = all.iter().position(|index| index.facet.id() == facet.id());
        match at {
            Some(at) => {
                let index = &mut all[at];
                if !index.go_on(hub, newest.revision) {
                    *index = Index::of(&newest, facet);
                }
                index.clone()
            }
            None => {
                all.push(Index::of(&newest, facet));
                all[all.len() - 1].clone()
            }
        }
    }
}

impl Index {
    fn of(snapshot: &Snapshot, facet: &Arc<dyn Facet>) -> Self {
        let mut index =
            Self { facet: facet.clone(), revision: snapshot.revision, entries: imbl::OrdMap::new() };
        for entry in snapshot.range(facet.prefix(), None) {
            index.insert(entry);
        }
        index
    }

    /// Takes in the changes up to a revision; says whether they are still known.
    fn go_on(&mut self, hub: &Mutex<Hub>, to: Revision) -> bool {
        if self.revision == to {
            return true;
        }
        let Ok(changes) = self.changes(hub, self.revision, to) else { return false };
        for change in &changes {
            match change {
                Event::Put { entry, previous } => {
                    if let Some(previous) = previous {
                        self.remove(previous);
                    }
                    self.insert(entry);
                }
                Event::Delete { previous, .. } => self.remove(previous),
                Event::Progress(_) => {}
            }
        }
        self.revision = to;
        true
    }

    /// Undoes the changes after a revision.
    fn go_back(&mut self, hub: &Mutex<Hub>, to: Revision) -> Result<()> {
        for change in self.changes(hub, to, self.revision)?.iter().rev() {
            match change {
                Event::Put { entry, previous } => {
                    self.remove(entry);
                    if let Some(previous) = previous {
                        self.insert(previous);
                    }
                }
                Event::Delete { previous, .. } => self.insert(previous),
                Event::Progress(_) => {}
            }
        }
        self.revision = to;
        Ok(())
    }

    /// The changes of its entries between two revisions.
    fn changes(&self, hub: &Mutex<Hub>, after: Revision, to: Revision) -> Result<Vec<Event>> {
        let hub = hub.lock();
        let changes = hub.history().from(hub.history().after(after)?);
        let is_mine = |change: &&Event| change.key().is_some_and(|key| key.starts_with(self.facet.prefix()));
        let until = changes.into_iter().flatten().take_while(|change| change.revision() <= to);
        Ok(until.filter(is_mine).cloned().collect())
    }

    fn page(&self, range: Range<'_>, wanted: &dyn Select, value: &Arc<str>) -> Page {
        let place = |key: &str| Place { value: value.clone(), key: key.into() };
        let start = match range.after {
            Some(after) if after >= range.prefix => Bound::Excluded(place(after)),
            _ => Bound::Included(place(range.prefix)),
        };
        let ours =
            |(place, _): &(&Place, &Arc<Entry>)| place.value == *value && place.key.starts_with(range.prefix);
        let entries = self.entries.range((start, Bound::Unbounded)).take_while(ours);
        select(entries.map(|(_, entry)| entry), self.revision, range.limit, wanted)
    }

    fn insert(&mut self, entry: &Arc<Entry>) {
        self.entries.insert(self.place(entry), entry.clone());
    }

    fn remove(&mut self, entry: &Arc<Entry>) {
        self.entries.remove(&self.place(entry));
    }

    /// Where an entry is. Entries with the same value share its text.
    fn place(&self, entry: &Arc<Entry>) -> Place {
        let value = self.facet.value(entry);
        let place = Place { value: Arc::from(&*value), key: entry.key.clone() };
        match self.entries.get_next(&place) {
            Some((next, _)) if next.value == place.value => Place { value: next.value.clone(), ..place },
            _ => place,
        }
    }
}
