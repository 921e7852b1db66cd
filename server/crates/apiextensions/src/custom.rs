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
use apiwright_schema::Struct;
use apiwright_schema::validate::{Words, validate};
use futures::future::BoxFuture;

use crate::definition::{Scale, Version};
use crate::validations::{Findings, Validator};
use crate::{embedded, finalizers, scale};

/// The hooks of one version of a custom resource.
#[derive(Debug)]
pub(crate) struct CustomHooks {
    /// What every answer warns of.
    deprecation: Option<String>,
    /// What the schema asks of names.
    metadata: Option<Struct>,
    /// The schema, where it embeds resources.
    embedding: Option<Value>,
    scale: Option<Scale>,
    rules: Option<Arc<Validator>>,
}

impl CustomHooks {
    pub(crate) fn of(version: &Version, metadata: Option<Struct>, rules: Option<Arc<Validator>>) -> Self {
        Self {
            deprecation: version.deprecation.clone(),
            metadata,
            embedding: embedded::is_in(&version.schema).then(|| version.schema.clone()),
            scale: version.scale.clone(),
            rules,
        }
    }

    fn validate(
        &self,
        context: WriteContext<'_>,
        object: &Value,
        old: Option<&Value>,
        errors: &mut ErrorList,
    ) {
        if let Some(names) = &self.metadata
            && let (Some(metadata), None) = (object.get("metadata"), old)
        {
            validate(names, metadata, None, &Path::new("metadata"), Words::Custom, errors);
        }
        if let Some(schema) = &self.embedding {
            embedded::validate(schema, object, old, &Path::default(), errors);
        }
        if let Some(scale) = &self.scale {
            if context.subresource != "status" {
                scale::spec(scale, object, errors);
            }
            scale::status(scale, object, errors);
        }
        if let Some(rules) = &self.rules {
            check_rules(rules, context, object, old, errors);
        }
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
