//! The faults of an object, said in upstream's order.
//!
//! The schema's words are checked before hooks run, field by field; upstream checks them amidst
//! everything else. So a hook takes what the words found and says it where upstream does.
//! Invariant: nothing is lost that is not dropped by name; what nobody placed is said last.

use std::ops::{Deref, DerefMut};

use apiwright_meta::field::Error;
use apiwright_meta::{ErrorList, Path};

/// A list of faults that is being written, and those that wait for their place in it.
pub struct Faults<'a> {
    said: &'a mut ErrorList,
    declared: Vec<Error>,
}

impl<'a> Faults<'a> {
    /// Takes the faults at and below a path out of a list, to say them again.
    pub fn take(errors: &'a mut ErrorList, path: &Path) -> Self {
        let (declared, before) =
            std::mem::take(&mut errors.0).into_iter().partition(|error| is_at_or_below(&error.path, path));
        errors.0 = before;
        Self { said: errors, declared }
    }

    /// Says what the words found at a path.
    pub fn declared(&mut self, path: &Path) {
        if !self.declared.is_empty() {
            self.say(|one| one == path);
        }
    }

    /// Says what the words found at a path and below.
    pub fn declared_below(&mut self, path: &Path) {
        if !self.declared.is_empty() {
            self.say(|one| is_at_or_below(one, path));
        }
    }

    /// Whether the words found something at a path.
    pub fn is_declared(&self, path: &Path) -> bool {
        self.declared.iter().any(|error| error.path == *path)
    }

    /// Forgets what the words found at a path and below: upstream stops before it looks there.
    pub fn drop_below(&mut self, path: &Path) {
        self.declared.retain(|error| !is_at_or_below(&error.path, path));
    }

    fn say(&mut self, is_wanted: impl Fn(&Path) -> bool) {
        let (wanted, others) =
            std::mem::take(&mut self.declared).into_iter().partition(|error| is_wanted(&error.path));
        self.declared = others;
        self.said.append(ErrorList(wanted));
    }
}

impl Deref for Faults<'_> {
    type Target = ErrorList;

    fn deref(&self) -> &ErrorList {
        self.said
    }
}

impl DerefMut for Faults<'_> {
    fn deref_mut(&mut self) -> &mut ErrorList {
        self.said
    }
}

impl Drop for Faults<'_> {
    fn drop(&mut self) {
        self.said.0.append(&mut self.declared);
    }
}

fn is_at_or_below(path: &Path, root: &Path) -> bool {
    let rest = path.as_str().strip_prefix(root.as_str());
    rest.is_some_and(|rest| root.as_str().is_empty() || rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_faults_are_said_in_their_place() {
        let mut errors = ErrorList::new();
        for path in ["metadata.name", "spec.a", "spec.b[0].c", "spec.bc", "spec.d"] {
            errors.required(Path::new(path), "");
        }
        let mut faults = Faults::take(&mut errors, &Path::new("spec"));
        assert!(faults.is_declared(&Path::new("spec.a")));
        faults.declared_below(&Path::new("spec.b"));
        faults.forbidden(Path::new("spec.x"), "");
        faults.declared(&Path::new("spec.a"));
        drop(faults);
        let order: Vec<&str> = errors.0.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(order, ["metadata.name", "spec.b[0].c", "spec.x", "spec.a", "spec.bc", "spec.d"]);
    }
}
