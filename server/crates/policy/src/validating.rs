//! `ValidatingAdmissionPolicy`: all validations of all policies that a request matches must hold.

use std::sync::Arc;

use apiwright_admission::matching::Converted;
use apiwright_admission::{Attributes, Plugin};
use apiwright_cel::{BUDGET, MESSAGE_BYTES_MAX};
use apiwright_json::Value;
use apiwright_meta::status::{Reason, Result};
use apiwright_meta::{Cause, Status};
use futures::future::BoxFuture;

use crate::annotations::{self, Collected};
use crate::authority::Authority;
use crate::bindings::{Binding, Hook, Policies};
use crate::conditions::Unmet;
use crate::definitions::{Policy, Validation};
use crate::evaluation::{Budget, Evaluation, Failure};
use crate::params;
use crate::plugins::{World, concerns, not_ready};
use crate::request::{Asked, namespace};
use crate::vocabulary::Names;

/// The plugin.
pub(crate) struct ValidatingAdmissionPolicy {
    pub(crate) policies: Arc<Policies>,
    pub(crate) world: World,
}

/// A refusal: of a policy, or of one of its bindings.
struct Denial {
    message: String,
    reason: String,
}

/// What a validation says of a request.
struct Finding {
    message: String,
    reason: String,
    /// Which of the policy's validations it was.
    index: usize,
}

impl ValidatingAdmissionPolicy {
    async fn ask(&self, request: &Attributes<'_>, object: Option<&Value>, old: Option<&Value>) -> Result<()> {
        let hooks = self.policies.hooks().ok_or_else(|| not_ready(request, object))?;
        let mut denials = Vec::new();
        for hook in hooks.iter() {
            self.ask_one(hook, request, object, old, &mut denials).await?;
        }
        match denials.into_iter().next() {
            Some(denial) => Err(refusal(request, object, denial)),
            None => Ok(()),
        }
    }

    async fn ask_one(
        &self,
        hook: &Hook,
        request: &Attributes<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
        denials: &mut Vec<Denial>,
    ) -> Result<()> {
        let policy = &hook.policy;
        let misconfigured = |binding: Option<&Binding>, why: &str, denials: &mut Vec<Denial>| {
            if !policy.ignores_failures {
                let what = if binding.is_some() { "binding" } else { "policy" };
                let message = format!("failed to configure {what}: {why}");
                denials.push(denial(policy, binding, &message, ""));
            }
        };
        let matched = match policy.criteria.matches(request, object, old, &self.world.objects).await {
            Ok(Some(matched)) => matched,
            Ok(None) => return Ok(()),
            Err(why) => {
                misconfigured(None, &why.message, denials);
                return Ok(());
            }
        };
        let mut collected = Collected::default();
        let mut converted: Option<Converted> = None;
        let authority = Authority::new(&self.world.authorizer, &request.user);
        for binding in &hook.bindings {
            if let Some(criteria) = &binding.criteria {
                match criteria.matches(request, object, old, &self.world.objects).await {
                    Ok(Some(_)) => {}
                    Ok(None) => continue,
                    Err(why) => {
                        misconfigured(Some(binding), &why.message, denials);
                        continue;
                    }
                }
            }
            let (kind, reference) = (policy.param_kind.as_ref(), binding.param_ref.as_ref());
            let params = match params::collect(kind, reference, request, self.world.kinds()).await {
                Ok(params) => params,
                Err(why) => {
                    misconfigured(Some(binding), &why, denials);
                    continue;
                }
            };
            if params.is_empty() {
                continue;
            }
            if converted.is_none() {
                match Converted::of(request, matched, object, old).await {
                    Ok(forms) => converted = Some(forms),
                    Err(why) => {
                        let why = format!("failed to convert object version: {}", why.message);
                        misconfigured(Some(binding), &why, denials);
                        continue;
                    }
                }
            }
            let (object, old) = converted.as_ref().map_or((object, old), |forms| forms.objects(object, old));
            let asked =
                Asked::new(request, matched, object, old, namespace(request, &self.world.objects).await?);
            for params in &params {
                let evaluation = Evaluation {
                    asked: &asked,
                    object,
                    params: params.as_ref(),
                    authority: &authority,
                    variables: &policy.variables,
                };
                for finding in evaluate(policy, &evaluation, request, &mut collected, denials, binding) {
                    act(request, policy, binding, finding, denials);
                }
            }
        }
        collected.tell(policy, request);
        Ok(())
    }
}

