//! What is special about custom resources besides their schema.

use std::sync::Arc;

use apiwright_admission::Plugin;
use apiwright_admission::attributes::{Attributes, Operation};
use apiwright_json::Value;
use apiwright_meta::field::{Error, Kind};
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Path};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;
use apiwright_schema::validate::{custom, repeated};
use apiwright_schema::{Node, Shape};
use futures::future::BoxFuture;

use crate::definition::{Scale, Version};
use crate::validations::{Findings, Validator};
use crate::{embedded, finalizers, scale};

/// The hooks of one version of a custom resource.
#[derive(Debug)]
pub(crate) struct CustomHooks {
    /// What every answer warns of.
    deprecation: Option<String>,
    /// What objects must satisfy.
    node: Arc<Node>,
    /// Whether the schema says that items of lists differ.
    has_keys: bool,
    /// The schema, where it embeds resources.
    embedding: Option<Arc<Value>>,
    scale: Option<Scale>,
    rules: Option<Arc<Validator>>,
}

impl CustomHooks {
    pub(crate) fn of(
        version: &Version,
        deprecation: Option<String>,
        node: Arc<Node>,
        rules: Option<Arc<Validator>>,
    ) -> Self {
        Self {
            deprecation,
            node,
            has_keys: says(&version.schema, "x-kubernetes-list-type"),
            embedding: says(&version.schema, "x-kubernetes-embedded-resource")
                .then(|| Arc::clone(&version.schema)),
            scale: version.scale.clone(),
            rules,
        }
    }

    /// Faults, in upstream's order: by the schema, of what is scaled, of embedded resources, of lists
    /// whose items have to differ, by rules.
    fn validate(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: Option<&Value>,
        errors: &mut ErrorList,
    ) {
        let is_status = context.subresource == "status";
        if is_status {
            self.validate_status(object, old, errors);
        } else {
            custom(&self.node, object, old, &Path::default(), errors);
        }
        if let Some(scale) = &self.scale {
            if !is_status {
                scale::spec(scale, object, errors);
            }
            scale::status(scale, object, errors);
        }
        if let Some(schema) = self.embedding.as_deref().filter(|_| !is_status) {
            embedded::validate(schema, object, &Path::default(), errors);
        }
        if self.has_keys {
            let mut found = ErrorList::new();
            repeated(&self.node, object, &mut found);
            // Lists that had duplicates may have others.
            if !found.is_empty() && !old.is_some_and(|old| self.repeats(old)) {
                errors.append(found);
            }
        }
        if let Some(rules) = &self.rules {
            check_rules(rules, context, object, old, errors);
        }
    }

    /// Of a status, only that is looked at, as if there were nothing around it.
    fn validate_status(&self, object: &Value, old: Option<&Value>, errors: &mut ErrorList) {
        if let Shape::Struct(ty) = &self.node.shape
            && let Some(field) = ty.field("status")
            && let Some(status) = object.get("status")
        {
            let old = old.and_then(|old| old.get("status"));
            custom(&field.node, status, old, &Path::new("status"), errors);
        }
    }

    fn repeats(&self, object: &Value) -> bool {
        let mut found = ErrorList::new();
        repeated(&self.node, object, &mut found);
        !found.is_empty()
    }
}

/// Whether a schema has a word anywhere.
fn says(schema: &Value, word: &str) -> bool {
    match schema {
        Value::Object(members) => {
            members.contains_key(word) || members.values().any(|value| says(value, word))
        }
        Value::Array(items) => items.iter().any(|item| says(item, word)),
        _ => false,
    }
}

impl Hooks for CustomHooks {
    fn validate_create(&self, context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        self.validate(context, object, None, errors);
    }

    fn validate_update(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        self.validate(context, object, Some(old), errors);
    }

    fn warnings(&self, object: &Value, old: Option<&Value>) -> Vec<String> {
        finalizers::warnings(object, old)
    }

    fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
    }
}

/// Checks rules, unless the object is such that they could not be relied on.
fn check_rules(
    rules: &Validator,
    context: WriteContext<'_>,
    object: &Value,
    old: Option<&Value>,
    errors: &mut ErrorList,
) {
    let blocks = |error: &Error| {
        matches!(
            error.kind,
            Kind::NotSupported | Kind::Required | Kind::TooLong | Kind::TooMany | Kind::TypeInvalid
        )
    };
    if errors.0.iter().any(blocks) {
        let words = "some validation rules were not checked because the object was invalid; correct the existing errors \
                     to complete validation";
        errors.invalid(Path::default(), "null", words);
        return;
    }
    let mut tolerated = Vec::new();
    rules.validate(&Path::default(), object, old, &mut Findings { errors, tolerated: &mut tolerated });
    for text in tolerated {
        context.notes.add(text);
    }
}

/// Nothing is made of a definition that is on its way out.
pub(crate) struct NoCreation;

impl NoCreation {
    /// As the last plugin of an admission.
    pub(crate) fn plugin() -> Arc<dyn Plugin> {
        Arc::new(Self)
    }
}

impl Plugin for NoCreation {
    fn name(&self) -> &'static str {
        "NoCreationWhileTerminating"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Create
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        let why = "create not allowed while custom resource definition is terminating";
        let refusal = request.forbid(object.as_deref(), why);
        Box::pin(async { Err(refusal) })
    }
}
