//! Keeping the view: read once, then every change as storage tells it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::Drain;
use apiwright_json::{Value, decode};
use apiwright_storage::{At, Error, Event, Range, Revision, Storage, Watch};
use futures::StreamExt;
use tracing::{error, warn};

use super::Rbac;
use super::index::Place;

/// The four kinds of objects that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Kind {
    Role,
    ClusterRole,
    RoleBinding,
    ClusterRoleBinding,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Role, Self::ClusterRole, Self::RoleBinding, Self::ClusterRoleBinding];

    fn prefix(self) -> &'static str {
        match self {
            Self::Role => "/registry/roles/",
            Self::ClusterRole => "/registry/clusterroles/",
            Self::RoleBinding => "/registry/rolebindings/",
            Self::ClusterRoleBinding => "/registry/clusterrolebindings/",
        }
    }

    fn is_namespaced(self) -> bool {
        matches!(self, Self::Role | Self::RoleBinding)
    }

    fn place(self, key: &str) -> Option<Place> {
        if self.is_namespaced() {
            key.split_once('/').map(|(namespace, name)| (namespace.into(), name.into()))
        } else {
            Some(("".into(), key.into()))
        }
    }
}

impl Rbac {
    /// Reads all roles and bindings.
    ///
    /// # Errors
    /// When storage cannot be read.
    pub async fn load(&self, storage: &dyn Storage) -> Result<Loaded, Error> {
        let mut loaded = Loaded([0; 4]);
        for (kind, revision) in Kind::ALL.into_iter().zip(&mut loaded.0) {
            *revision = self.load_kind(storage, kind).await?;
        }
        Ok(loaded)
    }

    /// Follows storage from where [`Rbac::load`] read it until the drain begins.
    pub async fn follow(self: Arc<Self>, storage: Arc<dyn Storage>, from: Loaded, drain: Drain) {
        let kinds = Kind::ALL.into_iter().zip(from.0);
        let all = kinds.map(|(kind, revision)| self.follow_kind(storage.as_ref(), kind, revision));
        let mut drain = drain;
        tokio::select! {
            _ = futures::future::join_all(all) => {}
            () = drain.begun() => {}
        }
    }

    /// Takes one object in, or out; the key is relative to the kind's.
    pub fn apply(&self, kind: Kind, key: &str, value: Option<&[u8]>) {
        let Some(place) = kind.place(key) else { return };
        let object = value.and_then(|json| match decode(json) {
            Ok((object, _)) => Some(object),
            Err(why) => {
                error!(?kind, key, %why, "cannot read an object; it grants nothing");
                None
            }
        });
        self.set(kind, place, object.as_ref());
    }

    fn set(&self, kind: Kind, place: Place, object: Option<&Value>) {
        let mut index = self.write();
        match kind {
            Kind::Role | Kind::ClusterRole => index.set_role(place, object),
            Kind::RoleBinding | Kind::ClusterRoleBinding => index.set_binding(place, object),
        }
    }

    async fn load_kind(&self, storage: &dyn Storage, kind: Kind) -> Result<Revision, Error> {
        let page =
            storage.range(Range { prefix: kind.prefix(), after: None, limit: 0, at: At::Latest }).await?;
        let mut there = HashSet::new();
        for entry in &page.entries {
            let key = entry.key.strip_prefix(kind.prefix()).unwrap_or_default();
            self.apply(kind, key, Some(&entry.value));
            there.extend(kind.place(key));
        }
        let mut index = self.write();
        let keep = |namespace: &str, name: &str| {
            namespace.is_empty() == kind.is_namespaced() || there.contains(&(namespace.into(), name.into()))
        };
        match kind {
            Kind::Role | Kind::ClusterRole => index.retain_roles(keep),
            Kind::RoleBinding | Kind::ClusterRoleBinding => index.retain_bindings(keep),
        }
        Ok(page.revision)
    }

