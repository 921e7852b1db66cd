//! Which servers serve, and that this one is among them.
//!
//! Servers over one store tell each other by entries under `/registry/masterleases/`, which expire by themselves and are
//! kube-apiserver's, so that both may run side by side. A store that one process has needs none.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use apiwright_controllers::{Next, Result};
use apiwright_json::{Object, Value};
use apiwright_meta::Status;
use apiwright_storage::{At, Change, Error, Expect, Outcome, Range, Storage};
use tokio::sync::watch;

use crate::generated::controllers::kubernetes_endpoints::{Lease, Server};

/// Where the leases are.
const PREFIX: &str = "/registry/masterleases/";
/// How long a lease lasts.
const TTL_SECONDS: u32 = 15;
/// How old a lease is when it is due.
const RENEW_AFTER: Duration = Duration::from_secs(10);
/// How long a server that stops tries to leave.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who counts as serving: `--endpoint-reconciler-type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Who holds a lease.
    Lease,
    /// Who says so, up to a number of servers: `--apiserver-count`.
    Count(usize),
}

/// This server among those that serve.
pub struct Membership {
    storage: Arc<dyn Storage>,
    /// Where this server is reached.
    address: IpAddr,
    /// The port there.
    pub(super) port: u16,
    rule: Rule,
    /// Whether others may be at work on the same storage.
    is_shared: bool,
    state: Mutex<State>,
    has_left: watch::Sender<bool>,
    /// Has the controller look.
    pub(super) poke: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

struct State {
    server: Server,
    renewed: Option<Instant>,
}

impl Membership {
    /// A server that starts.
    pub fn new(
        storage: Arc<dyn Storage>,
        (address, port): (IpAddr, u16),
        rule: Rule,
        is_shared: bool,
    ) -> Self {
        Self {
            storage,
            address,
            port,
            rule,
            is_shared,
            state: Mutex::new(State { server: Server::Starting, renewed: None }),
            has_left: watch::channel(false).0,
            poke: OnceLock::new(),
        }
    }

    /// From now on it serves.
    pub fn join(&self) {
        {
            let mut state = self.lock();
            // It may have been told to stop before it served.
            if state.server == Server::Starting {
                state.server = Server::Serving;
            }
        }
        self.look();
    }

    /// From now on it does not; returns when the others know, or after a while.
    pub async fn leave(&self) {
        let before = std::mem::replace(&mut self.lock().server, Server::Stopping);
        if before != Server::Serving {
            return;
        }
        self.look();
        let mut left = self.has_left.subscribe();
        let left = tokio::time::timeout(PATIENCE, left.wait_for(|left| *left)).await;
        if left.is_err() {
            tracing::warn!("this server's address stays among the endpoints: they cannot be written in time");
        }
    }

    /// It is no longer among them.
    pub(super) fn left(&self) {
        self.has_left.send_replace(true);
    }

    /// What it does.
    pub(super) fn server(&self) -> Server {
        self.lock().server
    }

    /// What there is of its lease.
    pub(super) async fn lease(&self) -> Result<Lease> {
        let (server, renewed) = {
            let state = self.lock();
            (state.server, state.renewed)
        };
        if !self.has_leases() {
            return Ok(if server == Server::Serving { Lease::Fresh } else { Lease::Absent });
        }
        let (_, entry) = self.storage.get(&self.key(), At::Latest).await.map_err(unavailable)?;
        Ok(match entry {
            None => Lease::Absent,
            Some(_) if renewed.is_some_and(|renewed| renewed.elapsed() < RENEW_AFTER) => Lease::Fresh,
            Some(_) => Lease::Due,
        })
    }

    /// When the lease has to be looked at again.
    pub(super) fn next_look(&self) -> Next {
        match self.lock().renewed {
            Some(renewed) if self.has_leases() => Next::After(RENEW_AFTER.saturating_sub(renewed.elapsed())),
            _ => Next::Done,
        }
    }

    /// The addresses of all that serve; `slice` is what was said so far.
    pub(super) async fn members(&self, slice: Option<&Value>) -> Result<BTreeSet<String>> {
        let own = self.address.to_string();
        let serves = self.server() == Server::Serving;
        let mut members = match self.rule {
            Rule::Lease if self.is_shared => return self.holders().await,
            Rule::Lease => BTreeSet::new(),
            Rule::Count(_) => addresses(slice),
        };
        if !serves {
            members.remove(&own);
            return Ok(members);
        }
        members.insert(own.clone());
        if let Rule::Count(count) = self.rule {
            trim(&mut members, &own, count);
        }
        Ok(members)
    }

    /// Whether nobody else serves.
    pub(super) fn alone(&self, members: &BTreeSet<String>) -> bool {
        members.iter().all(|one| *one == self.address.to_string())
    }

