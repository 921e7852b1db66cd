//! The health checks that `chain.yaml` names, and what each looks at.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use apiwright_chain::spec::{ProbeSpec, Stage};
use apiwright_chain::{Drain, Health, Probe};
use apiwright_storage::{Error, Storage};

/// How far the start has come.
#[derive(Default)]
pub struct Progress {
    /// Whether roles and bindings have been read.
    pub is_synced: AtomicBool,
    /// Whether a signal has told us to stop.
    pub is_stopping: AtomicBool,
    stages: Mutex<Vec<Stage>>,
    hooks: Mutex<Vec<&'static str>>,
}

impl Progress {
    /// The start has come that far.
    pub fn reach(&self, stage: Stage) {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).push(stage);
    }

    /// A post-start hook has succeeded.
    pub fn finish(&self, hook: &'static str) {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).push(hook);
    }

    fn has_reached(&self, stage: Stage) -> bool {
        self.stages.lock().unwrap_or_else(PoisonError::into_inner).contains(&stage)
    }

    fn has_finished(&self, hook: &str) -> bool {
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).contains(&hook)
    }
}

/// The checks.
///
/// # Errors
/// When the spec names one that nobody knows.
pub fn health(
    specs: &'static [ProbeSpec],
    storage: &Arc<dyn Storage>,
    progress: &Arc<Progress>,
    drain: &Drain,
) -> Result<Health, String> {
    let health = Health::default();
    for spec in specs {
        let probes: Vec<Probe> = spec.asked_by.iter().filter_map(|name| Probe::of(name)).collect();
        let progress = Arc::clone(progress);
        if let Some(stage) = spec.after {
            health.add(spec.name, &probes, move || {
                if progress.has_reached(stage) { Ok(()) } else { Err("not finished".into()) }
            });
            continue;
        }
        match spec.name {
            "ping" | "log" => health.add(spec.name, &probes, || Ok(())),
            "etcd" | "etcd-readiness" => {
                let storage = Arc::clone(storage);
                let check = move || -> futures::future::BoxFuture<'static, Result<(), String>> {
                    let storage = Arc::clone(&storage);
                    Box::pin(async move {
                        match storage.health().await {
                            // Reads are served, and neither a restart nor other replicas make room.
                            Ok(()) | Err(Error::Full(_)) => Ok(()),
                            Err(why) => Err(why.to_string()),
                        }
                    })
                };
                health.add_async(spec.name, &probes, Arc::new(check));
            }
            "informer-sync" => health.add(spec.name, &probes, move || {
                let is_synced = progress.is_synced.load(Ordering::Acquire);
                if is_synced { Ok(()) } else { Err("roles and bindings have not been read".into()) }
            }),
            "shutdown" => {
                let drain = drain.clone();
                health.add(spec.name, &probes, move || {
                    let stops = drain.has_begun() || progress.is_stopping.load(Ordering::Acquire);
                    if stops { Err("process is shutting down".into()) } else { Ok(()) }
                });
            }
            name => match name.strip_prefix("poststarthook/") {
                Some(hook) => health.add(name, &probes, move || {
                    if progress.has_finished(hook) { Ok(()) } else { Err("not finished".into()) }
                }),
                None => return Err(format!("chain.yaml names the probe {name}, which nobody knows")),
            },
        }
    }
    Ok(health)
}
