//! What must have happened between two states, where the changes themselves are forgotten.

use std::sync::Arc;

use apiwright_storage::{Entry, Event};

use crate::snapshot::{Map, Snapshot};

/// The later state, and changes that lead to it from the earlier one, in order of their revisions.
/// What was changed more than once changes once, and what was made and deleted between them never was.
pub(crate) fn difference(
    earlier: &Snapshot,
    later: Vec<Arc<Entry>>,
    revision: u64,
) -> (Snapshot, Vec<Event>) {
    let mut map = Map::new();
    let mut events = Vec::new();
    for entry in later {
        let previous = earlier.map.get(&*entry.key).cloned();
        match previous {
            // The one in memory knows its facts already.
            Some(previous) if previous.mod_revision == entry.mod_revision => {
                map.insert(previous.key.clone(), previous);
                continue;
            }
            Some(previous) if previous.create_revision == entry.create_revision => {
                events.push(Event::Put { entry: entry.clone(), previous: Some(previous) });
            }
            Some(previous) => {
                // It was deleted at some time before it was made again, and was not there just before.
                events.push(Event::Delete { previous, revision: entry.create_revision - 1 });
                events.push(Event::Put { entry: entry.clone(), previous: None });
            }
            None => events.push(Event::Put { entry: entry.clone(), previous: None }),
        }
        map.insert(entry.key.clone(), entry);
    }
    let gone = earlier.map.values().filter(|entry| !map.contains_key(&*entry.key));
    events.extend(gone.map(|entry| Event::Delete { previous: entry.clone(), revision }));
    events.sort_by_key(Event::revision);
    (Snapshot { revision, map }, events)
}

#[cfg(test)]
mod tests {
    use apiwright_storage::Annex;
    use bytes::Bytes;

    use super::*;

    fn entry(key: &str, create_revision: u64, mod_revision: u64) -> Arc<Entry> {
        let (key, annex) = (key.into(), Annex::default());
        Arc::new(Entry { key, value: Bytes::new(), create_revision, mod_revision, version: 1, annex })
    }

    #[test]
    fn every_way_to_differ() {
        let before = [("changed", 2, 3), ("gone", 4, 4), ("kept", 5, 6), ("remade", 7, 8)];
        let map = before.iter().map(|(key, create, modified)| entry(key, *create, *modified));
        let earlier = Snapshot { revision: 10, map: map.map(|entry| (entry.key.clone(), entry)).collect() };
        let after = [("changed", 2, 30), ("kept", 5, 6), ("made", 11, 12), ("remade", 20, 20)];
        let after = after.iter().map(|(key, create, modified)| entry(key, *create, *modified)).collect();
        let (later, events) = difference(&earlier, after, 33);
        let told: Vec<_> = events
            .iter()
            .map(|event| {
                let what = match event {
                    Event::Put { previous: None, .. } => "create",
                    Event::Put { .. } => "update",
                    Event::Delete { .. } => "delete",
                    Event::Progress(_) => "progress",
                };
                format!("{} {what} {}", event.revision(), event.key().unwrap())
            })
            .collect();
        let want =
            ["12 create made", "19 delete remade", "20 create remade", "30 update changed", "33 delete gone"];
        assert_eq!(told, want);
        let keys: Vec<_> = later.map.keys().map(|key| &**key).collect();
        assert_eq!((later.revision, keys), (33, vec!["changed", "kept", "made", "remade"]));
        assert!(Arc::ptr_eq(&later.map["kept"], &earlier.map["kept"]));
    }
}
