//! The changes that a watch has not delivered yet: so many, and so many bytes, at most.

use std::collections::VecDeque;

use apiwright_storage::Event;

use crate::history::Position;

/// How many bytes a watch holds, unless one change alone has more: what a slow receiver holds is not
/// freed when the window forgets it.
const BYTES_MAX: usize = 1 << 20;

/// A bounded queue.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    events: VecDeque<(Position, Event)>,
    bytes: usize,
}

impl Queue {
    /// Adds a change; false where the queue is too full for it.
    pub(crate) fn push(&mut self, position: Position, event: &Event, events_max: usize) -> bool {
        let bytes = bytes(event);
        let fits =
            self.events.is_empty() || (self.events.len() < events_max && self.bytes + bytes <= BYTES_MAX);
        if fits {
            self.push_always(position, event.clone());
        }
        fits
    }

    /// Adds a change, or progress, in any case.
    pub(crate) fn push_always(&mut self, position: Position, event: Event) {
        self.bytes += bytes(&event);
        self.events.push_back((position, event));
    }

    /// Takes the next.
    pub(crate) fn pop(&mut self) -> Option<Event> {
        let (_, event) = self.events.pop_front()?;
        self.bytes -= bytes(&event);
        Some(event)
    }

    /// Drops progress at the end, since there is newer.
    pub(crate) fn drop_progress(&mut self) {
        if matches!(self.events.back(), Some((_, Event::Progress(_)))) {
            self.events.pop_back();
        }
    }

    /// Where the next stands.
    pub(crate) fn front(&self) -> Option<Position> {
        self.events.front().map(|(position, _)| *position)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// The values that a change keeps alive.
fn bytes(event: &Event) -> usize {
    match event {
        Event::Put { entry, previous } => {
            entry.value.len() + previous.as_ref().map_or(0, |previous| previous.value.len())
        }
        Event::Delete { previous, .. } => previous.value.len(),
        Event::Progress(_) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use apiwright_storage::{Annex, Entry};

    use super::*;

    #[test]
    fn it_is_bounded_by_count_and_by_bytes() {
        for (length, events_max, want) in
            [(10, 3, 3), (300_000, 10, 3), (5_000_000, 10, 1), (5_000_000, 1, 1)]
        {
            let entry = Arc::new(Entry {
                key: "a".into(),
                value: vec![0; length].into(),
                create_revision: 2,
                mod_revision: 2,
                version: 1,
                annex: Annex::default(),
            });
            let event = Event::Put { entry, previous: None };
            let mut queue = Queue::default();
            for round in 0..2 {
                let taken = (0..20).filter(|position| queue.push(*position, &event, events_max)).count();
                assert_eq!(taken, want, "{length} {events_max} {round}");
                while queue.pop().is_some() {}
            }
        }
    }
}
