//! The `ServiceCIDR` that the flags ask for says that it is ready.
//!
//! Whoever made it, it is this server that gives addresses from it.

use apiwright_json::{Object, Value};
use apiwright_meta::status::{Reason, Result};
use apiwright_meta::time;
use apiwright_registry::store::{Transform, WriteOptions};
use futures::future::BoxFuture;

use super::Services;
use crate::bootstrap::Unchecked;

/// The range of the flags.
const DEFAULT: &str = "kubernetes";

impl Services {
    /// Marks the default range, unless it has its mark.
    ///
    /// # Errors
    /// Where storage fails.
    pub async fn mark_ready(&self) -> Result<()> {
        let write = WriteOptions {
            subresource: "status".into(),
            user: "system:apiserver".into(),
            ..WriteOptions::default()
        };
        match self.addresses.ranges.update(&write, "", DEFAULT, &mut Ready, &Unchecked).await {
            Err(status) if status.reason != Some(Reason::NotFound) => Err(status),
            _ => Ok(()),
        }
    }
}

struct Ready;

impl Transform for Ready {
    fn apply<'a>(&'a mut self, old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        let mut range = old.cloned().unwrap_or_default();
        set_ready(&mut range);
        Box::pin(async move { Ok(range) })
    }
}

fn set_ready(range: &mut Value) {
    let Some(range) = range.as_object_mut() else { return };
    let conditions = range.object("status").entry("conditions", || Vec::<Value>::new().into());
    let Some(conditions) = conditions.as_array_mut() else { return };
    if conditions.iter().any(|one| one.text_at(&["type"]) == "Ready") {
        return;
    }
    let moment = time::now();
    let members = [
        ("type", "Ready"),
        ("status", "True"),
        ("lastTransitionTime", &*moment),
        ("reason", ""),
        ("message", "Kubernetes default Service CIDR is ready"),
    ];
    conditions.push(members.into_iter().collect::<Object>().into());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_marked_once() {
        let mut range: Value = Object::new().into();
        set_ready(&mut range);
        let once = range.clone();
        set_ready(&mut range);
        assert_eq!(range, once);
        assert_eq!(range.at(&["status", "conditions"]).and_then(Value::as_array).map(Vec::len), Some(1));
    }
}
