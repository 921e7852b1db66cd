//! Schemas of which some number has to hold.

use apiwright_json::Value;
use apiwright_meta::ErrorList;

use super::{Junctor, Node, Passed, Rule, Trail, Walk, name_of};

/// What came of one of the schemas.
struct Outcome {
    faults: ErrorList,
    passed: Passed,
}

impl Walk<'_> {
    pub(super) fn junctors(
        &mut self,
        node: &Node,
        value: &Value,
        old: Option<&Value>,
        at: &Trail<'_>,
    ) -> Passed {
        let mut passed = 2;
        for rule in node.rules.iter() {
            if let Rule::Junctor(junctor, branches) = rule {
                self.counting = true;
                passed += match junctor {
                    Junctor::AnyOf => self.any_of(branches, value, old, at),
                    Junctor::OneOf => self.one_of(branches, value, old, at),
                    Junctor::AllOf => self.all_of(branches, value, old, at),
                    Junctor::Not => self.not(branches, value, old, at),
                };
            }
        }
        passed
    }

    fn any_of(&mut self, branches: &[Node], value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Passed {
        let mut best: Option<Outcome> = None;
        for branch in branches {
            let outcome = self.branch(branch, value, old, at);
            if outcome.faults.is_empty() {
                return outcome.passed;
            }
            if best.as_ref().is_none_or(|best| outcome.passed > best.passed) {
                best = Some(outcome);
            }
        }
        self.at_large(&format!("\"{}\" must validate at least one schema (anyOf)", name_of(at)));
        self.take(best)
    }

    fn one_of(&mut self, branches: &[Node], value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Passed {
        let mut best: Option<Outcome> = None;
        let (mut valid, mut passed) = (0, 0);
        for branch in branches {
            let outcome = self.branch(branch, value, old, at);
            if outcome.faults.is_empty() {
                if valid == 0 {
                    passed = outcome.passed;
                }
                valid += 1;
            } else if best.as_ref().is_none_or(|best| outcome.passed > best.passed) {
                best = Some(outcome);
            }
        }
        let found = match valid {
            0 => "Found none valid".to_owned(),
            1 => return passed,
            valid => format!("Found {valid} valid alternatives"),
        };
        self.at_large(&format!("\"{}\" must validate one and only one schema (oneOf). {found}", name_of(at)));
        self.take(best.filter(|_| valid == 0))
    }

    fn all_of(&mut self, branches: &[Node], value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Passed {
        let (mut valid, mut passed) = (0, 0);
        for branch in branches {
            let outcome = self.branch(branch, value, old, at);
            valid += usize::from(outcome.faults.is_empty());
            passed += self.take(Some(outcome));
        }
        if valid < branches.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            self.at_large(&format!("\"{}\" must validate all the schemas (allOf){none}", name_of(at)));
        }
        passed
    }

    fn not(&mut self, branches: &[Node], value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Passed {
        for branch in branches {
            if self.branch(branch, value, old, at).faults.is_empty() {
                self.at_large(&format!("\"{}\" must not validate the schema (not)", name_of(at)));
            }
        }
        0
    }

    fn branch(&mut self, branch: &Node, value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Outcome {
        let others = std::mem::take(&mut self.errors);
        let passed = self.checks(branch, value, old, at);
        Outcome { faults: std::mem::replace(&mut self.errors, others), passed }
    }

    fn take(&mut self, outcome: Option<Outcome>) -> Passed {
        let Some(outcome) = outcome else { return 0 };
        self.merge(outcome.faults);
        outcome.passed
    }
}
