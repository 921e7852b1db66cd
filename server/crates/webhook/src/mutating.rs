//! `MutatingAdmissionWebhook`: the webhooks that a request matches are called one after the other;
//! each sees what those before made of the object.

use std::sync::Arc;
use std::time::Instant;

use apiwright_admission::matching::Matched;
use apiwright_admission::{Attributes, Objects, Plugin, Wanted};
use apiwright_chain::Authorizer;
use apiwright_json::{Object, Value};
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use apiwright_schema::patch::{FieldValidation, Format, Patch};
use futures::future::BoxFuture;

use crate::answer::Answer;
use crate::call::{self, Refusal};
use crate::client::quoted;
use crate::conditions;
use crate::configurations::Configurations;
use crate::figures::Figures;
use crate::hook::Hook;
use crate::validating::{concerns, converted, not_ready};

const NAME: &str = "MutatingAdmissionWebhook";

/// The plugin.
pub(crate) struct MutatingAdmissionWebhook {
    pub(crate) configurations: Arc<Configurations>,
    pub(crate) objects: Objects,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) figures: Arc<Figures>,
}

impl MutatingAdmissionWebhook {
    async fn call(
        &self,
        request: &Attributes<'_>,
        mut object: Option<&mut Value>,
        old: Option<&Value>,
    ) -> Result<()> {
        let hooks = self.configurations.hooks().ok_or_else(|| not_ready(request, object.as_deref()))?;
        let turns = request.reinvocation;
        turns.begin(NAME, object.as_deref());
        let mut any = false;
        for (at, hook) in hooks.iter().enumerate() {
            let matched = hook.criteria.matches(request, object.as_deref(), old, &self.objects).await?;
            let Some(matched) = matched else { continue };
            let seen = (object.as_deref(), old);
            if !conditions::hold(hook, request, matched, seen, &self.authorizer).await?
                || !turns.calls(NAME, &hook.id)
            {
                continue;
            }
            any = true;
            let place = Place { round: usize::from(turns.is_second()), at };
            let begun = Instant::now();
            let outcome = call_one(hook, request, matched, object.as_deref_mut(), old, place).await;
            let changed = *outcome.as_ref().unwrap_or(&false);
            note_mutation(hook, request, changed, place);
            turns.called(NAME, &hook.id, changed, hook.again);
            let failed = outcome.is_err();
            let decided = match outcome {
                Ok(_) => Ok(()),
                Err(refusal) => call::decide(hook, request, refusal, &place.key("failed-open.mutation")),
            };
            let operation = request.operation.as_str();
            self.figures.count(&hook.name, operation, decided.is_err(), "admit", begun);
            if failed && decided.is_ok() {
                self.figures.count_passed_over(&hook.name, "admit");
            }
            decided?;
        }
        if any {
            turns.end(NAME, object.as_deref());
        }
        Ok(())
    }
}

/// Where in the order a webhook is called, as audits name it.
#[derive(Clone, Copy)]
struct Place {
    round: usize,
    at: usize,
}

impl Place {
    fn key(self, what: &str) -> String {
        format!("{what}.webhook.admission.k8s.io/round_{}_index_{}", self.round, self.at)
    }
}

/// Notes whether a webhook changed the object.
fn note_mutation(hook: &Hook, request: &Attributes<'_>, mutated: bool, place: Place) {
    if request.annotations.wanted() > Wanted::Nothing {
        request.annotations.add(place.key("mutation"), || {
            let mut note = noted(hook);
            note.insert("mutated", mutated);
            apiwright_json::to_string(&note.into())
        });
    }
}

/// Notes how a webhook changed the object.
fn note_patch(hook: &Hook, request: &Attributes<'_>, patch: &[u8], place: Place) {
    if request.annotations.wanted() < Wanted::Objects {
        return;
    }
    let Ok((mut patch, _)) = apiwright_json::decode(patch) else { return };
    // Go prints the members of an operation in the order of their names.
    let operations = patch.as_array_mut().into_iter().flatten();
    operations.filter_map(Value::as_object_mut).for_each(Object::sort);
    request.annotations.add(place.key("patch"), || {
        let mut note = noted(hook);
        note.insert("patch", patch);
        note.insert("patchType", "JSONPatch");
        apiwright_json::to_string(&note.into())
    });
}

fn noted(hook: &Hook) -> Object {
    let mut note = Object::default();
    note.insert("configuration", hook.configuration.as_str());
    note.insert("webhook", hook.name.as_str());
    note
}

/// Calls a webhook and does what it says; gives whether that changes the object.
async fn call_one(
    hook: &Hook,
    request: &Attributes<'_>,
    matched: Matched<'_>,
    object: Option<&mut Value>,
    old: Option<&Value>,
    place: Place,
) -> Result<bool, Refusal> {
    let converted = converted(request, matched, object.as_deref(), old).await.map_err(Refusal::Refused)?;
    let seen = converted.objects(object.as_deref(), old).into();
    let mut answer = call::ask(hook, request, matched, seen, true).await?;
    if !answer.allowed {
        return Err(Refusal::Refused(answer.denial(&hook.name)));
    }
    let Some(patch) = patch(&answer)? else { return Ok(false) };
    let Some(object) = object else {
        let why = format!(
            "admission webhook {} attempted to modify the object, which is not supported for this operation",
            quoted(&hook.name)
        );
        return Err(Refusal::Refused(Status::internal(why)));
    };
    if answer.patch_type != "JSONPatch" {
        return Err(Refusal::Unanswered(format!("unsupported patch type {}", quoted(&answer.patch_type))));
    }
    let internal = |why: &dyn std::fmt::Display| Refusal::Refused(Status::internal(why));
    let converted = converted.take_object();
    let current = converted.as_ref().unwrap_or(object);
    let patched = patch.edit(&request.resource.schema, current).map_err(|why| internal(&why))?;
    let version = matched.conversion();
    let settled = request.forms.settle(patched, version.map(Arc::as_ref)).map_err(Refusal::Refused)?;
    let changed = settled != *current;
    note_patch(hook, request, &answer.patch, place);
    *object = match version {
        None => settled,
        Some(_) if !changed => return Ok(false),
        Some(version) => {
            request.forms.convert_back(settled, version).await.map_err(|why| internal(&why.message))?
        }
    };
    Ok(changed)
}

/// The patch of an answer; `None` where it has none or does nothing.
fn patch(answer: &Answer) -> Result<Option<Patch>, Refusal> {
    if answer.patch.is_empty() {
        return Ok(None);
    }
    let patch = Patch::read(Format::Json, &answer.patch, FieldValidation::Ignore).map_err(|why| {
        Refusal::Unanswered(format!("received undecodable patch in webhook response: {why}"))
    })?;
    Ok(Some(patch).filter(|patch| !patch.is_empty()))
}

impl Plugin for MutatingAdmissionWebhook {
    fn name(&self) -> &'static str {
        NAME
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        concerns(&self.configurations, request)
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
