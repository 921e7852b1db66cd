//! Keeps the APIServices of what this process serves.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use apiwright_controllers::{Cache, Next, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_registry::DeleteOptions;

use super::desired::{AUTOMANAGED, Desired as DesiredServices, Managed, Wanted};
use crate::generated::controllers::autoregister::{Controller, Current, Desired, Facts, Outcome, decide};

/// The controller.
pub(super) struct Autoregister {
    services: Cache,
    desired: Arc<DesiredServices>,
    /// Those that were there when the first one was looked at.
    at_start: OnceLock<HashSet<String>>,
    settled: Mutex<HashSet<String>>,
    writer: Writer,
}

impl Autoregister {
    pub(super) fn new(services: Cache, desired: Arc<DesiredServices>, writer: Writer) -> Self {
        Self { services, desired, at_start: OnceLock::new(), settled: Mutex::default(), writer }
    }

    fn settle(&self, name: &str) {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    fn is_settled(&self, name: &str) -> bool {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    fn was_at_start(&self, name: &str) -> bool {
        let names = || {
            let all = self.services.list();
            all.iter().map(|entry| self.services.store.facts(entry).name.to_string()).collect()
        };
        self.at_start.get_or_init(names).contains(name)
    }

    /// What came of a write; that somebody was faster is no fault: the change comes here, too.
    fn written<T>(&self, name: &str, outcome: Result<T>) -> Result<Next> {
        match outcome {
            Err(why)
                if !matches!(
                    why.reason,
                    Some(Reason::NotFound | Reason::Conflict | Reason::AlreadyExists)
                ) =>
            {
                Err(why)
            }
            _ => {
                self.settle(name);
                Ok(Next::Done)
            }
        }
    }
}

/// What there is, and what there should be.
pub(super) struct Observed {
    current: Option<Value>,
    wanted: Option<Wanted>,
}

impl Controller for Autoregister {
    type Observed = Observed;

    async fn observe(&self, key: &str) -> Result<(Facts, Observed)> {
        let present_at_start = self.was_at_start(key);
        let current = self.services.object("", key)?;
        let wanted = self.desired.get(key);
        let facts = Facts {
            desired: match wanted.as_ref().map(|wanted| wanted.managed) {
                None => Desired::Absent,
                Some(Managed::OnStart) => Desired::OnStart,
                Some(Managed::Continuously) => Desired::Continuous,
            },
            current: match current.as_ref().map(|current| object::label(current, AUTOMANAGED)) {
                None => Current::Absent,
                Some(Some("onstart")) => Current::OnStart,
                Some(Some("true")) => Current::Continuous,
                Some(_) => Current::Unmanaged,
            },
            settled: self.is_settled(key),
            present_at_start,
            spec_matches: match (&current, &wanted) {
                (Some(current), Some(wanted)) => current.get("spec") == Some(&wanted.spec()),
                _ => false,
            },
        };
        if decide(&facts) == Outcome::Nothing {
            self.settle(key);
        }
        Ok((facts, Observed { current, wanted }))
    }

    async fn create(&self, key: &str, observed: Observed) -> Result<Next> {
        let Some(wanted) = observed.wanted else { return Ok(Next::Done) };
        let created = self.writer.create(&self.services.store, "", wanted.object()).await;
        self.written(key, created)
    }

    async fn update(&self, key: &str, observed: Observed) -> Result<Next> {
        let (Some(wanted), Some(current)) = (observed.wanted, observed.current) else {
            return Ok(Next::Done);
        };
        let uid = object::uid(&current);
        let change = |service: &mut Value| {
            if object::uid(service) == uid
                && let Some(members) = service.as_object_mut()
            {
                members.insert("spec", wanted.spec());
            }
            Ok(())
        };
        let updated = self.writer.update(&self.services.store, ("", key), "", change).await;
        self.written(key, updated)
    }

    async fn delete(&self, key: &str, observed: Observed) -> Result<Next> {
        let Some(current) = observed.current else { return Ok(Next::Done) };
        let options =
            DeleteOptions { uid: Some(object::uid(&current).to_owned()), ..DeleteOptions::default() };
        let deleted = self.writer.delete(&self.services.store, ("", key), &options).await;
        self.written(key, deleted)
    }
}
