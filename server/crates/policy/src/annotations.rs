//! What policies note for the audit of a request.

use apiwright_admission::{Attributes, Wanted};
use apiwright_cel::BUDGET;
use apiwright_json::{Object, Value};

use crate::bindings::Binding;
use crate::definitions::{Annotation, Policy};
use crate::evaluation::{Budget, Evaluation, Failure};
use crate::vocabulary::Names;

const FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";
const VALUE_BYTES_MAX: usize = 10 * 1024;

/// The values of a policy's annotations, of all its bindings, each once.
#[derive(Default)]
pub(crate) struct Collected(Vec<(String, Vec<String>)>);

impl Collected {
    fn add(&mut self, key: &str, value: String) {
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => self.0.push((key.to_owned(), vec![value])),
        }
    }

    /// Notes them, under the name of their policy.
    pub(crate) fn tell(self, policy: &Policy, request: &Attributes<'_>) {
        for (key, values) in self.0 {
            request.annotations.add(format!("{}/{key}", policy.name), || values.join(", "));
        }
    }
}

/// Evaluates a policy's annotations, where anybody wants them or their failures count. Gives the failures that do.
pub(crate) fn evaluate<'p>(
    policy: &'p Policy,
    evaluation: &Evaluation<'p>,
    request: &Attributes<'_>,
    exhausted: &str,
    collected: &mut Collected,
) -> Vec<String> {
    let mut failures = Vec::new();
    if policy.ignores_failures && request.annotations.wanted() == Wanted::Nothing {
        return failures;
    }
    let mut budget = Budget::new(BUDGET);
    for annotation in &policy.annotations {
        match value(policy, annotation, evaluation, exhausted, &mut budget) {
            Ok(Some(value)) => collected.add(&annotation.key, value),
            Ok(None) => {}
            Err(_) if policy.ignores_failures => {}
            Err(why) => failures.push(why),
        }
    }
    failures
}

/// The value of one; none where there is nothing to tell.
fn value<'p>(
    policy: &'p Policy,
    annotation: &'p Annotation,
    evaluation: &Evaluation<'p>,
    exhausted: &str,
    budget: &mut Budget<'p>,
) -> Result<Option<String>, String> {
    let program = annotation.program.as_ref().map_err(|why| format!("compilation error: {why}"))?;
    match evaluation.evaluate(program, Names::asking(policy.has_params()), budget) {
        Ok(value) => Ok(value.as_str().map(|text| shortened(text.trim())).filter(|text| !text.is_empty())),
        Err(Failure::Exhausted) => Err(exhausted.to_owned()),
        Err(Failure::Error(why)) => {
            Err(format!("expression '{}' resulted in error: {why}", annotation.expression))
        }
    }
}

fn shortened(text: &str) -> String {
    text[..text.floor_char_boundary(VALUE_BYTES_MAX)].to_owned()
}

/// Notes that a validation does not hold, for a binding that wants that.
pub(crate) fn tell_failure(
    request: &Attributes<'_>,
    policy: &Policy,
    binding: &Binding,
    message: &str,
    index: usize,
) {
    request.annotations.add(FAILURE, || {
        let actions = binding.actions.iter().map(|action| Value::from(action.as_str()));
        let mut note = Object::default();
        note.insert("message", message);
        note.insert("policy", policy.name.as_str());
        note.insert("binding", binding.name.as_str());
        note.insert("expressionIndex", index as i64);
        note.insert("validationActions", Value::Array(actions.collect()));
        apiwright_json::to_string(&Value::Array(vec![note.into()]))
    });
}
