//! Acting as somebody else: `Impersonate-User` and its companions.
//!
//! A caller may be allowed to be somebody for everything (the verb `impersonate`), or for some
//! requests only (constrained impersonation: `impersonate:<mode>` on whom, and
//! `impersonate-on:<mode>:<verb>` on what). The constrained modes are asked first, except that
//! the one that last worked for a caller is asked before all others.

mod headers;
mod mode;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use apiwright_chain::{Authorizer, Request, Response, User, respond};
use apiwright_meta::Status;

use mode::Mode;

/// How many callers' modes are remembered.
const REMEMBERED_MAX: usize = 1024;

/// The filter.
#[derive(Default)]
pub(crate) struct Impersonation {
    last: Mutex<HashMap<Arc<User>, usize>>,
}

impl Impersonation {
    /// Makes the request somebody else's if it asks for that and its caller may; answers if not.
    pub(crate) async fn apply(
        &self,
        request: &mut Request,
        authorizer: &dyn Authorizer,
    ) -> Result<(), Box<Response>> {
        let refuse =
            |request: &Request, status: &Status| Err(Box::new(respond::refusal(&request.head, status)));
        let wanted = match headers::take(&mut request.head.headers) {
            Ok(None) => return Ok(()),
            Ok(Some(wanted)) => wanted,
            Err(status) => return refuse(request, &status),
        };
        match self.become_user(&wanted, request, authorizer).await {
            Ok(user) => {
                tracing::debug!(
                    audit_id = request.audit_id,
                    user = request.user.name,
                    impersonated = user.name,
                    "impersonating"
                );
                let user = Arc::new(user);
                if let Some(trail) = &request.trail {
                    trail.impersonated(Arc::clone(&user), None);
                }
                request.user = user;
                Ok(())
            }
            Err(status) => refuse(request, &status),
        }
    }

    async fn become_user(
        &self,
        wanted: &User,
        request: &Request,
        authorizer: &dyn Authorizer,
    ) -> Result<User, Status> {
        let last = self.last().get(&request.user).copied();
        let order = last.into_iter().chain((0..Mode::ALL.len()).filter(|&at| Some(at) != last));
        let mut first_refusal = None;
        for at in order {
            match Mode::ALL[at].check(wanted, request, authorizer).await {
                Ok(None) => {}
                Ok(Some(user)) => {
                    self.remember(&request.user, at);
                    return Ok(user);
                }
                Err(status) => {
                    first_refusal.get_or_insert(status);
                }
            }
        }
        // The oldest mode has an opinion about everybody.
        Err(first_refusal.unwrap_or_else(|| *Status::internal("all impersonation modes failed")))
    }

    fn remember(&self, caller: &Arc<User>, at: usize) {
        let mut last = self.last();
        if last.get(caller) == Some(&at) {
            return;
        }
        if last.len() >= REMEMBERED_MAX {
            last.clear();
        }
        last.insert(Arc::clone(caller), at);
    }

    fn last(&self) -> std::sync::MutexGuard<'_, HashMap<Arc<User>, usize>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_chain::request::RequestBody;
    use apiwright_chain::{Body, Decision, RequestInfo};
    use futures::future::BoxFuture;

