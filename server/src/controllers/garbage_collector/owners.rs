//! Whether an object's owners are there.

use std::sync::Arc;

use apiwright_controllers::{Resources, Result};
use apiwright_json::Value;
use apiwright_meta::object::{self, OwnerReference};
use apiwright_meta::status::Reason;
use apiwright_registry::resource::Scope;
use apiwright_registry::store::{Freshness, Paging, Selection};

use super::{FOREGROUND, Graph};
use crate::generated::controllers::garbage_collector_controller::Owners;

/// How it is with one owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Owner {
    Present,
    /// Deleted in the foreground: it waits for its dependents.
    Waiting,
    Absent,
    /// Its kind is not served.
    Unknown,
    /// It is in a namespace, its dependent in none.
    Misplaced,
}

/// An object's owners, by uid.
#[derive(Debug, Default)]
pub(super) struct Kinship {
    owners: Vec<(String, Owner)>,
    /// The references to objects that are elsewhere, as events show them, and the owners' uids.
    pub(super) lost: Vec<(String, String)>,
}

/// Looks an object's owners up.
pub(super) async fn classify(
    resources: &Arc<dyn Resources>,
    graph: &Graph,
    value: &Value,
) -> Result<Kinship> {
    let mut kinship = Kinship::default();
    let namespace = object::namespace(value);
    for owner in object::owner_references(value) {
        let found = look_up(resources, namespace, owner).await?;
        let is_puzzling = match found {
            Owner::Misplaced => true,
            Owner::Absent => !graph.is_gone(owner.uid),
            Owner::Present | Owner::Waiting | Owner::Unknown => false,
        };
        if is_puzzling
            && !graph.is_told(object::uid(value), owner.uid)
            && is_elsewhere(resources, owner).await?
        {
            kinship.lost.push((shown(owner, namespace), owner.uid.to_owned()));
        }
        kinship.owners.push((owner.uid.to_owned(), found));
    }
    Ok(kinship)
}

/// Whether there is such an object somewhere. Everything of its kind is looked through: that is for references
/// that never led anywhere, not for owners that were seen to go.
async fn is_elsewhere(resources: &Arc<dyn Resources>, owner: OwnerReference<'_>) -> Result<bool> {
    let (group, version) = owner.api_version.split_once('/').unwrap_or(("", owner.api_version));
    let Some(store) = resources.of_kind(group, version, owner.kind) else { return Ok(false) };
    let page = store.list(&Selection::default(), Freshness::Any, &Paging::default()).await?;
    Ok(page.entries.iter().any(|entry| store.facts(entry).uid == owner.uid))
}

/// A reference as it is shown, with the namespace in which the owner is looked for.
fn shown(owner: OwnerReference<'_>, namespace: &str) -> String {
    let OwnerReference { api_version, kind, name, uid, .. } = owner;
    format!("[{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}]")
}

/// An owner is looked for in its dependent's namespace only: references do not cross namespaces.
async fn look_up(
    resources: &Arc<dyn Resources>,
    namespace: &str,
    owner: OwnerReference<'_>,
) -> Result<Owner> {
    let (group, version) = owner.api_version.split_once('/').unwrap_or(("", owner.api_version));
    let Some(store) = resources.of_kind(group, version, owner.kind) else { return Ok(Owner::Unknown) };
    let namespace = match store.resource.scope {
        Scope::Cluster => "",
        Scope::Namespaced if namespace.is_empty() => return Ok(Owner::Misplaced),
        Scope::Namespaced => namespace,
    };
    let entry = match store.get(namespace, owner.name, Freshness::Latest).await {
        Ok(entry) => entry,
        Err(status) if status.reason == Some(Reason::NotFound) => return Ok(Owner::Absent),
        Err(status) => return Err(status),
    };
    let facts = store.facts(&entry);
    if facts.uid != owner.uid {
        return Ok(Owner::Absent);
    }
    if facts.deleting && facts.finalizers {
        let value = store.decode(&entry)?;
        if object::finalizers(&value).any(|one| one == FOREGROUND) {
            return Ok(Owner::Waiting);
        }
    }
    Ok(Owner::Present)
}

impl Kinship {
    /// What that comes to. What is not known for certain is not acted on.
    pub(super) fn fact(&self) -> Owners {
        let any = |which: Owner| self.owners.iter().any(|(_, one)| *one == which);
        match () {
            () if self.owners.is_empty() => Owners::None,
            () if any(Owner::Misplaced) => Owners::Misplaced,
            () if any(Owner::Unknown) => Owners::Unknown,
            () if any(Owner::Present) && (any(Owner::Absent) || any(Owner::Waiting)) => Owners::Mixed,
            () if any(Owner::Present) => Owners::Present,
            () if any(Owner::Waiting) => Owners::Waiting,
            () => Owners::Absent,
        }
    }

    /// The uids of owners that are absent, or wait.
    pub(super) fn gone(&self) -> impl Iterator<Item = &str> {
        let gone = |owner: Owner| matches!(owner, Owner::Absent | Owner::Waiting);
        self.owners.iter().filter(move |(_, owner)| gone(*owner)).map(|(uid, _)| uid.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_owners_come_to() {
        use Owner::{Absent, Misplaced, Present, Unknown, Waiting};
        for (owners, want) in [
            (vec![], Owners::None),
            (vec![Present, Present], Owners::Present),
            (vec![Present, Absent], Owners::Mixed),
            (vec![Waiting, Present], Owners::Mixed),
            (vec![Waiting, Absent], Owners::Waiting),
            (vec![Absent, Absent], Owners::Absent),
            (vec![Absent, Unknown], Owners::Unknown),
            (vec![Absent, Misplaced], Owners::Misplaced),
        ] {
            let owners_found = owners.iter().map(|one| ("u".to_owned(), *one)).collect();
            let kinship = Kinship { owners: owners_found, lost: Vec::new() };
            assert_eq!(kinship.fact(), want, "{owners:?}");
        }
    }
}
