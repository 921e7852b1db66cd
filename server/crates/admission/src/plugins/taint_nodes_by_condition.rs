//! `TaintNodesByCondition`: a new node takes no pods until it is known to be ready.

use apiwright_json::{Object, Value};
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::values::{array_at, items, text};
use crate::attributes::{Attributes, Operation};
use crate::plugin::Plugin;

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const NO_SCHEDULE: &str = "NoSchedule";

/// The plugin.
pub(crate) struct TaintNodesByCondition;

impl Plugin for TaintNodesByCondition {
    fn name(&self) -> &'static str {
        "TaintNodesByCondition"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Create && request.is("", "nodes")
    }

    fn mutate<'a>(
        &'a self,
        _request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        if let Some(node) = object {
            let tainted = items(node, &["spec", "taints"])
                .any(|taint| text(taint, "key") == NOT_READY && text(taint, "effect") == NO_SCHEDULE);
            if !tainted {
                let mut taint = Object::with_capacity(2);
                taint.push("key", NOT_READY);
                taint.push("effect", NO_SCHEDULE);
                array_at(node, &["spec"], "taints").push(Value::Object(taint));
            }
        }
        async { Ok(()) }.boxed()
    }
}
