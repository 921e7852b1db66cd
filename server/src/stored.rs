//! How much is stored, under upstream's names.

use std::fmt::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apiwright_chain::Drain;
use apiwright_filters::metrics::{Source, help};
use apiwright_registry::Store;
use apiwright_storage::{At, Range, Storage};

/// How often objects are counted, as kube-apiserver does it.
const INTERVAL: Duration = Duration::from_mins(1);

/// The objects of each resource when they were last counted, and the size of our own engine's files.
#[derive(Default)]
pub struct Stored {
    /// Group, plural and how many there are; none where they could not be counted.
    counts: Mutex<Vec<(String, String, Option<u64>)>>,
    directory: Option<PathBuf>,
}

impl Stored {
    /// Nothing counted yet; `directory` is where the engine's files are, if they are ours.
    pub fn new(directory: Option<PathBuf>) -> Self {
        Self { counts: Mutex::default(), directory }
    }

    /// Counts until the drain begins.
    pub async fn follow(self: Arc<Self>, stores: Vec<Arc<Store>>, mut drain: Drain) {
        let mut resources: Vec<(String, String, String, Arc<dyn Storage>)> = stores
            .iter()
            .map(|store| {
                let resource = &store.resource;
                let group = resource.storage.kind.group.to_string();
                (group, resource.plural.to_string(), store.key_prefix(""), Arc::clone(&store.storage))
            })
            .collect();
        resources.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
        resources.dedup_by(|a, b| a.2 == b.2);
        loop {
            let mut counts = Vec::with_capacity(resources.len());
            for (group, plural, prefix, storage) in &resources {
                let range = Range { prefix, after: None, limit: 1, at: At::NotOlderThan(0) };
                let page = storage.range(range).await;
                let count = page.map(|page| page.entries.len() as u64 + page.remaining).ok();
                counts.push((group.clone(), plural.clone(), count));
            }
            *self.counts.lock().unwrap_or_else(PoisonError::into_inner) = counts;
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = drain.begun() => return,
            }
        }
    }

    fn bytes(&self) -> Option<u64> {
        let entries = std::fs::read_dir(self.directory.as_ref()?).ok()?;
        Some(entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|metadata| metadata.len()).sum())
    }
}

impl Source for Stored {
    fn render(&self, out: &mut String) {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let shown = |count: Option<u64>| count.map_or_else(|| "-1".to_owned(), |count| count.to_string());
        let name = "apiserver_resource_objects";
        help(
            out,
            name,
            "gauge",
            "Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.",
        );
        for (group, plural, count) in &*counts {
            let _ = writeln!(out, "{name}{{group=\"{group}\",resource=\"{plural}\"}} {}", shown(*count));
        }
        let name = "apiserver_storage_objects";
        help(
            out,
            name,
            "gauge",
            "[DEPRECATED, consider using apiserver_resource_objects instead] Number of stored objects at the time of last check split by kind. In case of a fetching error, the value will be -1.",
        );
        for (group, plural, count) in &*counts {
            let dot = if group.is_empty() { "" } else { "." };
            let _ = writeln!(out, "{name}{{resource=\"{plural}{dot}{group}\"}} {}", shown(*count));
        }
        if let Some(bytes) = self.bytes() {
            let name = "apiserver_storage_size_bytes";
            help(out, name, "gauge", "Size of the storage database file physically allocated in bytes.");
            let _ = writeln!(out, "{name}{{storage_cluster_id=\"embedded\"}} {bytes}");
        }
    }
}
