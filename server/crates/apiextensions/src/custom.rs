//! What is special about custom resources besides their schema.

use std::sync::Arc;

use apiwright_admission::Plugin;
use apiwright_admission::attributes::{Attributes, Operation};
use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_registry::Hooks;
use futures::future::BoxFuture;

/// The hooks of one version of a custom resource.
#[derive(Debug)]
pub(crate) struct CustomHooks {
    /// What every answer warns of.
    pub(crate) deprecation: Option<String>,
}

impl Hooks for CustomHooks {
    fn deprecation(&self) -> Option<&str> {
        self.deprecation.as_deref()
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
