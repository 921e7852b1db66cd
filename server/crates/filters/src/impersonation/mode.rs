//! The ways to be somebody else, each with its own verbs.

use apiwright_chain::{Authorizer, Decision, Request, RequestInfo, User};
use apiwright_meta::{Status, names};

use crate::authorization::forbidden;

/// From this many on, one permission for all is asked for before many for each.
const MANY: usize = 4;

const AUTHENTICATION: &str = "authentication.k8s.io";

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// A service account is the node that its own pod runs on.
    AssociatedNode,
    /// Any node.
    ArbitraryNode,
    /// A service account.
    ServiceAccount,
    /// Anybody else.
    UserInfo,
    /// Anybody, for anything: as it was before there were the others.
    Legacy,
}

impl Mode {
    /// In the order in which they are asked.
    pub(super) const ALL: [Self; 5] =
        [Self::AssociatedNode, Self::ArbitraryNode, Self::ServiceAccount, Self::UserInfo, Self::Legacy];

    fn name(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::ServiceAccount => Some("serviceaccount"),
            Self::UserInfo => Some("user-info"),
            Self::Legacy => None,
        }
    }

    /// Whether this way leads to the wanted user at all.
    fn applies(self, wanted: &User, caller: &User) -> bool {
        let only_name = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let (node, account) = (node_name(&wanted.name), account_name(&wanted.name));
        match self {
            Self::AssociatedNode => {
                let own = |key: &str| {
                    caller.extra.iter().find(|(its, _)| its == key).map(|(_, values)| values.as_slice())
                };
                only_name
                    && account_name(&caller.name).is_some()
                    && node.is_some_and(|node| {
                        own("authentication.kubernetes.io/node-name").is_some_and(|own| own == [node])
                    })
            }
            Self::ArbitraryNode => only_name && node.is_some(),
            Self::ServiceAccount => only_name && account.is_some(),
            Self::UserInfo => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }

    /// The user to be, if this way applies and the caller may go it.
    pub(super) async fn check(
        self,
        wanted: &User,
        request: &Request,
        authorizer: &dyn Authorizer,
    ) -> Result<Option<User>, Status> {
        let caller = &request.user;
        if !self.applies(wanted, caller) {
            return Ok(None);
        }
        let asking = Asking { mode: self, caller, authorizer };
        if let Some(name) = self.name() {
            let verb = format!("impersonate-on:{name}:{}", request.info.verb);
            asking.ask(&RequestInfo { verb, ..request.info.clone() }).await?;
        }
        let mut user = wanted.clone();
        asking.name(wanted, &mut user).await?;
        if !wanted.uid.is_empty() {
            asking.ask(&asking.about(AUTHENTICATION, "uids", &wanted.uid)).await?;
        }
        asking.groups(&wanted.groups).await?;
        asking.extra(&wanted.extra).await?;
        let group =
            if user.name == "system:anonymous" { "system:unauthenticated" } else { "system:authenticated" };
        if !user.in_group(group) && !user.in_group("system:unauthenticated") {
            user.groups.push(group.into());
        }
        Ok(Some(user))
    }
}

/// Whom a caller asks, and in which mode.
struct Asking<'a> {
    mode: Mode,
    caller: &'a User,
    authorizer: &'a dyn Authorizer,
}

