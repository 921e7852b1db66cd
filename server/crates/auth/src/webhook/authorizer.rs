//! The webhook authorizer: a server outside is asked whether a user may do what a request asks.

use std::path::PathBuf;
use std::time::Duration;

use apiwright_chain::{Decision, Failure, RequestInfo, User};
use apiwright_json::{Object, Value, to_string};
use apiwright_webhook::Caller;

use super::ReviewVersion;
use super::review::{controlled_bytes, spec, whole};
use crate::conditions::MatchConditions;
use crate::expiring::Expiring;

/// How many answers are remembered.
const REMEMBERED_MAX: usize = 8192;
/// What a request may have of its caller's making for its answer to be remembered.
const CONTROLLED_BYTES_MAX: usize = 10_000;

/// How a webhook is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookOptions {
    /// Where it is: a kubeconfig.
    pub kubeconfig: PathBuf,
    /// In which version.
    pub version: ReviewVersion,
    /// How long it has.
    pub timeout: Duration,
    /// How long a yes is remembered; no time is not at all.
    pub authorized_ttl: Duration,
    /// How long anything else is.
    pub unauthorized_ttl: Duration,
    /// What it means when it is out of reach.
    pub failure_policy: FailurePolicy,
    /// What must hold for it to be asked.
    pub conditions: Vec<String>,
}

/// What it means that a webhook cannot be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// Others may allow the request.
    NoOpinion,
    /// Nobody may.
    Deny,
}

/// The authorizer.
pub struct WebhookAuthorizer {
    caller: Caller,
    options: WebhookOptions,
    conditions: MatchConditions,
    remembered: Expiring<String, Verdict>,
}

/// The status of a review.
#[derive(Clone, Debug)]
struct Verdict {
    allowed: bool,
    denied: bool,
    reason: String,
}

impl WebhookAuthorizer {
    /// Asks as it is told to.
    ///
    /// # Errors
    /// Where the kubeconfig or a condition cannot be used.
    pub fn new(options: WebhookOptions) -> Result<Self, String> {
        let caller = Caller::load(&options.kubeconfig, options.timeout)?;
        let conditions = MatchConditions::compile(&options.conditions)?;
        Ok(Self { caller, options, conditions, remembered: Expiring::new(REMEMBERED_MAX) })
    }

    /// The decision.
    pub async fn decide(&self, user: &User, what: &RequestInfo) -> Decision {
        if !self.conditions.is_empty() {
            match self.conditions.hold(&whole(user, what)) {
                Ok(true) => {}
                Ok(false) => return Decision::NoOpinion(String::new()),
                Err(why) => return self.failed(why),
            }
        }
        let spec: Value = spec(user, what, self.options.version).into();
        let key = to_string(&spec);
        let verdict = match self.remembered.get(&key) {
            Some(verdict) => verdict,
            None => match self.ask(spec).await {
                Ok(verdict) => {
                    if controlled_bytes(what) < CONTROLLED_BYTES_MAX {
                        let ttl = if verdict.allowed {
                            self.options.authorized_ttl
                        } else {
                            self.options.unauthorized_ttl
                        };
                        self.remembered.insert(key, verdict.clone(), ttl);
                    }
                    verdict
                }
                Err(why) => {
                    tracing::error!(%why, "cannot ask the authorization webhook");
                    return self.failed(why);
                }
            },
        };
        let Verdict { allowed, denied, reason } = verdict;
        match (denied, allowed) {
            (true, true) => Decision::Failed(Box::new(Failure {
                denies: true,
                reason,
                error: "webhook subject access review returned both allow and deny response".into(),
            })),
            (true, false) => Decision::Deny(reason),
            (false, true) => Decision::Allow((!reason.is_empty()).then(|| reason.into())),
            (false, false) => Decision::NoOpinion(reason),
        }
    }

    async fn ask(&self, spec: Value) -> Result<Verdict, String> {
        let api_version = format!("authorization.k8s.io/{}", self.options.version.as_str());
        let mut review = Object::with_capacity(5);
        review.push("kind", "SubjectAccessReview");
        review.push("apiVersion", api_version);
        review.push("metadata", Object::new());
        review.push("spec", spec);
        review.push("status", [("allowed", false)].into_iter().collect::<Object>());
        let answer = self.caller.post(to_string(&review.into())).await?;
        let kind = answer.text_at(&["kind"]);
        if kind != "SubjectAccessReview" {
            return Err(format!("the webhook answered a {kind:?} instead of a SubjectAccessReview"));
        }
        let flag = |member| answer.at(&["status", member]).and_then(Value::as_bool).unwrap_or(false);
        Ok(Verdict {
            allowed: flag("allowed"),
            denied: flag("denied"),
            reason: answer.text_at(&["status", "reason"]).to_owned(),
        })
    }

    fn failed(&self, error: String) -> Decision {
        let denies = self.options.failure_policy == FailurePolicy::Deny;
        Decision::Failed(Box::new(Failure { denies, reason: String::new(), error }))
    }
}
