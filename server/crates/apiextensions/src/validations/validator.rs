//! Checks objects against the rules of their schema (upstream: `apiserver/schema/cel/validation.go`).

use std::sync::Arc;

use apiwright_cel::decl::{ListKind, Shape};
use apiwright_cel::{BUDGET, CALL_LIMIT, Decl, MESSAGE_BYTES_MAX, Program, Val};
use apiwright_json::{Object, Value};
use apiwright_meta::field::{Kind, go_value, quoted};
use apiwright_meta::{ErrorList, Path};

use super::compile::{Compiled, compile};
use super::correlation::{Correlation, counterpart};

/// The rules of a schema, node by node; only of nodes that have some, or lead to some.
#[derive(Debug)]
pub(crate) struct Validator {
    decl: Arc<Decl>,
    /// `type` of the schema.
    kind: String,
    rules: Vec<Compiled>,
    /// Whether any of them looks at what was before.
    items: Option<Box<Validator>>,
    members: Option<Box<Validator>>,
    properties: Vec<(String, Validator)>,
}

/// What is found out about one object.
pub(crate) struct Findings<'f> {
    /// What is wrong.
    pub(crate) errors: &'f mut ErrorList,
    /// What is wrong and was so before.
    pub(crate) tolerated: &'f mut Vec<String>,
}

/// The budget is used up, or upstream gives up for another reason.
struct Stop;

type Flow = Result<(), Stop>;

impl Validator {
    /// The rules of a schema; none where it has none. `root` says that objects of a kind are described.
    pub(crate) fn of(schema: &Value, root: bool) -> Option<Self> {
        if !has_rules(schema) {
            return None;
        }
        let decl = Decl::of_schema(schema, root, "self")?;
        build(schema.as_object()?, &decl)
    }

    /// Checks a value; `old` is what an update replaces.
    pub(crate) fn validate(
        &self,
        path: &Path,
        value: &Value,
        old: Option<&Value>,
        findings: &mut Findings<'_>,
    ) {
        let correlation = old.map(|old| Correlation::root(value, old, &self.decl)).unwrap_or_default();
        let mut run = Run { findings, remaining: BUDGET };
        // Whoever stopped has said why.
        let _ = run.node(self, path, value, old, correlation);
    }

    /// Checks the default of a schema, once as what was always there and once as what is new.
    pub(crate) fn validate_default(&self, path: &Path, value: &Value, errors: &mut ErrorList) {
        let before = errors.0.len();
        for old in [Some(value), None] {
            let mut run =
                Run { findings: &mut Findings { errors, tolerated: &mut Vec::new() }, remaining: BUDGET };
            let _ = run.node(self, path, value, old, Correlation::default());
            if errors.0.len() > before {
                return;
            }
        }
    }
}

fn has_rules(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("x-kubernetes-validations").is_some_and(|rules| !rules.is_null())
                || members.values().any(has_rules)
        }
        Value::Array(items) => items.iter().any(has_rules),
        _ => false,
    }
}

fn build(schema: &Object, decl: &Arc<Decl>) -> Option<Validator> {
    let embedded = |schema: &Object| schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    let element = |word: &str| {
        let inner = schema.get(word)?.as_object()?;
        build(inner, decl.element()?).map(Box::new)
    };
    let mut properties = Vec::new();
    for (name, inner) in
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Object::iter)
    {
        let Some(inner_object) = inner.as_object() else { continue };
        // Names that expressions cannot write are declared by themselves.
        let inner_decl = match apiwright_cel::escape(name) {
            Some(_) => decl.property(name).cloned(),
            None => Decl::of_schema(inner, embedded(inner_object), "self"),
        };
        if let Some(validator) = inner_decl.and_then(|decl| build(inner_object, &decl)) {
            properties.push((name.to_string(), validator));
        }
    }
    let rules = compile(schema, decl);
    let validator = Validator {
        decl: Arc::clone(decl),
        kind: schema.str("type").unwrap_or_default().to_owned(),
        rules,
        items: element("items"),
        members: element("additionalProperties"),
        properties,
    };
    let empty = validator.rules.is_empty()
        && validator.items.is_none()
        && validator.members.is_none()
        && validator.properties.is_empty();
    (!empty).then_some(validator)
}

