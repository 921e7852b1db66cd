//! The plugins that are compiled in, one a file.

use std::sync::Arc;

use crate::objects::Objects;
use crate::plugin::Plugin;

mod namespace_lifecycle;

/// Every plugin that is compiled in.
pub fn built_in(objects: &Objects) -> Vec<Arc<dyn Plugin>> {
    vec![Arc::new(namespace_lifecycle::NamespaceLifecycle::new(objects.clone()))]
}
