//! What plugins that mutate remember between their first and their second turn with one request.
//!
//! Where a webhook or a policy has changed the object, all plugins get a second turn, and there is
//! no third. What was called before and is to be called again whenever others change the object
//! (`reinvocationPolicy: IfNeeded`) is called again then.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use apiwright_json::Value;

/// The turns of one request.
#[derive(Debug, Default)]
pub struct Reinvocation(Mutex<Turns>);

#[derive(Debug, Default)]
struct Turns {
    second: bool,
    wanted: bool,
    plugins: Vec<(&'static str, Memory)>,
}

/// What one plugin remembers.
#[derive(Debug, Default)]
struct Memory {
    /// The object as the plugin left it.
    left: Option<Value>,
    /// Called already, to be called again if others change the object.
    called: HashSet<String>,
    /// To be called again.
    again: HashSet<String>,
}

impl Reinvocation {
    /// Whether this is the second turn.
    pub fn is_second(&self) -> bool {
        self.turns().second
    }

    /// Begins the second turn, if a plugin wants it and it was not had.
    pub fn begin_second(&self) -> bool {
        let mut turns = self.turns();
        let begins = turns.wanted && !turns.second;
        turns.second |= begins;
        begins
    }

    /// Tells that a plugin has its turn with the object. In the second one, whoever it called before
    /// is called again if the object was changed meanwhile.
    pub fn begin(&self, plugin: &'static str, object: Option<&Value>) {
        let mut turns = self.turns();
        let second = turns.second;
        if let Some(memory) = turns.find(plugin).filter(|memory| second && memory.left.as_ref() != object) {
            memory.require();
        }
    }

    /// Whether one of a plugin's webhooks or policies is to be called in this turn.
    pub fn calls(&self, plugin: &'static str, id: &str) -> bool {
        let mut turns = self.turns();
        !turns.second || turns.find(plugin).is_some_and(|memory| memory.again.contains(id))
    }

    /// Tells that a plugin has called one of its webhooks or policies, which has or has not changed the
    /// object and is or is not to be called `again` where others do.
    pub fn called(&self, plugin: &'static str, id: &str, changed: bool, again: bool) {
        let mut turns = self.turns();
        turns.wanted |= changed;
        let memory = turns.of(plugin);
        if changed {
            memory.require();
        }
        if again {
            memory.called.insert(id.to_owned());
        }
    }

    /// Tells how a plugin that called anything leaves the object.
    pub fn end(&self, plugin: &'static str, object: Option<&Value>) {
        self.turns().of(plugin).left = object.cloned();
    }

    fn turns(&self) -> std::sync::MutexGuard<'_, Turns> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turns {
    fn find(&mut self, plugin: &'static str) -> Option<&mut Memory> {
        self.plugins.iter_mut().find(|(name, _)| *name == plugin).map(|(_, memory)| memory)
    }

    fn of(&mut self, plugin: &'static str) -> &mut Memory {
        let at = self.plugins.iter().position(|(name, _)| *name == plugin).unwrap_or_else(|| {
            self.plugins.push((plugin, Memory::default()));
            self.plugins.len() - 1
        });
        &mut self.plugins[at].1
    }
}

impl Memory {
    /// Whoever was called is called again.
    fn require(&mut self) {
        self.again.extend(self.called.drain());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_called_again() {
        const PLUGIN: &str = "Webhooks";
        let object = |text: &str| Value::from(text);
        // Three are called; the first and the last want to know of changes; `changed` says who makes one.
        for (name, changed, between, want) in [
            ("nothing changes", [false; 3], "left", None),
            ("the first's own change does not concern it", [true, false, false], "left", Some([false; 3])),
            ("a later change", [false, true, false], "left", Some([true, false, false])),
            ("the last one's change", [false, false, true], "left", Some([true, false, false])),
            ("others change the object afterwards", [true, false, false], "other", Some([true, false, true])),
        ] {
            let turns = Reinvocation::default();
            turns.begin(PLUGIN, Some(&object("came")));
            for (at, changed) in changed.into_iter().enumerate() {
                assert!(turns.calls(PLUGIN, &at.to_string()), "{name}");
                turns.called(PLUGIN, &at.to_string(), changed, at != 1);
            }
            turns.end(PLUGIN, Some(&object("left")));
            let second = turns.begin_second();
            turns.begin(PLUGIN, Some(&object(between)));
            let again = second.then(|| [0, 1, 2].map(|at| turns.calls(PLUGIN, &at.to_string())));
            assert_eq!(again, want, "{name}");
            assert!(!turns.begin_second(), "{name}: there is no third turn");
        }
    }
}