impl Asking<'_> {
    async fn name(&self, wanted: &User, user: &mut User) -> Result<(), Status> {
        let mut what = self.about(self.own_group(), "users", &wanted.name);
        if self.is_constrained()
            && let Some(node) = node_name(&wanted.name)
        {
            what.resource = "nodes".into();
            // A permission for one's own node is one for every node: which it is was checked.
            what.name = if self.mode == Mode::AssociatedNode { "*" } else { node }.into();
            user.groups = vec!["system:nodes".into()];
        }
        if let Some((namespace, name)) = account_name(&wanted.name) {
            what.resource = "serviceaccounts".into();
            what.namespace = namespace.into();
            what.name = name.into();
            if wanted.groups.is_empty() {
                user.groups =
                    vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}")];
            }
        }
        self.ask(&what).await
    }

    async fn groups(&self, groups: &[String]) -> Result<(), Status> {
        let about = |name: &str| self.about(self.own_group(), "groups", name);
        if self.is_constrained() {
            if groups.iter().any(String::is_empty) {
                let why = "impersonating the empty string group is not allowed";
                return Err(forbidden(self.caller, &about(""), why));
            }
            if groups.iter().any(|group| group == "system:masters") {
                let why = "impersonating the system:masters group is not allowed";
                return Err(forbidden(self.caller, &about("system:masters"), why));
            }
            if groups.len() >= MANY && self.ask(&about("*")).await.is_ok() {
                return Ok(());
            }
        }
        for group in groups {
            self.ask(&about(group)).await?;
        }
        Ok(())
    }

    async fn extra(&self, extra: &[(String, Vec<String>)]) -> Result<(), Status> {
        let about = |key: &str, value: &str| RequestInfo {
            subresource: key.into(),
            ..self.about(AUTHENTICATION, "userextras", value)
        };
        if self.is_constrained() {
            for (key, values) in extra {
                if let Some(why) = fault(key, values) {
                    return Err(forbidden(self.caller, &about("", ""), &why));
                }
            }
            let values: usize = extra.iter().map(|(_, values)| values.len()).sum();
            if (extra.len() >= MANY || values >= MANY) && self.ask(&about("*", "*")).await.is_ok() {
                return Ok(());
            }
        }
        for (key, values) in extra {
            for value in values {
                self.ask(&about(key, value)).await?;
            }
        }
        Ok(())
    }

    fn is_constrained(&self) -> bool {
        self.mode != Mode::Legacy
    }

    /// Where users and groups are resources: of the core group once, of their own since.
    fn own_group(&self) -> &'static str {
        if self.is_constrained() { AUTHENTICATION } else { "" }
    }

    fn about(&self, group: &str, resource: &str, name: &str) -> RequestInfo {
        RequestInfo {
            is_resource: true,
            verb: self.mode.name().map_or_else(|| "impersonate".into(), |mode| format!("impersonate:{mode}")),
            group: group.into(),
            version: "v1".into(),
            resource: resource.into(),
            name: name.into(),
            ..RequestInfo::default()
        }
    }

    async fn ask(&self, what: &RequestInfo) -> Result<(), Status> {
        match self.authorizer.authorize(self.caller, what).await {
            Decision::Allow(_) => Ok(()),
            refused => Err(forbidden(self.caller, what, refused.reason())),
        }
    }
}

/// What a constrained mode does not let anybody's attributes be.
fn fault(key: &str, values: &[String]) -> Option<String> {
    let quoted = || format!("{key:?}");
    if key.is_empty() {
        return Some("impersonating the empty string key in extra is not allowed".into());
    }
    let path_faults = domain_path_faults(key);
    if !path_faults.is_empty() {
        return Some(format!("impersonating an invalid key in extra is not allowed: {path_faults}"));
    }
    if key.chars().any(char::is_uppercase) {
        return Some(format!("impersonating a non-lowercase key in extra is not allowed: {}", quoted()));
    }
    if values.is_empty() {
        return Some("impersonating empty values in extra is not allowed".into());
    }
    values
        .iter()
        .any(String::is_empty)
        .then(|| "impersonating the empty string value in extra is not allowed".into())
}

/// A key is a domain and a path: `example.com/scopes`.
fn domain_path_faults(key: &str) -> String {
    let invalid = |detail: &str| format!("extra.key: Invalid value: {key:?}: {detail}");
    let Some((domain, path)) =
        key.split_once('/').filter(|(domain, path)| !domain.is_empty() && !path.is_empty())
    else {
        return invalid("must be a domain-prefixed path (such as \"acme.io/foo\")");
    };
    let mut faults: Vec<String> =
        names::dns1123_subdomain(domain).iter().map(|fault| invalid(fault)).collect();
    if !path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/%".contains(&byte)) {
        faults.push(invalid("Invalid path"));
    }
    faults.join(", ")
}

fn node_name(user: &str) -> Option<&str> {
    user.strip_prefix("system:node:").filter(|name| names::dns1123_subdomain(name).is_empty())
}

fn account_name(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix("system:serviceaccount:")?.split_once(':')?;
    let is_valid = names::dns1123_label(namespace).is_empty() && names::dns1123_subdomain(name).is_empty();
    is_valid.then_some((namespace, name))
}