    /// Writes the lease.
    pub(super) async fn renew(&self) -> Result<()> {
        let key: Arc<str> = self.key().into();
        let (_, mut current) = self.storage.get(&key, At::Latest).await.map_err(unavailable)?;
        loop {
            // Counted as kube-apiserver does, to which a write that changes nothing is none.
            let generation = current.as_ref().map_or(0, |entry| generation(&entry.value)) + 1;
            let value = lease(self.address, generation);
            let expect = current.map_or(Expect::Absent, |entry| Expect::Revision(entry.mod_revision));
            let change = Change::Put { value: value.into(), ttl_seconds: Some(TTL_SECONDS) };
            let started = Instant::now();
            match self.storage.commit(Arc::clone(&key), expect, change).await.map_err(unavailable)? {
                Outcome::Done { .. } => {
                    self.lock().renewed = Some(started);
                    return Ok(());
                }
                Outcome::Mismatch { current: other, .. } => current = other,
            }
        }
    }

    /// Deletes the lease.
    pub(super) async fn resign(&self) -> Result<()> {
        let key: Arc<str> = self.key().into();
        let (_, mut current) = self.storage.get(&key, At::Latest).await.map_err(unavailable)?;
        while let Some(entry) = current {
            let expect = Expect::Revision(entry.mod_revision);
            let outcome = self.storage.commit(Arc::clone(&key), expect, Change::Delete).await;
            current = match outcome.map_err(unavailable)? {
                Outcome::Done { .. } => None,
                Outcome::Mismatch { current, .. } => current,
            };
        }
        Ok(())
    }

    /// Who holds leases: their keys end in addresses.
    async fn holders(&self) -> Result<BTreeSet<String>> {
        let range = Range { prefix: PREFIX, after: None, limit: 0, at: At::Latest };
        let page = self.storage.range(range).await.map_err(unavailable)?;
        let address = |key: &str| key.strip_prefix(PREFIX)?.parse::<IpAddr>().ok();
        Ok(page.entries.iter().filter_map(|entry| address(&entry.key)).map(|ip| ip.to_string()).collect())
    }

    fn has_leases(&self) -> bool {
        self.is_shared && self.rule == Rule::Lease
    }

    fn key(&self) -> String {
        format!("{PREFIX}{}", self.address)
    }

    fn look(&self) {
        if let Some(poke) = self.poke.get() {
            poke();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a storage's refusal means to a controller: it tries again.
pub(super) fn unavailable(why: Error) -> Box<Status> {
    Status::internal(why.to_string())
}

/// The addresses in a slice.
fn addresses(slice: Option<&Value>) -> BTreeSet<String> {
    let items = |of: Option<&Value>| of.and_then(Value::as_array).cloned().unwrap_or_default();
    let endpoints = items(slice.and_then(|slice| slice.get("endpoints")));
    let all = endpoints.iter().flat_map(|endpoint| items(endpoint.get("addresses")));
    all.filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

/// Takes those out that follow this server's address, around the end, until there are no more than `count`.
fn trim(members: &mut BTreeSet<String>, own: &str, count: usize) {
    while members.len() > count.max(1) {
        let next = members.iter().find(|one| one.as_str() > own).or_else(|| members.first()).cloned();
        let Some(next) = next.filter(|next| next != own) else { return };
        members.remove(&next);
    }
}

fn lease(address: IpAddr, generation: i64) -> Vec<u8> {
    let address = Object::from_iter([("ip", address.to_string())]);
    let subset = Object::from_iter([("addresses", vec![Value::from(address)])]);
    let mut lease = Object::from_iter([("kind", "Endpoints"), ("apiVersion", "v1")]);
    lease.push("metadata", Object::from_iter([("generation", generation)]));
    lease.push("subsets", vec![Value::from(subset)]);
    let mut out = Vec::new();
    apiwright_json::to_bytes(&lease.into(), &mut out);
    out
}

/// What a lease was counted; 0 where it is none of ours.
fn generation(lease: &[u8]) -> i64 {
    let Ok((lease, _)) = apiwright_json::decode(lease) else { return 0 };
    lease.at(&["metadata", "generation"]).and_then(Value::as_i64).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_are_counted() {
        for (members, own, count, expected) in [
            (&["1", "2", "3"][..], "1", 3, &["1", "2", "3"][..]),
            (&["1", "2", "3"], "1", 2, &["1", "3"]),
            (&["1", "2", "3"], "3", 2, &["2", "3"]),
            (&["1", "2", "3"], "2", 1, &["2"]),
            (&["1"], "1", 0, &["1"]),
        ] {
            let mut set: BTreeSet<String> = members.iter().map(|&one| one.to_owned()).collect();
            trim(&mut set, own, count);
            assert_eq!(
                set.iter().map(String::as_str).collect::<Vec<_>>(),
                expected,
                "{members:?} {own} {count}"
            );
        }
    }

    #[test]
    fn leases_are_counted() {
        let text = String::from_utf8(lease(IpAddr::from([192, 0, 2, 1]), 7)).unwrap();
        assert_eq!(
            text,
            r#"{"kind":"Endpoints","apiVersion":"v1","metadata":{"generation":7},"subsets":[{"addresses":[{"ip":"192.0.2.1"}]}]}"#
        );
        assert_eq!((generation(text.as_bytes()), generation(b"k8s\0...")), (7, 0));
    }
}