    type Headers = Vec<(&'static str, &'static str)>;
    type Groups = Result<Vec<&'static str>, &'static str>;
    type Allowed = Vec<(&'static str, &'static str, &'static str)>;

    /// Allows what is on its list: verb, resource with subresource or path, name.
    struct List(Allowed);

    impl Authorizer for List {
        fn authorize<'a>(&'a self, _: &'a User, what: &'a RequestInfo) -> BoxFuture<'a, Decision> {
            let slash = if what.subresource.is_empty() { "" } else { "/" };
            let object = if what.is_resource {
                format!("{}{slash}{}", what.resource, what.subresource)
            } else {
                what.path.clone()
            };
            let known = self.0.iter().any(|&(verb, its_object, name)| {
                verb == what.verb && its_object == object && (name == "any" || name == what.name)
            });
            let decision = if known { Decision::Allow(None) } else { Decision::NoOpinion(String::new()) };
            Box::pin(std::future::ready(decision))
        }
    }

    fn request(headers: &[(&'static str, &'static str)]) -> Request {
        let mut builder = http::Request::get("/api");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        let (head, ()) = builder.body(()).unwrap().into_parts();
        Request {
            info: RequestInfo::parse(&head.method, head.uri.path(), "").unwrap(),
            head,
            body: RequestBody::Full(bytes::Bytes::new()),
            user: Arc::new(User { name: "alice".into(), ..User::default() }),
            audit_id: String::new(),
            deadline: None,
            trail: None,
            remote: None,
        }
    }

    async fn ask(
        filter: &Impersonation,
        headers: &[(&'static str, &'static str)],
        allowed: &[(&'static str, &'static str, &'static str)],
    ) -> Result<User, String> {
        let mut request = request(headers);
        match filter.apply(&mut request, &List(allowed.to_vec())).await {
            Ok(()) => {
                assert!(request.head.headers.is_empty());
                Ok((*request.user).clone())
            }
            Err(response) => {
                let Body::Full(body) = response.into_body() else { panic!("not at once") };
                let (status, _) = apiwright_json::decode(&bytes::Bytes::from(body)).unwrap();
                Err(status.text_at(&["message"]).into())
            }
        }
    }

    #[tokio::test]
    async fn who_may_be_whom() {
        const BOB: (&str, &str) = ("impersonate-user", "bob");
        let robot = ("impersonate-user", "system:serviceaccount:ns:robot");
        let node = ("impersonate-user", "system:node:n1");
        #[rustfmt::skip]
        let table: Vec<(Headers, Allowed, Groups)> = vec![
            (vec![BOB], vec![], Err("forbidden: User \"alice\" cannot impersonate-on:user-info:get path \"/api\"")),
            (vec![robot], vec![], Err("forbidden: User \"alice\" cannot impersonate-on:serviceaccount:get path \"/api\"")),
            (vec![node], vec![], Err("forbidden: User \"alice\" cannot impersonate-on:arbitrary-node:get path \"/api\"")),
            (vec![("impersonate-group", "bakers")], vec![], Err("requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"bakers\"}, Extra:map[string][]string(nil)} without impersonating a user name")),
            (vec![BOB], vec![("impersonate", "users", "bob")], Ok(vec!["system:authenticated"])),
            (vec![robot], vec![("impersonate", "serviceaccounts", "robot")], Ok(vec!["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"])),
            (vec![("impersonate-user", "system:anonymous")], vec![("impersonate", "users", "any")], Ok(vec!["system:unauthenticated"])),
            (vec![BOB], vec![("impersonate-on:user-info:get", "/api", "any"), ("impersonate:user-info", "users", "bob")], Ok(vec!["system:authenticated"])),
            (vec![BOB], vec![("impersonate-on:user-info:get", "/api", "any")], Err("users.authentication.k8s.io \"bob\" is forbidden: User \"alice\" cannot impersonate:user-info resource \"users\" in API group \"authentication.k8s.io\" at the cluster scope")),
            (vec![BOB, ("impersonate-group", "system:masters")], vec![("impersonate-on:user-info:get", "/api", "any"), ("impersonate:user-info", "users", "bob")], Err("groups.authentication.k8s.io \"system:masters\" is forbidden: User \"alice\" cannot impersonate:user-info resource \"groups\" in API group \"authentication.k8s.io\" at the cluster scope: impersonating the system:masters group is not allowed")),
            (vec![node], vec![("impersonate-on:arbitrary-node:get", "/api", "any"), ("impersonate:arbitrary-node", "nodes", "n1")], Ok(vec!["system:nodes", "system:authenticated"])),
            (vec![BOB, ("impersonate-group", "bakers"), ("impersonate-uid", "1"), ("impersonate-extra-scopes", "bread")],
             vec![("impersonate", "users", "bob"), ("impersonate", "groups", "bakers"), ("impersonate", "uids", "1"), ("impersonate", "userextras/scopes", "bread")],
             Ok(vec!["bakers", "system:authenticated"])),
        ];
        for (headers, allowed, expected) in table {
            let found = ask(&Impersonation::default(), &headers, &allowed).await;
            let groups = found.map(|user| user.groups);
            let expected =
                expected.map(|groups| groups.iter().map(|&group| group.to_owned()).collect::<Vec<_>>());
            assert_eq!(groups, expected.map_err(str::to_owned), "{headers:?}");
        }
        assert_eq!(ask(&Impersonation::default(), &[], &[]).await.unwrap().name, "alice");
    }

    #[tokio::test]
    async fn the_last_mode_that_worked_is_asked_first() {
        let filter = Impersonation::default();
        let bob = [("impersonate-user", "bob")];
        assert!(ask(&filter, &bob, &[("impersonate", "users", "bob")]).await.is_ok());
        assert_eq!(
            ask(&filter, &bob, &[]).await.unwrap_err(),
            "users \"bob\" is forbidden: User \"alice\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope"
        );
    }
}
