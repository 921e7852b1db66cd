//! What plugins note for the audit of a request.

use std::sync::{Mutex, PoisonError};

use apiwright_meta::names;

/// The notes of one request. Where nobody audits it, none are made.
#[derive(Debug, Default)]
pub struct Annotations {
    wanted: Wanted,
    notes: Mutex<Vec<(String, String)>>,
}

/// How much the audit wants to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Wanted {
    /// Nothing.
    #[default]
    Nothing,
    /// What does not tell what is in the object.
    Metadata,
    /// That, too.
    Objects,
}

impl Annotations {
    /// None yet.
    pub fn new(wanted: Wanted) -> Self {
        Self { wanted, notes: Mutex::default() }
    }

    /// How much is wanted: nothing else need be found out.
    pub fn wanted(&self) -> Wanted {
        self.wanted
    }

    /// Adds a note, `prefix/name`, if there is none of that key and the key is one.
    pub fn add(&self, key: impl Into<String>, value: impl FnOnce() -> String) {
        if self.wanted == Wanted::Nothing {
            return;
        }
        let key = key.into();
        if key.matches('/').count() != 1 || !names::qualified_name(&key).is_empty() {
            tracing::warn!(key, "an audit annotation has no proper key");
            return;
        }
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.iter().all(|(known, _)| *known != key) {
            notes.push((key, value()));
        }
    }

    /// Takes all notes out.
    pub fn take(&self) -> Vec<(String, String)> {
        std::mem::take(&mut self.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_note_of_a_key_stays() {
        for (wanted, expected) in [(Wanted::Nothing, 0), (Wanted::Metadata, 1), (Wanted::Objects, 1)] {
            let annotations = Annotations::new(wanted);
            for (key, value) in [("a.b/c", "1"), ("a.b/c", "2"), ("c", "3"), ("a.b/c/d", "4"), ("a b/c", "5")]
            {
                annotations.add(key, || value.to_owned());
            }
            let notes = annotations.take();
            assert_eq!(notes.len(), expected);
            assert!(notes.iter().all(|(key, value)| key == "a.b/c" && value == "1"));
        }
    }
}