    async fn follow_kind(&self, storage: &dyn Storage, kind: Kind, mut revision: Revision) {
        loop {
            match storage.watch(kind.prefix(), revision).await {
                Ok(watch) => revision = self.drain_watch(kind, watch, revision).await,
                Err(Error::Compacted { .. }) => match self.load_kind(storage, kind).await {
                    Ok(loaded) => revision = loaded,
                    Err(why) => warn!(?kind, %why, "cannot read"),
                },
                Err(why) => warn!(?kind, %why, "cannot watch"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Applies events until the watch ends; gives the revision to go on from, 0 to start over.
    async fn drain_watch(&self, kind: Kind, mut watch: Watch, mut revision: Revision) -> Revision {
        while let Some(event) = watch.next().await {
            let event = match event {
                Ok(event) => event,
                Err(Error::Compacted { .. }) => return revision,
                Err(why) => {
                    warn!(?kind, %why, "a watch ended");
                    return revision;
                }
            };
            revision = event.revision();
            let (key, value) = match &event {
                Event::Put { entry, .. } => (&entry.key, Some(entry.value.as_ref())),
                Event::Delete { previous, .. } => (&previous.key, None),
                Event::Progress(_) => continue,
            };
            self.apply(kind, key.strip_prefix(kind.prefix()).unwrap_or_default(), value);
        }
        revision
    }
}

/// The revisions up to which each kind is known.
#[derive(Clone, Copy, Debug)]
pub struct Loaded([Revision; 4]);

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_chain::{Decision, RequestInfo, User};
    use apiwright_storage::{Change, Expect};
    use apiwright_storage_embedded::{Embedded, Options};

    const ROLE: &str = r#"{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}]}"#;
    const BINDING: &str =
        r#"{"roleRef":{"kind":"Role","name":"r"},"subjects":[{"kind":"User","name":"alice"}]}"#;

    async fn commit(
        storage: &dyn Storage,
        key: &str,
        expect: Expect,
        value: Option<&'static str>,
    ) -> Revision {
        let change =
            value.map_or(Change::Delete, |value| Change::Put { value: value.into(), ttl_seconds: None });
        match storage.commit(key.into(), expect, change).await.unwrap() {
            apiwright_storage::Outcome::Done { revision, .. } => revision,
            other @ apiwright_storage::Outcome::Mismatch { .. } => panic!("{other:?}"),
        }
    }

    async fn until(rbac: &Rbac, expected: bool) {
        let user = User { name: "alice".into(), ..User::default() };
        let what = RequestInfo::parse(&http::Method::GET, "/api/v1/namespaces/ns/pods", "").unwrap();
        for _ in 0..200 {
            if matches!(rbac.decide(&user, &what), Decision::Allow(_)) == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it is not {expected}");
    }

    #[tokio::test]
    async fn the_view_follows_storage() {
        let storage: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
        let role = commit(storage.as_ref(), "/registry/roles/ns/r", Expect::Absent, Some(ROLE)).await;
        let rbac = Arc::new(Rbac::default());
        let loaded = rbac.load(storage.as_ref()).await.unwrap();
        let (drainer, drain) = apiwright_chain::drain();
        let following = tokio::spawn(Arc::clone(&rbac).follow(Arc::clone(&storage), loaded, drain));
        until(&rbac, false).await;
        let binding =
            commit(storage.as_ref(), "/registry/rolebindings/ns/b", Expect::Absent, Some(BINDING)).await;
        until(&rbac, true).await;
        commit(storage.as_ref(), "/registry/roles/ns/r", Expect::Revision(role), None).await;
        until(&rbac, false).await;
        commit(storage.as_ref(), "/registry/roles/ns/r", Expect::Absent, Some(ROLE)).await;
        until(&rbac, true).await;
        commit(storage.as_ref(), "/registry/rolebindings/ns/b", Expect::Revision(binding), None).await;
        until(&rbac, false).await;
        drainer.begin();
        following.await.unwrap();
    }

    #[tokio::test]
    async fn reading_anew_forgets_what_is_gone() {
        let storage: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
        let rbac = Rbac::default();
        rbac.apply(Kind::Role, "ns/r", Some(ROLE.as_bytes()));
        rbac.apply(Kind::RoleBinding, "ns/b", Some(BINDING.as_bytes()));
        until(&rbac, true).await;
        rbac.load(storage.as_ref()).await.unwrap();
        until(&rbac, false).await;
    }
}
