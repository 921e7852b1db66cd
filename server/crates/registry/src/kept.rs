//! Other forms of stored objects, kept with them while there is room.
//!
//! Position: in the annex of an entry, beside its facts. A form is made when somebody asks for it, and is gone with
//! its entry at the latest.
//! Invariant: all forms of all objects together take about [`BYTES_MAX`] at most; the oldest make room.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use parking_lot::Mutex;

/// Room for the forms of some ten thousand pods.
const BYTES_MAX: usize = 64 << 20;
/// What a form costs beside its bytes.
const OVERHEAD_BYTES: usize = 160;

static KEPT: Kept = Kept::new(BYTES_MAX);

/// Where an entry keeps one form of itself.
#[derive(Debug, Default)]
pub(crate) struct Slot(OnceLock<Arc<Form>>);

/// The forms that there are.
#[derive(Debug)]
struct Kept {
    bytes_max: usize,
    bytes: AtomicUsize,
    count: AtomicUsize,
    /// The oldest first; some of them may be gone.
    order: Mutex<VecDeque<Weak<Form>>>,
}

#[derive(Debug)]
struct Form {
    kept: &'static Kept,
    held: Mutex<Option<Held>>,
}

#[derive(Debug)]
struct Held {
    /// What kind of form it is, where a slot may have several.
    kind: u64,
    bytes: Bytes,
}

impl Slot {
    /// The form, if it is there and of this kind.
    pub(crate) fn get(&self, kind: u64) -> Option<Bytes> {
        let held = self.0.get()?.held.lock();
        held.as_ref().filter(|held| held.kind == kind).map(|held| held.bytes.clone())
    }

    /// Keeps a form.
    pub(crate) fn put(&self, kind: u64, bytes: Bytes) {
        self.put_in(&KEPT, kind, bytes);
    }

    fn put_in(&self, kept: &'static Kept, kind: u64, bytes: Bytes) {
        let form = self.0.get_or_init(|| Arc::new(Form { kept, held: Mutex::new(None) }));
        kept.add(bytes.len());
        let replaced = form.held.lock().replace(Held { kind, bytes });
        match replaced {
            // It has its place already.
            Some(replaced) => kept.subtract(replaced.bytes.len()),
            None => kept.order.lock().push_back(Arc::downgrade(form)),
        }
        kept.make_room();
    }
}

impl Kept {
    const fn new(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            bytes: AtomicUsize::new(0),
            count: AtomicUsize::new(0),
            order: Mutex::new(VecDeque::new()),
        }
    }

    fn add(&self, bytes: usize) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes + OVERHEAD_BYTES, Ordering::Relaxed);
    }

    fn subtract(&self, bytes: usize) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes + OVERHEAD_BYTES, Ordering::Relaxed);
    }

    fn make_room(&self) {
        let mut order = self.order.lock();
        while self.bytes.load(Ordering::Relaxed) > self.bytes_max {
            let Some(oldest) = order.pop_front() else { break };
            if let Some(form) = oldest.upgrade() {
                form.give_up();
            }
        }
        // Those that went with their entries leave places behind.
        if order.len() > 1024 + 2 * self.count.load(Ordering::Relaxed) {
            order.retain(|form| form.strong_count() > 0);
        }
    }
}

impl Form {
    fn give_up(&self) {
        if let Some(held) = self.held.lock().take() {
            self.kept.subtract(held.bytes.len());
        }
    }
}

impl Drop for Form {
    fn drop(&mut self) {
        self.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static SMALL: Kept = Kept::new(10 * (100 + OVERHEAD_BYTES));

    #[test]
    fn the_oldest_make_room() {
        let slots: Vec<Slot> = (0..25).map(|_| Slot::default()).collect();
        for slot in &slots {
            slot.put_in(&SMALL, 1, vec![0; 100].into());
        }
        let there = |slots: &[Slot]| slots.iter().filter(|slot| slot.get(1).is_some()).count();
        assert_eq!((there(&slots[..15]), there(&slots[15..])), (0, 10));
        assert!(slots[20].get(2).is_none());
        // One that was given up comes back, and one that is replaced takes its place only once.
        for _ in 0..3 {
            slots[0].put_in(&SMALL, 2, vec![0; 100].into());
        }
        assert!(slots[0].get(2).is_some());
        assert_eq!(there(&slots), 9);
        drop(slots);
        assert_eq!((SMALL.bytes.load(Ordering::Relaxed), SMALL.count.load(Ordering::Relaxed)), (0, 0));
        for _ in 0..5000 {
            Slot::default().put_in(&SMALL, 1, Bytes::new());
        }
        assert!(SMALL.order.lock().len() <= 1025);
    }
}