/// Does what a binding wants done about a finding.
fn act(
    request: &Attributes<'_>,
    policy: &Policy,
    binding: &Binding,
    finding: Finding,
    denials: &mut Vec<Denial>,
) {
    for action in &binding.actions {
        match action.as_str() {
            "Deny" => denials.push(denial(policy, Some(binding), &finding.message, &finding.reason)),
            "Warn" => request.warnings.add(format!(
                "Validation failed for ValidatingAdmissionPolicy '{}' with binding '{}': {}",
                policy.name, binding.name, finding.message
            )),
            "Audit" => annotations::tell_failure(request, policy, binding, &finding.message, finding.index),
            _ => {}
        }
    }
}

/// What a policy finds wrong with a request.
fn evaluate<'p>(
    policy: &'p Policy,
    evaluation: &Evaluation<'p>,
    request: &Attributes<'_>,
    collected: &mut Collected,
    denials: &mut Vec<Denial>,
    binding: &Binding,
) -> Vec<Finding> {
    let failed = |message: String, index| Finding { message, reason: String::new(), index };
    // A failure counts where the policy does not ignore it.
    let failures = |message: String, index| {
        if policy.ignores_failures { Vec::new() } else { vec![failed(message, index)] }
    };
    match policy.conditions.evaluate(evaluation) {
        Ok(()) => {}
        Err(Unmet::Condition(_)) => return Vec::new(),
        Err(Unmet::Failed(why)) => return failures(why, 0),
    }
    let mut budget = Budget::new(BUDGET);
    let mut findings = Vec::new();
    for (index, validation) in policy.validations.iter().enumerate() {
        let message = match holds(policy, validation, evaluation, &mut budget) {
            Ok(true) => continue,
            Ok(false) => {
                let message = message(policy, validation, evaluation, &mut budget);
                findings.push(Finding { message, reason: validation.reason.clone(), index });
                continue;
            }
            Err(Failure::Error(why)) => {
                format!("expression '{}' resulted in error: {why}", validation.expression)
            }
            Err(Failure::Exhausted) => return failures(EXHAUSTED.to_owned(), index),
        };
        if !policy.ignores_failures {
            findings.push(failed(message, index));
        }
    }
    for why in annotations::evaluate(policy, evaluation, request, EXHAUSTED, collected) {
        denials.push(denial(policy, Some(binding), &why, ""));
    }
    findings
}

const EXHAUSTED: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

fn holds<'a>(
    policy: &'a Policy,
    validation: &'a Validation,
    evaluation: &Evaluation<'a>,
    budget: &mut Budget<'a>,
) -> Result<bool, Failure> {
    let program = match &validation.program {
        Ok(program) => program,
        Err(why) => {
            return Err(Failure::Error(apiwright_cel::EvalError::new(format!("compilation error: {why}"))));
        }
    };
    Ok(evaluation.evaluate(program, Names::asking(policy.has_params()), budget)?.is_true())
}

/// What a validation that does not hold says.
fn message<'a>(
    policy: &'a Policy,
    validation: &'a Validation,
    evaluation: &Evaluation<'a>,
    budget: &mut Budget<'a>,
) -> String {
    if let Some(Ok(program)) = &validation.message_program {
        let made = evaluation.evaluate(program, Names::telling(policy.has_params()), budget).ok();
        let text = made.and_then(|value| value.as_str().map(|text| text.trim().to_owned()));
        let usable =
            |text: &String| !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n');
        if let Some(text) = text.filter(usable) {
            return text;
        }
    }
    match validation.message.trim() {
        "" => format!("failed expression: {}", validation.expression.trim()),
        message => message.to_owned(),
    }
}

fn denial(policy: &Policy, binding: Option<&Binding>, message: &str, reason: &str) -> Denial {
    let with = binding.map(|binding| format!(" with binding '{}'", binding.name)).unwrap_or_default();
    let message = format!("ValidatingAdmissionPolicy '{}'{with} denied request: {message}", policy.name);
    Denial { message, reason: reason.to_owned() }
}

fn refusal(request: &Attributes<'_>, object: Option<&Value>, denial: Denial) -> Box<Status> {
    let mut status = request.forbid(object, &denial.message);
    (status.code, status.reason) = match denial.reason.as_str() {
        "Forbidden" => (403, Some(Reason::Forbidden)),
        "Unauthorized" => (401, Some(Reason::Unauthorized)),
        "RequestEntityTooLarge" => (413, Some(Reason::RequestEntityTooLarge)),
        _ => (422, Some(Reason::Invalid)),
    };
    if let Some(details) = &mut status.details {
        details.causes.push(Cause::text(denial.message));
    }
    status
}

impl Plugin for ValidatingAdmissionPolicy {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionPolicy"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        concerns(&self.policies, request)
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
