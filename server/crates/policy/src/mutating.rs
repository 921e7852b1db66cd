//! `MutatingAdmissionPolicy`: the policies that a request matches change its object, one after the other; each sees
//! what those before made of it.

use std::sync::Arc;

use apiwright_admission::matching::{Converted, Matched};
use apiwright_admission::{Attributes, Plugin};
use apiwright_cel::BUDGET;
use apiwright_json::Value;
use apiwright_meta::status::{Reason, Result};
use apiwright_meta::{Cause, Status};
use futures::future::BoxFuture;

use crate::authority::Authority;
use crate::bindings::{Binding, Policies};
use crate::conditions::Unmet;
use crate::definitions::Policy;
use crate::evaluation::{Budget, Evaluation, Failure};
use crate::params;
use crate::plugins::{World, concerns, not_ready};
use crate::request::{Asked, namespace};
use crate::vocabulary::Names;

const NAME: &str = "MutatingAdmissionPolicy";

/// The plugin.
pub(crate) struct MutatingAdmissionPolicy {
    pub(crate) policies: Arc<Policies>,
    pub(crate) world: World,
}

/// A policy that is to be asked about a request, with a binding and its parameters.
struct Invocation<'h, 'a> {
    policy: &'h Policy,
    binding: &'h Binding,
    matched: Matched<'a>,
    params: Option<Value>,
}

/// A failure, and whether it makes the request invalid rather than forbidden.
struct Fault {
    message: String,
    invalid: bool,
}

impl MutatingAdmissionPolicy {
    async fn call(
        &self,
        request: &Attributes<'_>,
        object: Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        let hooks = self.policies.hooks().ok_or_else(|| not_ready(request, object.as_deref()))?;
        // Where there is no object there is nothing to change.
        let Some(object) = object else { return Ok(()) };
        let mut faults = Vec::new();
        let mut invocations = Vec::new();
        for hook in hooks.iter() {
            let policy = &hook.policy;
            let matched = match policy.criteria.matches(request, Some(object), old, &self.world.objects).await
            {
                Ok(Some(matched)) => matched,
                Ok(None) => continue,
                Err(why) => {
                    let why = format!("failed to configure policy: {}", why.message);
                    fault(policy, None, &why, false, &mut faults);
                    continue;
                }
            };
            for binding in &hook.bindings {
                match self.bound(policy, binding, request, object, old).await {
                    Ok(all) => invocations.extend(all.into_iter().map(|params| Invocation {
                        policy,
                        binding,
                        matched,
                        params,
                    })),
                    Err(why) => {
                        let why = format!("failed to configure binding: {why}");
                        fault(policy, Some(binding), &why, false, &mut faults);
                    }
                }
            }
        }
        if !invocations.is_empty() {
            self.dispatch(&invocations, request, object, old, &mut faults).await?;
        }
        refuse(request, object, faults)
    }

    /// The parameters with which a binding has a policy asked; none where it does not.
    async fn bound(
        &self,
        policy: &Policy,
        binding: &Binding,
        request: &Attributes<'_>,
        object: &Value,
        old: Option<&Value>,
    ) -> Result<Vec<Option<Value>>, String> {
        if let Some(criteria) = &binding.criteria {
            let matches = criteria.matches(request, Some(object), old, &self.world.objects).await;
            if matches.map_err(|why| why.message)?.is_none() {
                return Ok(Vec::new());
            }
        }
        let (kind, reference) = (policy.param_kind.as_ref(), binding.param_ref.as_ref());
        params::collect(kind, reference, request, self.world.kinds()).await
    }

