//! What POST does besides storing: reviews of access, of tokens and of oneself, tokens of service
//! accounts, and what becomes of pods: their node, their end.
//!
//! Below: auth, which decides and signs, and the registry. The body is not stored; a review is
//! answered with its status filled in.

mod access_review;
mod binding;
mod eviction;
mod rules_review;
mod selectors;
mod self_review;
mod stores;
mod token_request;
mod token_review;

use std::sync::Arc;

use apiwright_auth::{Authentication, Authorization, ServiceAccounts};
use apiwright_endpoints::{Act, Acting, Answer};
use apiwright_json::{Object, Value};
use apiwright_meta::status::Result;
use apiwright_storage::Storage;
use futures::future::BoxFuture;

use access_review::{AccessReview, Whose};
use binding::Binding;
use eviction::Eviction;
use rules_review::RulesReview;
use self_review::SelfReview;
pub use token_request::Lives;
use token_request::TokenRequest;
use token_review::TokenReview;

/// What the acts work with.
#[derive(Clone)]
pub struct Acts {
    /// Knows tokens.
    pub authentication: Arc<Authentication>,
    /// Decides.
    pub authorization: Arc<Authorization>,
    /// Issues tokens.
    pub accounts: Arc<ServiceAccounts>,
    /// How long they live.
    pub lives: Lives,
    /// Has the accounts, what tokens are bound to, pods and their budgets.
    pub storage: Arc<dyn Storage>,
}

impl Acts {
    /// What happens on POST to a resource (the empty name) or its subresources.
    pub fn of(&self, group: &str, plural: &str) -> Vec<(&'static str, Arc<dyn Act>)> {
        let authorization = || Arc::clone(&self.authorization);
        let access =
            |whose| -> Arc<dyn Act> { Arc::new(AccessReview { authorization: authorization(), whose }) };
        match (group, plural) {
            ("authorization.k8s.io", "subjectaccessreviews") => vec![("", access(Whose::Anybodys))],
            ("authorization.k8s.io", "localsubjectaccessreviews") => vec![("", access(Whose::AnybodysHere))],
            ("authorization.k8s.io", "selfsubjectaccessreviews") => vec![("", access(Whose::Own))],
            ("authorization.k8s.io", "selfsubjectrulesreviews") => {
                vec![("", Arc::new(RulesReview { authorization: authorization() }))]
            }
            ("authentication.k8s.io", "selfsubjectreviews") => vec![("", Arc::new(SelfReview))],
            ("authentication.k8s.io", "tokenreviews") => {
                vec![("", Arc::new(TokenReview { authentication: Arc::clone(&self.authentication) }))]
            }
            ("", "bindings") => vec![("", Arc::new(Binding { storage: Arc::clone(&self.storage) }))],
            ("", "pods") => vec![
                ("binding", Arc::new(Binding { storage: Arc::clone(&self.storage) })),
                ("eviction", Arc::new(Eviction { storage: Arc::clone(&self.storage) })),
            ],
            ("", "serviceaccounts") => vec![(
                "token",
                Arc::new(TokenRequest {
                    accounts: Arc::clone(&self.accounts),
                    storage: Arc::clone(&self.storage),
                    lives: self.lives,
                }),
            )],
            _ => Vec::new(),
        }
    }
}

/// `UserInfo` of a user.
fn user_info(user: &apiwright_chain::User) -> Object {
    let mut info = Object::new();
    for (key, text) in [("username", &user.name), ("uid", &user.uid)] {
        if !text.is_empty() {
            info.push(key, text.as_str());
        }
    }
    if !user.groups.is_empty() {
        info.push("groups", texts(&user.groups));
    }
    if !user.extra.is_empty() {
        let mut extra: Object =
            user.extra.iter().map(|(key, values)| (key.as_str(), texts(values))).collect();
        extra.sort();
        info.push("extra", extra);
    }
    info
}

fn texts<S: AsRef<str>>(texts: &[S]) -> Vec<Value> {
    texts.iter().map(|text| text.as_ref().into()).collect()
}

/// The texts of a list.
fn list(value: Option<&Value>) -> Vec<String> {
    value
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}

/// An answer that is ready.
fn ready<'a>(answer: Result<Value>) -> BoxFuture<'a, Result<Answer>> {
    Box::pin(std::future::ready(answer.map(Answer::Object)))
}