struct Run<'r, 'f> {
    findings: &'r mut Findings<'f>,
    remaining: u64,
}

impl Run<'_, '_> {
    fn node(
        &mut self,
        node: &Validator,
        path: &Path,
        value: &Value,
        old: Option<&Value>,
        correlation: Correlation<'_>,
    ) -> Flow {
        if value.is_null() {
            return Ok(());
        }
        let old = old.filter(|old| !old.is_null());
        if !node.rules.is_empty() {
            self.rules(node, path, value, old, correlation)?;
        }
        match value {
            Value::Array(items) => {
                let Some(validator) = &node.items else { return Ok(()) };
                let before = old.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                let keys = match &node.decl.shape {
                    Shape::List(_, ListKind::Map(keys)) => Some(keys),
                    _ => None,
                };
                for (at, item) in items.iter().enumerate() {
                    let old = keys.and_then(|keys| counterpart(keys, item, before));
                    let correlation = correlation.item(item, old, Some(&validator.decl));
                    self.node(validator, &path.index(at), item, old, correlation)?;
                }
            }
            Value::Object(members) => {
                if let Some(validator) = &node.members {
                    for (name, member) in members.iter() {
                        let old = old.and_then(|old| old.get(name));
                        let correlation = correlation.member(name, Some(&validator.decl));
                        self.node(validator, &path.key(name), member, old, correlation)?;
                    }
                }
                for (name, validator) in &node.properties {
                    let Some(member) = members.get(name) else { continue };
                    let old = old.and_then(|old| old.get(name));
                    let correlation = correlation.member(name, Some(&validator.decl));
                    self.node(validator, &path.child(name), member, old, correlation)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn rules(
        &mut self,
        node: &Validator,
        path: &Path,
        value: &Value,
        old: Option<&Value>,
        correlation: Correlation<'_>,
    ) -> Flow {
        if self.remaining == 0 {
            return self.out_of_budget(node, path);
        }
        let own = Val::declared(value, &node.decl);
        let before = old.map(|old| Val::declared(old, &node.decl));
        for compiled in &node.rules {
            let program = match &compiled.program {
                None => continue,
                Some(Ok(program)) => program,
                Some(Err(why)) => {
                    self.invalid(node, path, &format!("rule compile error: {why}"));
                    continue;
                }
            };
            let optional = compiled.rule.is_optional();
            if compiled.uses_old() && before.is_none() && !optional {
                continue;
            }
            let title = compiled.rule.title();
            let variables = own.clone().and_then(|own| {
                let before = before.clone().transpose()?;
                Ok([
                    own,
                    match (optional, before) {
                        (true, before) => before.map_or(Val::Optional(None), Val::some),
                        (false, before) => before.unwrap_or(Val::Null),
                    },
                ])
            });
            let variables = match variables {
                Ok(variables) => variables,
                Err(why) => {
                    self.invalid(node, path, &format!("{why} evaluating rule: {title}"));
                    continue;
                }
            };
            let outcome = program.evaluate(&variables, CALL_LIMIT);
            if outcome.cost > self.remaining {
                return self.out_of_budget(node, path);
            }
            self.remaining -= outcome.cost;
            match outcome.value {
                Ok(value) if value.is_true() => continue,
                Ok(_) => {}
                Err(why) if why.is_no_overload() => {
                    let words = format!(
                        "'{why}': call arguments did not match a supported operator, function or macro signature for \
                         rule: {title}"
                    );
                    self.invalid(node, path, &words);
                    continue;
                }
                Err(why) if why.is_cancelled() => {
                    let words = format!(
                        "'{why}': no further validation rules will be run due to call cost exceeds limit for rule: \
                         {title}"
                    );
                    self.invalid(node, path, &words);
                    return Err(Stop);
                }
                Err(why) => {
                    self.invalid(node, path, &format!("{why} evaluating rule: {title}"));
                    continue;
                }
            }
            let at = match compiled.field_path.as_str() {
                "" => path.clone(),
                below => path.child(below),
            };
            let tolerable = !compiled.uses_old() && correlation.is_unchanged();
            match self.message(compiled, &variables) {
                Ok(detail) => self.failed(node, &compiled.rule, at, value, &detail, tolerable),
                Err(why) => {
                    self.add(
                        at,
                        Kind::Invalid,
                        format!("Invalid value: {}: {why}", quoted(&node.kind)),
                        tolerable,
                    );
                    return Err(Stop);
                }
            }
        }
        Ok(())
    }

    /// What a rule that failed says; an error where its message took more than is left.
    fn message(&mut self, compiled: &Compiled, variables: &[Val<'_>]) -> Result<String, String> {
        let Some(Ok(program)) = &compiled.message else { return Ok(compiled.rule.failure()) };
        let made = self.made_message(program, &compiled.rule.message_expression, variables)?;
        Ok(made.unwrap_or_else(|| compiled.rule.failure()))
    }

    fn made_message(
        &mut self,
        program: &Program,
        expression: &str,
        variables: &[Val<'_>],
    ) -> Result<Option<String>, String> {
        let outcome = program.evaluate(variables, CALL_LIMIT);
        if outcome.cost > self.remaining {
            let words = "messageExpression evaluation failed due to running out of cost budget, no further validation \
                         rules will be run";
            return Err(words.to_owned());
        }
        match outcome.value {
            Err(why) if why.is_cancelled() => Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                quoted(expression)
            )),
            value => {
                self.remaining -= outcome.cost;
                let text = value.ok().and_then(|value| value.as_str().map(|text| text.trim().to_owned()));
                Ok(text.filter(|text| {
                    !text.is_empty() && text.len() <= MESSAGE_BYTES_MAX && !text.contains('\n')
                }))
            }
        }
    }

    fn failed(
        &mut self,
        node: &Validator,
        rule: &super::rule::Rule,
        path: Path,
        value: &Value,
        detail: &str,
        tolerable: bool,
    ) {
        // Objects and lists are not shown.
        let shown = (!matches!(node.kind.as_str(), "object" | "array")).then(|| go_value(value));
        let (kind, body) = match rule.reason.as_deref() {
            Some("FieldValueForbidden") => (Kind::Forbidden, format!("Forbidden: {detail}")),
            Some("FieldValueRequired") => (Kind::Required, format!("Required value: {detail}")),
            Some("FieldValueDuplicate") => match shown {
                Some(shown) => (Kind::Duplicate, format!("Duplicate value: {shown}")),
                None => (Kind::Duplicate, "Duplicate value".to_owned()),
            },
            _ => match shown {
                Some(shown) => (Kind::Invalid, format!("Invalid value: {shown}: {detail}")),
                None => (Kind::Invalid, format!("Invalid value: {detail}")),
            },
        };
        self.add(path, kind, body, tolerable);
    }

    fn add(&mut self, path: Path, kind: Kind, body: String, tolerable: bool) {
        if tolerable {
            self.findings.tolerated.push(format!("{path}: {body}"));
        } else {
            self.findings.errors.push(path, kind, body);
        }
    }

    fn invalid(&mut self, node: &Validator, path: &Path, words: &str) {
        self.findings.errors.invalid(path.clone(), quoted(&node.kind), words);
    }

    fn out_of_budget(&mut self, node: &Validator, path: &Path) -> Flow {
        let words =
            "validation failed due to running out of cost budget, no further validation rules will be run";
        self.invalid(node, path, words);
        Err(Stop)
    }
}
