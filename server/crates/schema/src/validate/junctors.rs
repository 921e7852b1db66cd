//! Schemas of which some number has to hold, in the words of the validator of custom resources.

use apiwright_json::Value;
use apiwright_meta::{ErrorList, Path};

use super::Walk;
use crate::Node;
use crate::table::Junctor;
use crate::trail::Trail;

impl Walk<'_> {
    pub(super) fn junctor(&mut self, junctor: Junctor, branches: &[Node], value: &Value, at: &Trail<'_>) {
        let faults: Vec<ErrorList> = branches.iter().map(|branch| self.branch(branch, value, at)).collect();
        let valid = faults.iter().filter(|faults| faults.is_empty()).count();
        let name = self.path(at).as_str().to_owned();
        // Without a path, which is how upstream tells these.
        let say = |words: String, errors: &mut ErrorList| errors.invalid(Path::default(), "\"\"", &words);
        let nearest = || faults.iter().find(|faults| !faults.is_empty()).cloned().unwrap_or_default();
        match junctor {
            Junctor::AllOf if valid < branches.len() => {
                let none = if valid == 0 { ". None validated" } else { "" };
                for faults in &faults {
                    self.errors.append(faults.clone());
                }
                say(format!("\"{name}\" must validate all the schemas (allOf){none}"), self.errors);
            }
            Junctor::AnyOf if valid == 0 => {
                say(format!("\"{name}\" must validate at least one schema (anyOf)"), self.errors);
                self.errors.append(nearest());
            }
            Junctor::OneOf if valid != 1 => {
                let found = match valid {
                    0 => "Found none valid".to_owned(),
                    valid => format!("Found {valid} valid alternatives"),
                };
                say(
                    format!("\"{name}\" must validate one and only one schema (oneOf). {found}"),
                    self.errors,
                );
                if valid == 0 {
                    self.errors.append(nearest());
                }
            }
            Junctor::Not if valid > 0 => {
                say(format!("\"{name}\" must not validate the schema (not)"), self.errors);
            }
            _ => {}
        }
    }

    /// The faults of a value by one of the schemas, as if it were new.
    fn branch(&self, branch: &Node, value: &Value, at: &Trail<'_>) -> ErrorList {
        let mut errors = ErrorList::new();
        let mut walk = Walk {
            root: self.root,
            words: self.words,
            updating: false,
            errors: &mut errors,
            lists: ErrorList::new(),
        };
        walk.node(branch, Some(value), None, at);
        errors
    }
}
