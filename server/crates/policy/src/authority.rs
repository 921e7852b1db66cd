//! The authorizer, as expressions ask it.

use std::sync::Arc;

use apiwright_admission::User;
use apiwright_cel::access::{Authorize, Decision, Question, Who};
use apiwright_chain::permit::{self, Authorizer};
use apiwright_chain::{RequestInfo, User as Requester};
use futures::FutureExt;

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
        // Expressions cannot wait: an authorizer that does has no answer for them.
        match self.authorizer.authorize(user, what).now_or_never() {
            Some(permit::Decision::Allow(why)) => {
                let reason = why.as_deref().unwrap_or_default().to_owned();
                Decision { allowed: true, reason, error: None }
            }
            Some(permit::Decision::Deny(reason) | permit::Decision::NoOpinion(reason)) => {
                Decision { allowed: false, reason, error: None }
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
