//! Whether an object's owners are there.

use std::sync::Arc;

use apiwright_controllers::{Resources, Result};
use apiwright_json::Value;
use apiwright_meta::object::{self, OwnerReference};
use apiwright_meta::status::Reason;
use apiwright_registry::resource::Scope;
use apiwright_registry::store::Freshness;

use super::FOREGROUND;
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
pub(super) struct Kinship(Vec<(String, Owner)>);

/// Looks an object's owners up.
pub(super) async fn classify(resources: &Arc<dyn Resources>, value: &Value) -> Result<Kinship> {
    let mut all = Vec::new();
    for owner in object::owner_references(value) {
        all.push((owner.uid.to_owned(), look_up(resources, object::namespace(value), owner).await?));
    }
    Ok(Kinship(all))
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
        let any = |which: Owner| self.0.iter().any(|(_, one)| *one == which);
        match () {
            () if self.0.is_empty() => Owners::None,
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
        self.0.iter().filter(move |(_, owner)| gone(*owner)).map(|(uid, _)| uid.as_str())
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
            let kinship = Kinship(owners.iter().map(|one| ("u".to_owned(), *one)).collect());
            assert_eq!(kinship.fact(), want, "{owners:?}");
        }
    }
}
