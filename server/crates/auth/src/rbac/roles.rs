//! Roles, each in a place of its own that bindings remember, so that a decision looks no role up by its name.
//!
//! Invariant: a place is a role's while the role is there or anything is bound to it. Beside each there are a few bits
//! that tell of most questions that the role has no answer, so that a user may be bound to thousands.

use std::collections::HashMap;
use std::sync::Arc;

use apiwright_chain::RequestInfo;

use super::rules::Rule;

/// A role's address: the namespace is empty for a `ClusterRole`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RoleRef(Box<str>, Box<str>);

/// A role's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct At(usize);

/// All of them.
#[derive(Default)]
pub(super) struct Roles {
    places: HashMap<RoleRef, usize>,
    there: Vec<Role>,
    covers: Vec<Bits>,
    free: Vec<usize>,
}

struct Role {
    reference: RoleRef,
    /// `None` for one that is bound and not there.
    rules: Option<Arc<[Rule]>>,
    /// How many bindings remember the place.
    bound: usize,
}

/// What rules are about, or a question is: a question that shares no bit with rules is none of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bits(u64);

impl RoleRef {
    pub(super) fn new(cluster_role: bool, namespace: &str, name: &str) -> Self {
        Self(if cluster_role { "" } else { namespace }.into(), name.into())
    }

    pub(super) fn namespace(&self) -> &str {
        &self.0
    }

    pub(super) fn name(&self) -> &str {
        &self.1
    }

    pub(super) fn not_found(&self) -> String {
        let kind = if self.0.is_empty() { "clusterrole" } else { "role" };
        format!("{kind}.rbac.authorization.k8s.io \"{}\" not found", self.1)
    }
}

impl Roles {
    /// The rules of a role, by its address.
    pub(super) fn get(&self, reference: &RoleRef) -> Option<&Arc<[Rule]>> {
        self.places.get(reference).and_then(|&at| self.there[at].rules.as_ref())
    }

    /// Whether a role may be about a question; one that is not there is about every question.
    pub(super) fn may_cover(&self, At(at): At, question: Bits) -> bool {
        self.covers[at].0 & question.0 != 0
    }

    /// The rules of the role at a place, or what it would be.
    pub(super) fn at(&self, At(at): At) -> Result<&Arc<[Rule]>, &RoleRef> {
        let role = &self.there[at];
        role.rules.as_ref().ok_or(&role.reference)
    }

    /// Puts a role in, or takes it out.
    pub(super) fn set(&mut self, reference: RoleRef, rules: Option<Arc<[Rule]>>) {
        if rules.is_none() && !self.places.contains_key(&reference) {
            return;
        }
        let at = self.place(reference);
        self.covers[at] = rules.as_deref().map_or(Bits::ALL, Bits::of_rules);
        self.there[at].rules = rules;
        self.forget_idle(at);
    }

    /// The place of a role that somebody is bound to from now on.
    pub(super) fn bind(&mut self, reference: RoleRef) -> At {
        let at = self.place(reference);
        self.there[at].bound += 1;
        At(at)
    }

    /// Undoes [`Roles::bind`].
    pub(super) fn unbind(&mut self, At(at): At) {
        self.there[at].bound -= 1;
        self.forget_idle(at);
    }

    /// Takes the roles out for which `keep` says no.
    pub(super) fn retain(&mut self, mut keep: impl FnMut(&RoleRef) -> bool) {
        let there = self.there.iter().filter(|role| role.rules.is_some());
        let gone: Vec<RoleRef> =
            there.map(|role| &role.reference).filter(|one| !keep(one)).cloned().collect();
        for reference in gone {
            self.set(reference, None);
        }
    }

    fn place(&mut self, reference: RoleRef) -> usize {
        if let Some(&at) = self.places.get(&reference) {
            return at;
        }
        let role = Role { reference: reference.clone(), rules: None, bound: 0 };
        let at = match self.free.pop() {
            Some(at) => {
                (self.there[at], self.covers[at]) = (role, Bits::ALL);
                at
            }
            None => {
                self.there.push(role);
                self.covers.push(Bits::ALL);
                self.there.len() - 1
            }
        };
        self.places.insert(reference, at);
        at
    }

    fn forget_idle(&mut self, at: usize) {
        let role = &self.there[at];
        if role.bound == 0 && role.rules.is_none() && self.places.remove(&role.reference).is_some() {
            self.free.push(at);
        }
    }
}

impl Bits {
    const ALL: Self = Self(u64::MAX);
    /// That of paths; the others are shared by resources.
    const PATHS: u64 = 1 << 63;

    /// Of a question.
    pub(super) fn of(what: &RequestInfo) -> Self {
        if !what.is_resource {
            return Self(Self::PATHS);
        }
        match what.subresource.as_str() {
            "" => Self(bit(&[&what.resource])),
            sub => Self(bit(&[&what.resource, "/", sub]) | bit(&["*/", sub])),
        }
    }

    fn of_rules(rules: &[Rule]) -> Self {
        let mut bits = 0;
        for rule in rules {
            for resource in &rule.resources {
                bits |= if resource == "*" { !Self::PATHS } else { bit(&[resource.as_str()]) };
            }
            if !rule.non_resource_urls.is_empty() {
                bits |= Self::PATHS;
            }
        }
        Self(bits)
    }
}

/// The bit of a name: FNV-1a, which is short and enough.
fn bit(parts: &[&str]) -> u64 {
    let bytes = parts.iter().flat_map(|part| part.bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    1 << (hash % 63)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(json: &str) -> Arc<[Rule]> {
        Rule::read_all(&apiwright_json::decode(json.as_bytes()).unwrap().0).into()
    }

    #[test]
    fn places_are_used_again() {
        let mut roles = Roles::default();
        let reference = |name: &str| RoleRef::new(true, "", name);
        let some = rules(r#"{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods"]}]}"#);
        let at = roles.bind(reference("a"));
        assert_eq!(roles.at(at), Err(&reference("a")));
        roles.set(reference("a"), Some(Arc::clone(&some)));
        assert_eq!(roles.at(at), Ok(&some));
        roles.unbind(at);
        assert_eq!(roles.get(&reference("a")), Some(&some));
        roles.retain(|_| false);
        assert_eq!(roles.get(&reference("a")), None);
        assert!(roles.places.is_empty() && roles.free.len() == 1);
        assert_eq!((roles.bind(reference("b")), roles.there.len()), (at, 1));
    }

    #[test]
    fn bits_hide_no_answer() {
        let rules = rules(
            r#"{"rules":[{"verbs":["get"],"apiGroups":[""],"resources":["pods","deployments/scale","*/status"]},{"verbs":["get"],"nonResourceURLs":["/x"]}]}"#,
        );
        let bits = Bits::of_rules(&rules);
        for address in [
            "/api/v1/pods",
            "/api/v1/namespaces/n/deployments/d/scale",
            "/api/v1/namespaces/n/jobs/j/status",
            "/api/v1/namespaces/n/pods/p/status",
            "/x",
        ] {
            let what = RequestInfo::parse(&http::Method::GET, address, "").unwrap();
            assert_ne!(bits.0 & Bits::of(&what).0, 0, "{address}");
        }
        let all = Bits::of_rules(&self::rules(r#"{"rules":[{"resources":["*"]}]}"#));
        let what = RequestInfo::parse(&http::Method::GET, "/api/v1/secrets", "").unwrap();
        assert!(all.0 & Bits::of(&what).0 != 0 && all.0 & Bits::PATHS == 0);
    }
}
