//! Roles and bindings as storage has them.

use std::collections::HashSet;

use apiwright_json::decode;
use tracing::error;

use super::Rbac;
use super::index::Place;
use crate::follow::View;

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
    /// In the order of [`PREFIXES`].
    const ALL: [Self; 4] = [Self::Role, Self::ClusterRole, Self::RoleBinding, Self::ClusterRoleBinding];

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

const PREFIXES: [&str; 4] = [
    "/registry/roles/",
    "/registry/clusterroles/",
    "/registry/rolebindings/",
    "/registry/clusterrolebindings/",
];

impl View for Rbac {
    fn prefixes(&self) -> &'static [&'static str] {
        &PREFIXES
    }

    fn apply(&self, which: usize, key: &str, value: Option<&[u8]>) {
        self.set(Kind::ALL[which], key, value);
    }

    fn retain(&self, which: usize, keys: &HashSet<&str>) {
        let kind = Kind::ALL[which];
        let there: HashSet<Place> = keys.iter().filter_map(|key| kind.place(key)).collect();
        let mut index = self.write();
        let keep = |namespace: &str, name: &str| {
            namespace.is_empty() == kind.is_namespaced() || there.contains(&(namespace.into(), name.into()))
        };
        match kind {
            Kind::Role | Kind::ClusterRole => index.retain_roles(keep),
            Kind::RoleBinding | Kind::ClusterRoleBinding => index.retain_bindings(keep),
        }
    }
}

impl Rbac {
    /// Takes one object in, or out; the key is relative to the kind's.
    pub fn set(&self, kind: Kind, key: &str, value: Option<&[u8]>) {
        let Some(place) = kind.place(key) else { return };
        let object = value.and_then(|json| match decode(json) {
            Ok((object, _)) => Some(object),
            Err(why) => {
                error!(?kind, key, %why, "cannot read an object; it grants nothing");
                None
            }
        });
        let mut index = self.write();
        match kind {
            Kind::Role | Kind::ClusterRole => index.set_role(place, object.as_ref()),
            Kind::RoleBinding | Kind::ClusterRoleBinding => index.set_binding(place, object.as_ref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::time::Duration;

    use crate::follow;
    use apiwright_chain::{Decision, RequestInfo, User};
    use apiwright_storage::{Change, Expect, Revision, Storage};
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
        let loaded = follow::load(rbac.as_ref(), storage.as_ref()).await.unwrap();
        let (drainer, drain) = apiwright_chain::drain();
        let following = tokio::spawn(follow::follow(Arc::clone(&rbac), Arc::clone(&storage), loaded, drain));
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
        rbac.set(Kind::Role, "ns/r", Some(ROLE.as_bytes()));
        rbac.set(Kind::RoleBinding, "ns/b", Some(BINDING.as_bytes()));
        until(&rbac, true).await;
        follow::load(&rbac, storage.as_ref()).await.unwrap();
        until(&rbac, false).await;
    }
}
