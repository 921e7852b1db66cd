//! Validation of custom resources: the walk, in the order of upstream's validator of JSON schemas
//! (`k8s.io/kube-openapi/pkg/validation/validate`).
//!
//! Position: what apiextensions asks of a schema that it compiled; no built-in kind comes here.
//! Invariant: of a value come, in this order, its type, its junctors, its own rules, its items, its
//! enum, its members. What is wrong with a part that an update leaves as it was is not told
//! ([`ratchet`]).
//! Absence: lists whose items have to differ ([`super::lists`]) and rules in CEL, which come later.

mod junctors;
mod numbers;
mod ratchet;
mod types;

#[cfg(test)]
mod tests;

use apiwright_json::Value;
use apiwright_meta::field::{Kind, go_value, quoted};
use apiwright_meta::{ErrorList, Path, names};

use super::{formats, pattern};
use crate::table::Junctor;
use crate::trail::Trail;
use crate::{Node, Rule, Shape, Struct};

/// Finds the faults of a value by the schema of its place; `old` is what an update replaces. Paths are
/// told below `root`, texts name what is below the value only.
pub fn custom(node: &Node, value: &Value, old: Option<&Value>, root: &Path, errors: &mut ErrorList) {
    let mut walk = Walk { root, errors: ErrorList::new(), counting: false };
    walk.node(node, value, old, &Trail::ROOT);
    errors.append(walk.errors);
}

struct Walk<'a> {
    root: &'a Path,
    errors: ErrorList,
    /// Whether there was a junctor, whose faults may be those of others; each is told once.
    counting: bool,
}

/// How many checks a value passed: of several schemas that do not hold, the one that comes nearest is told.
type Passed = usize;

