//! What YAML cannot say about a resource: Rust that the strategy calls at fixed points.
//!
//! Every method has a default that does nothing; a resource's spec names the hook type that
//! overrides some. Hooks see decoded, normalised objects (see `apiwright_schema`): fields that a
//! Go struct would have are there.

use std::sync::{Arc, Mutex, PoisonError};

use apiwright_json::Value;
use apiwright_meta::time::{Time, human_duration};
use apiwright_meta::{ErrorList, status};

use crate::store::Writer;
/// Texts for Warning headers that hooks add while they validate, also of writes that fail.
#[derive(Clone, Debug, Default)]
pub struct Notes(Arc<Mutex<Vec<String>>>);

impl Notes {
    /// Adds a text.
    pub fn add(&self, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }

    /// Takes all texts out.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Who writes what, for hooks.
#[derive(Clone, Copy, Debug)]
pub struct WriteContext<'a> {
    /// The subresource that is written, empty for the object itself.
    pub subresource: &'a str,
    /// The writer.
    pub user: &'a Writer,
    /// Whether nothing will be stored.
    pub dry_run: bool,
    /// What the answer warns of, whether it succeeds or not.
    pub notes: &'a Notes,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// The same until the object changes.
    Fixed(Value),
    /// As it is at this moment.
    Now(Value),
    /// A text around the time since a moment, in short.
    Since {
        /// What comes before it.
        before: String,
        /// Since when.
        moment: Time,
        /// What comes after it.
        after: &'static str,
    },
}

impl Cell {
    /// What it shows at a moment.
    pub fn at(self, now: Time) -> Value {
        match self {
            Self::Fixed(value) | Self::Now(value) => value,
            Self::Since { before, moment, after } => {
                format!("{before}{}{after}", human_duration(now.since(moment))).into()
            }
        }
    }
}

/// The fixed points.
pub trait Hooks: Send + Sync + std::fmt::Debug + 'static {
    /// Computed defaults, after the static ones; on every decode of a request body.
    fn default(&self, _object: &mut Value) {}

    /// Before validation of a creation: sets what the server owns, drops what clients may not set.
    fn prepare_create(&self, _context: WriteContext<'_>, _object: &mut Value) {}

    /// Before validation of an update; `old` is what is stored.
    fn prepare_update(&self, _context: WriteContext<'_>, _object: &mut Value, _old: &Value) {}

    /// Faults of an object that is to be created, after those that the schema's rules found.
    fn validate_create(&self, _context: WriteContext<'_>, _object: &Value, _errors: &mut ErrorList) {}

    /// Faults of an update, after those that the schema's rules found.
    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        _object: &Value,
        _old: &Value,
        _errors: &mut ErrorList,
    ) {
    }

    /// Texts for Warning headers of a create (`old` is `None`) or update.
    fn warnings(&self, _object: &Value, _old: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    /// How a deletion of this object begins. A namespace says `Mark` and goes Terminating, and
    /// `Wait` until it is empty. Only changes to `object` that come with `Mark` are stored;
    /// deletionTimestamp and the garbage collector's finalizers are set by the store.
    fn begin_deletion(&self, _object: &mut Value) -> DeletionStep {
        DeletionStep::Delete
    }

    /// Whether an object that was deleted goes when its last finalizer does; a namespace does not
    /// while `spec.finalizers` holds it.
    fn may_vanish(&self, _object: &Value) -> bool {
        true
    }

    /// Whether dependents stay where a deletion does not say what becomes of them: so it was before
    /// there was a choice.
    fn orphans_by_default(&self) -> bool {
        false
    }

    /// What a deletion is warned of that does not say what becomes of dependents.
    fn deletion_warning(&self) -> Option<&'static str> {
        None
    }

    /// The grace period of a deletion, of kinds that have one; never negative.
    fn grace_period(&self, object: &Value, requested: Option<i64>) -> i64 {
        workload_grace_period(object, requested)
    }

    /// What [`Hooks::cell`] and [`Hooks::row_conditions`] look at, as dotted paths through lists: the rest of
    /// an object is left out of what they get. `None` where that is not known: then all of it is there, if
    /// any column is computed.
    fn cell_paths(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// A computed cell of the named column.
    fn cell(&self, _column: &str, _object: &Value) -> Value {
        Value::Null
    }

    /// All computed cells of an object, for hooks that have work in common for several or can say which of them
    /// stay as they are.
    fn cells(&self, columns: &[&str], object: &Value) -> Vec<Cell> {
        columns.iter().map(|column| Cell::Now(self.cell(column, object))).collect()
    }

    /// What every answer about such objects warns of, where the version is on its way out:
    /// `v1 ComponentStatus is deprecated in v1.19+`.
    fn deprecation(&self) -> Option<&str> {
        None
    }

    /// The `conditions` of a table's row, a list; null where there are none.
    fn row_conditions(&self, _object: &Value) -> Value {
        Value::Null
    }

    /// From this version to the stored one.
    ///
    /// # Errors
    /// When the object cannot be expressed there.
    fn to_stored(&self, _object: &mut Value) -> status::Result<()> {
        Ok(())
    }

    /// From the stored version to this one.
    ///
    /// # Errors
    /// When the object cannot be expressed here.
    #[allow(
        clippy::wrong_self_convention,
        reason = "a hook is asked; the object is what comes from the store"
    )]
    fn from_stored(&self, _object: &mut Value) -> status::Result<()> {
        Ok(())
    }
}

/// How a deletion begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionStep {
    /// By the rules for all kinds.
    Delete,
    /// The object is stored as the hook left it, and answered.
    Mark,
    /// The object is answered as it is.
    Wait,
}

/// What runs on a node has its own grace period, or the one that is asked for; what does not run
/// (any more) has none.
fn workload_grace_period(object: &Value, requested: Option<i64>) -> i64 {
    let own = || object.at(&["spec", "terminationGracePeriodSeconds"]).and_then(Value::as_i64);
    let ended = matches!(object.text_at(&["status", "phase"]), "Succeeded" | "Failed");
    if ended || object.text_at(&["spec", "nodeName"]).is_empty() {
        return 0;
    }
    match requested.or_else(own).unwrap_or_default() {
        seconds if seconds < 0 => 1,
        seconds => seconds,
    }
}

/// A resource without hooks.
#[derive(Debug)]
pub struct NoHooks;

impl Hooks for NoHooks {}
