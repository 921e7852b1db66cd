//! Evaluates the expressions of one policy on one request.

use std::sync::Arc;

use apiwright_cel::access::{Access, Asker, Authorize, Question};
use apiwright_cel::{CALL_LIMIT, EvalError, Program, Val};
use apiwright_json::Value;

use crate::request::Asked;
use crate::vocabulary::{NAMESPACE, Name, Names, REQUEST, names};

/// A variable that a policy defines.
#[derive(Debug)]
pub(crate) struct Variable {
    pub(crate) name: Arc<str>,
    pub(crate) program: Result<Program, String>,
}

/// Everything that an expression may look at.
#[derive(Clone, Copy)]
pub(crate) struct Evaluation<'a> {
    pub(crate) asked: &'a Asked<'a>,
    /// The object, as mutations before left it.
    pub(crate) object: Option<&'a Value>,
    pub(crate) params: Option<&'a Value>,
    pub(crate) authority: &'a dyn Authorize,
    pub(crate) variables: &'a [Variable],
}

/// The place of `variables` in an environment: it is last.
fn variables_place(with: Names) -> usize {
    names(with).len() - 1
}

/// What has been found out, and what may still be spent.
pub(crate) struct Budget<'a> {
    pub(crate) remaining: u64,
    known: Vec<Option<Result<Val<'a>, EvalError>>>,
}

impl Budget<'_> {
    pub(crate) fn new(remaining: u64) -> Self {
        Self { remaining, known: Vec::new() }
    }
}

/// Why an expression has no value.
#[derive(Debug)]
pub(crate) enum Failure {
    /// It failed.
    Error(EvalError),
    /// The budget is used up: nothing else is evaluated.
    Exhausted,
}

impl<'a> Evaluation<'a> {
    /// Evaluates an expression of an environment with these names.
    pub(crate) fn evaluate(
        &self,
        program: &'a Program,
        with: Names,
        budget: &mut Budget<'a>,
    ) -> Result<Val<'a>, Failure> {
        let wanted: Vec<Arc<str>> = program.selects(variables_place(with)).cloned().collect();
        for name in wanted {
            self.find_out(&name, with, budget)?;
        }
        self.run(program, with, budget)
    }

    /// Evaluates a variable, and before it those that it needs; they are defined before it.
    fn find_out(&self, name: &str, with: Names, budget: &mut Budget<'a>) -> Result<(), Failure> {
        budget.known.resize_with(self.variables.len(), || None);
        let Some(at) = self.variables.iter().position(|variable| *variable.name == *name) else {
            return Ok(());
        };
        if budget.known[at].is_some() {
            return Ok(());
        }
        // Variables may ask the authorizer, whoever looks at them.
        let own = Names { authorizer: true, ..with };
        let value = match &self.variables[at].program {
            Err(why) => Err(EvalError::new(format!("composited variable {name:?} fails to compile: {why}"))),
            Ok(program) => {
                let needed: Vec<Arc<str>> = program.selects(variables_place(own)).cloned().collect();
                for other in needed {
                    if self.variables[..at].iter().any(|variable| variable.name == other) {
                        self.find_out(&other, own, budget)?;
                    }
                }
                match self.run(program, own, budget) {
                    Ok(value) => Ok(value),
                    Err(Failure::Error(why)) => {
                        Err(EvalError::new(format!("composited variable {name:?} fails to evaluate: {why}")))
                    }
                    Err(Failure::Exhausted) => return Err(Failure::Exhausted),
                }
            }
        };
        budget.known[at] = Some(value);
        Ok(())
    }

    fn run(&self, program: &'a Program, with: Names, budget: &mut Budget<'a>) -> Result<Val<'a>, Failure> {
        let variables = names(with).into_iter().map(|name| self.value(name, budget));
        let variables = variables.collect::<Result<Vec<_>, _>>().map_err(Failure::Error)?;
        let outcome = program.evaluate(&variables, CALL_LIMIT);
        if outcome.cost > budget.remaining {
            return Err(Failure::Exhausted);
        }
        budget.remaining -= outcome.cost;
        outcome.value.map_err(Failure::Error)
    }

    fn value(&self, name: Name, budget: &Budget<'a>) -> Result<Val<'a>, EvalError> {
        let json = |value: Option<&'a Value>| value.map_or(Val::Null, Val::json);
        Ok(match name {
            Name::Object => json(self.object),
            Name::OldObject => json(self.asked.old),
            Name::NamespaceObject => match &self.asked.namespace {
                Some(namespace) => Val::declared(namespace, &NAMESPACE)?,
                None => Val::Null,
            },
            Name::Request => Val::declared(&self.asked.request, &REQUEST)?,
            Name::Params => json(self.params),
            Name::Authorizer => Val::Access(Arc::new(Access::Authorizer(Asker::new(self.authority)))),
            Name::RequestResource => {
                let text = |path: &[&str]| self.asked.request.text_at(path).to_owned();
                let question = Question {
                    group: text(&["requestResource", "group"]),
                    resource: text(&["requestResource", "resource"]),
                    subresource: text(&["requestSubResource"]),
                    namespace: text(&["namespace"]),
                    name: text(&["name"]),
                    ..Question::default()
                };
                Val::Access(Arc::new(Access::Resource(Asker::new(self.authority), question)))
            }
            Name::Variables => {
                let known = self.variables.iter().zip(&budget.known);
                Val::Fields(
                    known.filter_map(|(one, value)| Some((Arc::clone(&one.name), value.clone()?))).collect(),
                )
            }
        })
    }
}
