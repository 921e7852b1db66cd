//! Reads that want some entries of a range only.

use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;

use crate::{At, Entry, Page, Range, Result, Storage};

/// How many entries a step over a range reads at most, however few of them are wanted.
const STEP_MAX: usize = 10_000;

/// What a layer above tells entries apart by, pods by their node: an engine may keep an index of it.
pub trait Facet: Debug + Send + Sync {
    /// Equal for facets that say the same of every entry.
    fn id(&self) -> u64;

    /// Which entries have it: those below this prefix.
    fn prefix(&self) -> &str;

    /// What it is of an entry; the same whenever it is asked.
    fn value<'a>(&self, entry: &'a Entry) -> Cow<'a, str>;
}

/// The entries with one value of a facet.
#[derive(Clone, Debug)]
pub struct Only {
    /// What tells them apart.
    pub facet: Arc<dyn Facet>,
    /// What it is of these.
    pub value: Arc<str>,
}

/// Which entries a reader wants.
pub trait Select: Send + Sync {
    /// Whether this is one of them.
    fn wants(&self, entry: &Arc<Entry>) -> bool;

    /// What all of them have in common, for engines with an index.
    fn only(&self) -> Option<&Only> {
        None
    }
}

impl Only {
    /// Whether an entry is one of them.
    pub fn includes(&self, entry: &Entry) -> bool {
        entry.key.starts_with(self.facet.prefix()) && *self.facet.value(entry) == *self.value
    }
}

/// What is wanted of a range, read step by step. Steps grow, so that few among many do not cost a step each.
pub(crate) async fn by_range<S: Storage + ?Sized>(
    storage: &S,
    range: Range<'_>,
    wanted: &dyn Select,
) -> Result<Page> {
    let Range { limit, mut at, .. } = range;
    let mut after = range.after.map(Arc::from);
    let mut step = limit;
    let mut entries = Vec::new();
    loop {
        let page = storage.range(Range { after: after.as_deref(), limit: step, at, ..range }).await?;
        at = At::Revision(page.revision);
        let mut remaining = page.remaining + page.entries.len() as u64;
        for entry in page.entries {
            if limit > 0 && entries.len() >= limit {
                break;
            }
            remaining -= 1;
            after = Some(entry.key.clone());
            if wanted.wants(&entry) {
                entries.push(entry);
            }
        }
        if remaining == 0 || (limit > 0 && entries.len() >= limit) {
            return Ok(Page { revision: page.revision, entries, remaining });
        }
        step = (step * 2).min(STEP_MAX);
    }
}