impl Walk<'_> {
    fn node(&mut self, node: &Node, value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Passed {
        let before = self.errors.0.len();
        let passed = self.checks(node, value, old, at);
        if self.errors.0.len() > before && old.is_some_and(|old| ratchet::is_same(node, value, old)) {
            self.errors.0.truncate(before);
        }
        passed
    }

    /// All checks of a value, as if it were new; its parts may be old.
    fn checks(&mut self, node: &Node, value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Passed {
        if value.is_null() {
            let passed = self.of_type(node, value, at);
            self.enumeration(node, value, at);
            return passed;
        }
        let mut passed = self.of_type(node, value, at) + self.junctors(node, value, old, at);
        match value {
            Value::String(text) => passed += self.text(node, text, at),
            Value::Int(_) | Value::Float(_) => {
                self.number(node, value, at);
                passed += 2;
            }
            Value::Array(items) => passed += self.items(node, items, old, at),
            _ => {}
        }
        self.enumeration(node, value, at);
        if let Value::Object(_) = value {
            passed += self.members(node, value, old, at);
        }
        passed + 2
    }

    /// The first fault of a text, and whether it is of its format.
    fn text(&mut self, node: &Node, text: &str, at: &Trail<'_>) -> Passed {
        let length = || text.chars().count() as u64;
        let fault = |wanted: fn(&Rule) -> bool| node.rules.iter().find(|rule| wanted(rule));
        if let Some(Rule::MaxLength(most)) = fault(|rule| matches!(rule, Rule::MaxLength(_)))
            && length() > *most
        {
            let mut told = ErrorList::new();
            told.too_long(self.path(at), *most as usize);
            self.merge(told);
        } else if let Some(Rule::MinLength(least)) = fault(|rule| matches!(rule, Rule::MinLength(_)))
            && length() < *least
        {
            self.invalid(at, quoted(text), &format!("should be at least {least} chars long"));
        } else if let Some(Rule::Pattern(expression)) = fault(|rule| matches!(rule, Rule::Pattern(_)))
            && !pattern::matches(expression, text)
        {
            self.invalid(at, quoted(text), &format!("should match '{}'", &**expression));
        }
        let Some(format) = types::format(node) else { return 1 };
        if !is_of_format(format, text) {
            self.wrong_type(at, format, text);
        }
        2
    }

    fn items(&mut self, node: &Node, items: &[Value], old: Option<&Value>, at: &Trail<'_>) -> Passed {
        let mut passed = 2;
        let list = match &node.shape {
            Shape::List(list) => Some(list),
            _ => node.rules.iter().find_map(|rule| match rule {
                Rule::Items(list) => Some(list),
                _ => None,
            }),
        };
        if let Some(list) = list {
            let old = ratchet::Items::of(&list.kind, old);
            for (index, item) in items.iter().enumerate() {
                passed += self.node(&list.item, item, old.counterpart(item), &at.index(index));
            }
        }
        for rule in node.rules.iter() {
            match rule {
                Rule::MinItems(least) if (items.len() as u64) < *least => {
                    self.invalid(at, items.len(), &format!("should have at least {least} items"));
                }
                Rule::MaxItems(most) if items.len() as u64 > *most => self.too_many(at, items.len(), *most),
                _ => {}
            }
        }
        passed
    }

    fn members(&mut self, node: &Node, value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Passed {
        let Value::Object(object) = value else { return 0 };
        for rule in node.rules.iter() {
            match rule {
                Rule::MinProperties(least) if (object.len() as u64) < *least => {
                    self.invalid(at, object.len(), &format!("should have at least {least} properties"));
                }
                Rule::MaxProperties(most) if object.len() as u64 > *most => {
                    self.too_many(at, object.len(), *most);
                }
                Rule::Closed(known) => {
                    for name in object.keys().filter(|name| !known.iter().any(|one| **one == ***name)) {
                        let detail = format!("{}.{name} in body is a forbidden property", name_of(at));
                        self.tell(self.path(at), Kind::Invalid, &quoted(name), &detail);
                    }
                }
                _ => {}
            }
        }
        let mut passed = 0;
        match &node.shape {
            Shape::Map(map) => {
                for (key, member) in object.iter() {
                    let old = old.and_then(|old| old.get(key));
                    passed += self.node(&map.value, member, old, &at.key(key));
                }
            }
            // What has a name is no part of the schema: metadata.
            Shape::Struct(ty) if ty.name.is_empty() || at.is_root() => {
                passed += self.properties(ty, value, old, at);
            }
            _ => {}
        }
        for rule in node.rules.iter() {
            if let Rule::Properties(ty) = rule {
                passed += self.properties(ty, value, old, at);
            }
        }
        for rule in node.rules.iter() {
            if let Rule::Members(names) = rule {
                for name in names.iter().filter(|name| !object.contains_key(name)) {
                    let mut told = ErrorList::new();
                    told.required(self.path(&at.key(name)), "");
                    self.merge(told);
                }
            }
        }
        passed
    }

    fn properties(&mut self, ty: &Struct, value: &Value, old: Option<&Value>, at: &Trail<'_>) -> Passed {
        let Value::Object(object) = value else { return 0 };
        let mut present: Vec<(usize, &Value)> =
            object.iter().filter_map(|(name, member)| Some((ty.position(name)?, member))).collect();
        if !present.is_sorted_by_key(|member| member.0) {
            present.sort_by_key(|member| member.0);
        }
        let mut passed = 0;
        for (index, member) in present {
            let field = &ty.fields[index];
            // Both say what version they are shown in, so that a change of these cannot be seen.
            let is_type = at.is_root() && matches!(&*field.name, "apiVersion" | "kind");
            let old = old.filter(|_| !is_type).and_then(|old| old.get(&field.name));
            passed += self.node(&field.node, member, old, &at.field(ty, &field.name));
        }
        passed
    }

    fn enumeration(&mut self, node: &Node, value: &Value, at: &Trail<'_>) {
        for rule in node.rules.iter() {
            let Rule::Enum(values) = rule else { continue };
            if !values.iter().any(|text| types::is_one(value, text)) {
                let supported: Vec<_> = values.iter().map(|text| types::plain(text)).collect();
                let mut told = ErrorList::new();
                told.not_supported(self.path(at), go_value(value), &supported);
                self.merge(told);
            }
        }
    }

    fn too_many(&mut self, at: &Trail<'_>, actual: usize, most: u64) {
        let mut told = ErrorList::new();
        told.too_many(self.path(at), actual, most as usize);
        self.merge(told);
    }

    fn wrong_type(&mut self, at: &Trail<'_>, wanted: &str, found: &str) {
        let detail = format!("{} in body must be of type {wanted}: {}", name_of(at), quoted(found));
        self.tell(self.path(at), Kind::TypeInvalid, &quoted(found), &detail);
    }

    fn invalid(&mut self, at: &Trail<'_>, value: impl std::fmt::Display, expectation: &str) {
        let detail = format!("{} in body {expectation}", name_of(at));
        self.tell(self.path(at), Kind::Invalid, &value.to_string(), &detail);
    }

    /// A fault that names no field.
    fn at_large(&mut self, detail: &str) {
        self.tell(self.root.clone(), Kind::Invalid, "\"\"", detail);
    }

    fn tell(&mut self, path: Path, kind: Kind, value: &str, detail: &str) {
        let mut told = ErrorList::new();
        told.push(path, kind, format!("Invalid value: {value}: {detail}"));
        self.merge(told);
    }

    fn merge(&mut self, told: ErrorList) {
        for error in told.0 {
            if !(self.counting && self.errors.0.contains(&error)) {
                self.errors.0.push(error);
            }
        }
    }

    fn path(&self, at: &Trail<'_>) -> Path {
        match at.path() {
            name if name.is_empty() => self.root.clone(),
            name => self.root.child(&name),
        }
    }
}

/// How texts call a value: below the root, where entries of a map begin with a dot.
fn name_of(at: &Trail<'_>) -> String {
    if at.begins_with_key() { format!(".{}", at.path()) } else { at.path() }
}

fn is_of_format(format: &str, text: &str) -> bool {
    // Hyphens in the names of formats mean nothing.
    match format.replace('-', "").as_str() {
        "k8sshortname" => names::dns1123_label(text).is_empty(),
        "k8slongname" => names::dns1123_subdomain(text).is_empty(),
        format => formats::is(format, text),
    }
}
