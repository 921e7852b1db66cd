//! Encryption at rest, as `--encryption-provider-config` has it.

use std::collections::HashMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use apiwright_cache::{self as cache, Cached};
use apiwright_chain::{Drain, Health, Probe};
use apiwright_encryption::{Configuration, Encrypted, GroupResource, ResourceOf, Transformers};
use apiwright_filters::metrics::{Source, help};
use apiwright_registry::catalogue::Catalogue;
use apiwright_storage::{Error, Storage};
use tracing::{info, warn};

use crate::flags::Flags;

/// How often the file is looked at.
const RELOAD_INTERVAL: Duration = Duration::from_secs(10);
/// How long the start waits before it asks again for what plugins do not open yet.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// What seals, where the flags ask for it.
///
/// # Errors
/// One line about what is wrong.
pub async fn transformers(flags: &Flags) -> Result<Option<Transformers>, String> {
    let encryption = &flags.encryption;
    let Some(path) = &encryption.encryption_provider_config else {
        if encryption.encryption_provider_config_automatic_reload {
            return Err(
                "--encryption-provider-config-automatic-reload must be set only when --encryption-provider-config is set"
                    .into(),
            );
        }
        return Ok(None);
    };
    let read = read(path).await;
    read.map(Some).map_err(|why| format!("--encryption-provider-config={}: {why}", path.display()))
}

async fn read(path: &Path) -> Result<Transformers, String> {
    let text = fs::read(path).map_err(|why| why.to_string())?;
    Configuration::read(&text)?.transformers().await
}

/// The resource of a key, as the catalogue lays them: what is neither a kind's nor a custom resource's has none.
pub fn resource_of(catalogue: &'static Catalogue) -> ResourceOf {
    let mut known: HashMap<String, GroupResource> = HashMap::new();
    for version in catalogue.groups.iter().flat_map(|group| group.versions.iter()) {
        for resource in version.shared() {
            let stored = &resource.storage;
            let of =
                GroupResource { group: stored.kind.group.to_string(), resource: resource.plural.to_string() };
            known.insert(stored.prefix.to_string(), of);
        }
    }
    Arc::new(move |key| {
        let path = key.strip_prefix("/registry/")?;
        let mut parts = path.splitn(3, '/');
        let (first, second) = (parts.next()?, parts.next()?);
        if let Some(found) = known.get(first).or_else(|| known.get(&path[..first.len() + 1 + second.len()])) {
            return Some(found.clone());
        }
        let is_custom = first.contains('.') && parts.next().is_some();
        is_custom.then(|| GroupResource { group: first.to_owned(), resource: second.to_owned() })
    })
}

/// A cache of what is opened, so that each value is opened once. Where plugins do not answer yet, this waits for them.
///
/// # Errors
/// When the engine cannot be read.
pub async fn cached(engine: Arc<dyn Storage>, may_wait: bool) -> Result<Arc<dyn Storage>, String> {
    loop {
        match Cached::open(Arc::clone(&engine), cache::Options::default()).await {
            Ok(cached) => return Ok(Arc::new(cached)),
            Err(Error::Unavailable(why)) if may_wait => {
                warn!(%why, "what is stored cannot be decrypted yet");
                tokio::time::sleep(RETRY_INTERVAL).await;
            }
            Err(why) => return Err(format!("cannot read what is stored: {why}")),
        }
    }
}

/// Adds the health check of plugins where upstream has it.
pub fn add_check(health: &Health, encrypted: &Arc<Encrypted>, flags: &Flags) {
    let reloads = flags.encryption.encryption_provider_config_automatic_reload;
    if !reloads && !encrypted.transformers().has_plugins() {
        return;
    }
    let encrypted = Arc::clone(encrypted);
    let run = move || -> futures::future::BoxFuture<'static, Result<(), String>> {
        let encrypted = Arc::clone(&encrypted);
        Box::pin(async move { encrypted.transformers().check().await })
    };
    health.add_async("kms-providers", &Probe::ALL, Arc::new(run));
}

/// How often the file was read again.
#[derive(Default)]
pub struct Reloads {
    succeeded: AtomicU64,
    failed: AtomicU64,
    succeeded_at: AtomicU64,
    failed_at: AtomicU64,
}

impl Reloads {
    fn count(&self, well: bool) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let (count, at) =
            if well { (&self.succeeded, &self.succeeded_at) } else { (&self.failed, &self.failed_at) };
        count.fetch_add(1, Ordering::Relaxed);
        at.store(now, Ordering::Relaxed);
    }
}

impl Source for Reloads {
    fn render(&self, out: &mut String) {
        let total = "apiserver_encryption_config_controller_automatic_reloads_total";
        let at = "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds";
        let figures =
            [("failure", &self.failed, &self.failed_at), ("success", &self.succeeded, &self.succeeded_at)];
        help(
            out,
            total,
            "counter",
            "How often the encryption configuration was read again, by how that ended.",
        );
        for (status, count, _) in figures {
            let _ = writeln!(out, "{total}{{status=\"{status}\"}} {}", count.load(Ordering::Relaxed));
        }
        help(out, at, "gauge", "When the encryption configuration was read again last, by how that ended.");
        for (status, count, at_seconds) in figures {
            if count.load(Ordering::Relaxed) > 0 {
                let _ = writeln!(out, "{at}{{status=\"{status}\"}} {}", at_seconds.load(Ordering::Relaxed));
            }
        }
    }
}

/// Takes a changed file until the drain begins. One that cannot be used leaves everything as it was.
pub async fn follow(encrypted: Arc<Encrypted>, flags: Flags, reloads: Arc<Reloads>, mut drain: Drain) {
    let Some(path) = &flags.encryption.encryption_provider_config else { return };
    let mut seen = fs::read(path).ok();
    loop {
        tokio::select! {
            () = tokio::time::sleep(RELOAD_INTERVAL) => {}
            () = drain.begun() => return,
        }
        let now = fs::read(path).ok();
        if now == seen {
            continue;
        }
        seen = now;
        let taken = match read(path).await {
            Ok(transformers) => encrypted.replace(transformers).await.map_err(|why| why.to_string()),
            Err(why) => Err(why),
        };
        reloads.count(taken.is_ok());
        match taken {
            Ok(()) => info!(file = %path.display(), "the encryption configuration is reloaded"),
            Err(why) => {
                warn!(file = %path.display(), %why, "a changed encryption configuration is not taken");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generated::catalogue;

    #[test]
    fn keys_tell_their_resources() {
        let resource_of = resource_of(catalogue());
        for (key, expected) in [
            ("/registry/secrets/ns/a", Some("secrets")),
            ("/registry/minions/n", Some("nodes")),
            ("/registry/services/specs/ns/a", Some("services")),
            ("/registry/deployments/ns/a", Some("deployments.apps")),
            ("/registry/events/ns/a", Some("events")),
            ("/registry/apiregistration.k8s.io/apiservices/v1.", Some("apiservices.apiregistration.k8s.io")),
            ("/registry/example.com/things/ns/a", Some("things.example.com")),
            ("/registry/ranges/serviceips", None),
            ("/registry/health", None),
            ("compact_rev_key", None),
        ] {
            assert_eq!(resource_of(key).map(|of| of.to_string()).as_deref(), expected, "{key}");
        }
    }
}
