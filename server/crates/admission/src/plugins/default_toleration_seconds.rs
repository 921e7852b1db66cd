//! `DefaultTolerationSeconds`: pods tolerate nodes that are not ready or unreachable for a while.

use apiwright_json::{Object, Value};
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::values::{array_at, text};
use crate::attributes::{Attributes, Operation};
use crate::plugin::Plugin;

/// For how many seconds pods stay that do not say.
#[derive(Clone, Copy, Debug)]
pub struct Tolerations {
    /// On a node that is not ready.
    pub not_ready: i64,
    /// On a node that cannot be reached.
    pub unreachable: i64,
}

impl Default for Tolerations {
    fn default() -> Self {
        Self { not_ready: 300, unreachable: 300 }
    }
}

/// The plugin.
pub(crate) struct DefaultTolerationSeconds(pub(crate) Tolerations);

impl Plugin for DefaultTolerationSeconds {
    fn name(&self) -> &'static str {
        "DefaultTolerationSeconds"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        matches!(request.operation, Operation::Create | Operation::Update) && request.is("", "pods")
    }

    fn mutate<'a>(
        &'a self,
        _request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        if let Some(pod) = object {
            tolerate(pod, self.0);
        }
        async { Ok(()) }.boxed()
    }
}

fn tolerate(pod: &mut Value, tolerations: Tolerations) {
    let has = |taint: &str| {
        let list = pod.at(&["spec", "tolerations"]).and_then(Value::as_array);
        list.into_iter().flatten().any(|one| {
            ["", taint].contains(&text(one, "key")) && ["", "NoExecute"].contains(&text(one, "effect"))
        })
    };
    let taints = [
        ("node.kubernetes.io/not-ready", tolerations.not_ready),
        ("node.kubernetes.io/unreachable", tolerations.unreachable),
    ];
    let missing: Vec<(&str, i64)> = taints.into_iter().filter(|(taint, _)| !has(taint)).collect();
    if missing.is_empty() {
        return;
    }
    let list = array_at(pod, &["spec"], "tolerations");
    list.extend(missing.into_iter().map(|(taint, seconds)| {
        let mut toleration = Object::with_capacity(4);
        toleration.push("key", taint);
        toleration.push("operator", "Exists");
        toleration.push("effect", "NoExecute");
        toleration.push("tolerationSeconds", seconds);
        Value::Object(toleration)
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

    #[test]
    fn what_is_tolerated_already() {
        let added = |key: &str| {
            format!(r#"{{"key":"{key}","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}}"#)
        };
        let both = format!("[{},{}]", added(TAINTS[0]), added(TAINTS[1]));
        let own = r#"{"key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":5}"#;
        for (given, want) in [
            (r#"{"spec":{}}"#.to_owned(), both),
            (format!(r#"{{"spec":{{"tolerations":[{own}]}}}}"#), format!("[{own},{}]", added(TAINTS[1]))),
            (
                r#"{"spec":{"tolerations":[{"operator":"Exists"}]}}"#.to_owned(),
                r#"[{"operator":"Exists"}]"#.to_owned(),
            ),
        ] {
            let mut pod = apiwright_json::decode(given.as_bytes()).unwrap().0;
            tolerate(&mut pod, Tolerations::default());
            assert_eq!(apiwright_json::to_string(pod.at(&["spec", "tolerations"]).unwrap()), want);
        }
    }
}
