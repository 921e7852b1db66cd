//! `ValidatingAdmissionWebhook`: all webhooks that a request matches are asked at once, and all
//! must allow it.

use std::sync::Arc;
use std::time::Instant;

use apiwright_admission::matching::{Converted, Matched, is_exempt};
use apiwright_admission::{Attributes, Objects, Plugin};
use apiwright_chain::Authorizer;
use apiwright_json::Value;
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use futures::StreamExt;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;

use crate::call::{self, Refusal};
use crate::conditions;
use crate::configurations::Configurations;
use crate::figures::Figures;
use crate::hook::Hook;

/// The plugin.
pub(crate) struct ValidatingAdmissionWebhook {
    pub(crate) configurations: Arc<Configurations>,
    pub(crate) objects: Objects,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) figures: Arc<Figures>,
}

impl ValidatingAdmissionWebhook {
    async fn ask(&self, request: &Attributes<'_>, object: Option<&Value>, old: Option<&Value>) -> Result<()> {
        let hooks = self.configurations.hooks().ok_or_else(|| not_ready(request, object))?;
        let mut calls = FuturesUnordered::new();
        for hook in hooks.iter() {
            if let Some(matched) = hook.criteria.matches(request, object, old, &self.objects).await?
                && conditions::hold(hook, request, matched, (object, old), &self.authorizer).await?
            {
                let place =
                    format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{}", calls.len());
                calls.push(self.ask_one(hook, request, matched, (object, old), place));
            }
        }
        let mut first = Ok(());
        while let Some(outcome) = calls.next().await {
            first = first.and(outcome);
        }
        first
    }

    async fn ask_one(
        &self,
        hook: &Hook,
        request: &Attributes<'_>,
        matched: Matched<'_>,
        (object, old): (Option<&Value>, Option<&Value>),
        place: String,
    ) -> Result<()> {
        let converted = converted(request, matched, object, old).await?;
        let objects = converted.objects(object, old).into();
        let begun = Instant::now();
        let outcome = match call::ask(hook, request, matched, objects, false).await {
            Ok(answer) if answer.allowed => None,
            Ok(mut answer) => Some(Refusal::Refused(answer.denial(&hook.name))),
            Err(refusal) => Some(refusal),
        };
        let failed = outcome.is_some();
        let decided = outcome.map_or(Ok(()), |refusal| call::decide(hook, request, refusal, &place));
        self.figures.count(&hook.name, request.operation.as_str(), decided.is_err(), "validating", begun);
        if failed && decided.is_ok() {
            self.figures.count_passed_over(&hook.name, "validating");
        }
        decided
    }
}

/// The objects as a webhook wants them; that they cannot be had is our fault.
pub(crate) async fn converted(
    request: &Attributes<'_>,
    matched: Matched<'_>,
    object: Option<&Value>,
    old: Option<&Value>,
) -> Result<Converted> {
    let converted = Converted::of(request, matched, object, old).await;
    converted.map_err(|why| Status::internal(why.message))
}

/// Whether a webhook may have a say in a request.
pub(crate) fn concerns(configurations: &Configurations, request: &Attributes<'_>) -> bool {
    configurations.any(|hook| hook.criteria.by_rules(request).is_some()) && !is_exempt(request)
}

/// Nobody gets past webhooks that nobody has read yet.
pub(crate) fn not_ready(request: &Attributes<'_>, object: Option<&Value>) -> Box<Status> {
    request.forbid(object, "not yet ready to handle request")
}

impl Plugin for ValidatingAdmissionWebhook {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionWebhook"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        concerns(&self.configurations, request)
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.ask(request, object, old))
    }
}
