//! The authorizer, as expressions ask it.

use std::sync::Arc;

use apiwright_admission::User;
use apiwright_cel::access::{Authorize, Decision, Question, Who};
use apiwright_chain::permit::{self, Authorizer};
use apiwright_chain::{RequestInfo, User as Requester};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::{Handle, RuntimeFlavor};

/// Answers for the user of one request.
pub(crate) struct Authority {
    authorizer: Arc<dyn Authorizer>,
    requester: Requester,
}

impl Authority {
    pub(crate) fn new(authorizer: &Arc<dyn Authorizer>, user: &User<'_>) -> Self {
        let requester = Requester {
            name: user.name.into(),
            uid: user.uid.into(),
            groups: user.groups.to_vec(),
            extra: user.extra.to_vec(),
        };
        Self { authorizer: Arc::clone(authorizer), requester }
    }

    fn ask(&self, who: &Who, what: &RequestInfo) -> Decision {
        let account;
        let user = match who {
            Who::Requester => &self.requester,
            Who::ServiceAccount(namespace, name) => {
                account = service_account(namespace, name);
                &account
            }
        };
        match wait(self.authorizer.authorize(user, what)) {
            Some(decision) => {
                let reason = decision.reason().to_owned();
                let (allowed, error) = match decision {
                    permit::Decision::Allow(_) => (true, None),
                    permit::Decision::Deny(_) | permit::Decision::NoOpinion(_) => (false, None),
                    permit::Decision::Failed(failure) => (false, Some(failure.error)),
                };
                Decision { allowed, reason, error }
            }
            None => {
                Decision { error: Some("the authorizer has no answer yet".into()), ..Decision::default() }
            }
        }
    }
}

impl Authorize for Authority {
    fn path(&self, who: &Who, path: &str, verb: &str) -> Decision {
        self.ask(who, &RequestInfo { path: path.into(), verb: verb.into(), ..RequestInfo::default() })
    }

    fn resource(&self, who: &Who, question: &Question, verb: &str) -> Decision {
        let question = question.clone();
        self.ask(
            who,
            &RequestInfo {
                is_resource: true,
                verb: verb.into(),
                group: question.group,
                version: "*".into(),
                resource: question.resource,
                subresource: question.subresource,
                namespace: question.namespace,
                name: question.name,
                field_selector: question.field_selector,
                label_selector: question.label_selector,
                ..RequestInfo::default()
            },
        )
    }
}

/// The answer of an authorizer. Most have it at once; expressions cannot wait, so whoever asks another is
/// waited for by a thread that leaves its other tasks to others.
fn wait<T>(mut answer: BoxFuture<'_, T>) -> Option<T> {
    if let Some(answer) = (&mut answer).now_or_never() {
        return Some(answer);
    }
    let runtime = Handle::try_current().ok()?;
    (runtime.runtime_flavor() == RuntimeFlavor::MultiThread)
        .then(|| tokio::task::block_in_place(|| runtime.block_on(answer)))
}

fn service_account(namespace: &str, name: &str) -> Requester {
    Requester {
        name: format!("system:serviceaccount:{namespace}:{name}"),
        uid: String::new(),
        groups: vec![
            "system:serviceaccounts".into(),
            format!("system:serviceaccounts:{namespace}"),
            "system:authenticated".into(),
        ],
        extra: Vec::new(),
    }
}