    async fn dispatch(
        &self,
        invocations: &[Invocation<'_, '_>],
        request: &Attributes<'_>,
        object: &mut Value,
        old: Option<&Value>,
        faults: &mut Vec<Fault>,
    ) -> Result<()> {
        let turns = request.reinvocation;
        turns.begin(NAME, Some(object));
        let namespace = namespace(request, &self.world.objects).await?;
        let authority = Authority::new(&self.world.authorizer, &request.user);
        for invocation in invocations {
            let Invocation { policy, binding, matched, params } = invocation;
            let id = id(invocation);
            let converted = Converted::of(request, *matched, Some(object), old).await?;
            let (seen, old) = converted.objects(Some(object), old);
            let asked = Asked::new(request, *matched, seen, old, namespace.clone());
            let evaluation = Evaluation {
                asked: &asked,
                object: seen,
                params: params.as_ref(),
                authority: &authority,
                variables: &policy.variables,
            };
            match policy.conditions.evaluate(&evaluation) {
                Ok(()) => {}
                Err(Unmet::Condition(_)) => continue,
                Err(Unmet::Failed(why)) => {
                    fault(policy, Some(binding), &why, true, faults);
                    continue;
                }
            }
            if !turns.calls(NAME, &id) {
                continue;
            }
            let changed = mutate(policy, binding, request, *matched, evaluation, faults);
            let changes = changed.is_some();
            if let Some(changed) = changed {
                drop(converted);
                *object = match matched.conversion() {
                    None => changed,
                    Some(version) => request.forms.convert_back(changed, version).await.map_err(|why| {
                        Status::internal(format!("failed to convert object: {}", why.message))
                    })?,
                };
            }
            turns.called(NAME, &id, changes, policy.again);
        }
        turns.end(NAME, Some(object));
        Ok(())
    }
}

/// Does the mutations of a policy; gives the object if they changed it.
fn mutate(
    policy: &Policy,
    binding: &Binding,
    request: &Attributes<'_>,
    matched: Matched<'_>,
    evaluation: Evaluation<'_>,
    faults: &mut Vec<Fault>,
) -> Option<Value> {
    let before = evaluation.object?;
    let resource = matched.conversion().map(Arc::as_ref);
    let ty = &resource.unwrap_or(request.resource).schema;
    let mut current: Option<Value> = None;
    for mutation in &policy.mutations {
        let now = current.as_ref().unwrap_or(before);
        let outcome = match &mutation.program {
            Err(why) => Err(why.clone()),
            Ok(program) => {
                let evaluation = Evaluation { object: Some(now), ..evaluation };
                let names = Names::mutating(policy.has_params());
                match evaluation.evaluate(program, names, &mut Budget::new(BUDGET)) {
                    Ok(value) => mutation.change(&value, ty, now),
                    Err(Failure::Error(why)) => {
                        Err(format!("expression '{}' resulted in error: {why}", mutation.expression))
                    }
                    Err(Failure::Exhausted) => {
                        Err("validation failed due to running out of cost budget, no further \
                                                    validation rules will be run"
                            .to_owned())
                    }
                }
            }
        };
        let settled =
            outcome.and_then(|made| request.forms.settle(made, resource).map_err(|why| why.message));
        match settled {
            Ok(settled) => current = Some(settled),
            Err(why) => fault(policy, Some(binding), &why, true, faults),
        }
    }
    current.filter(|current| current != before)
}

/// Tells one invocation from all others.
fn id(invocation: &Invocation<'_, '_>) -> String {
    let params = invocation.params.as_ref();
    let text = |name: &str| params.map(|params| params.text_at(&["metadata", name])).unwrap_or_default();
    format!("{}/{}/{}/{}", invocation.policy.name, invocation.binding.name, text("namespace"), text("name"))
}

fn fault(policy: &Policy, binding: Option<&Binding>, why: &str, invalid: bool, faults: &mut Vec<Fault>) {
    if policy.ignores_failures {
        return;
    }
    let message = match binding {
        Some(binding) => {
            format!("policy '{}' with binding '{}' denied request: {why}", policy.name, binding.name)
        }
        None => format!("policy {:?} denied request: {why}", policy.name),
    };
    faults.push(Fault { message, invalid });
}

fn refuse(request: &Attributes<'_>, object: &Value, faults: Vec<Fault>) -> Result<()> {
    let Some(first) = faults.first() else { return Ok(()) };
    let mut status = request.forbid(Some(object), "admission request denied by policy");
    status.message.clone_from(&first.message);
    if first.invalid {
        status.reason = Some(Reason::Invalid);
    }
    if let Some(details) = &mut status.details {
        details.causes.extend(faults.into_iter().map(|fault| Cause::text(fault.message)));
    }
    Err(status)
}

impl Plugin for MutatingAdmissionPolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        concerns(&self.policies, request)
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.call(request, object, old))
    }
}
