//! Match conditions of webhook authorizers: expressions about a request, all of which must hold for it to be asked.

use std::sync::{Arc, LazyLock};

use apiwright_cel::{CALL_LIMIT, Decl, Env, Program, Val};
use apiwright_json::Value;
use apiwright_policy::{Expected, compile};

use crate::authorization::aggregate;

/// Compiled conditions.
#[derive(Debug, Default)]
pub(crate) struct MatchConditions(Vec<(String, Program)>);

impl MatchConditions {
    /// Compiles conditions.
    ///
    /// # Errors
    /// The first that cannot be.
    pub(crate) fn compile(expressions: &[String]) -> Result<Self, String> {
        let compiled = expressions.iter().map(|text| Ok((text.clone(), condition(text)?)));
        compiled.collect::<Result<_, String>>().map(Self)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether all hold of the spec of a review.
    ///
    /// # Errors
    /// Where none is known not to, and some failed.
    pub(crate) fn hold(&self, review: &Value) -> Result<bool, String> {
        let mut errors = Vec::new();
        for (text, program) in &self.0 {
            let held = Val::declared(review, &REVIEW).and_then(|review| {
                program.evaluate(&[review], CALL_LIMIT).value.map(|value| value.is_true())
            });
            match held {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(why) => {
                    errors
                        .push(format!("cel evaluation error: expression '{text}' resulted in error: {why}"));
                }
            }
        }
        aggregate(errors).map_or(Ok(true), Err)
    }
}

/// Compiles one.
///
/// # Errors
/// With upstream's text.
pub(crate) fn condition(expression: &str) -> Result<Program, String> {
    static ENV: LazyLock<Env> = LazyLock::new(|| Env::new().with_decl("request", &REVIEW));
    compile(&ENV, expression, Expected::Bool)
}

/// How the spec of a review is read.
static REVIEW: LazyLock<Arc<Decl>> = LazyLock::new(|| {
    let text = Decl::string;
    let texts = || Decl::list_of(text());
    let requirement = || {
        let fields = vec![("key", text()), ("operator", text()), ("values", texts())];
        Decl::object("kubernetes.SelectorRequirement", fields)
    };
    let selector = |name: &str| {
        let fields = vec![("rawSelector", text()), ("requirements", Decl::list_of(requirement()))];
        Decl::object(name, fields)
    };
    let mut resource: Vec<(&str, Arc<Decl>)> =
        ["namespace", "verb", "group", "version", "resource", "subresource", "name"]
            .map(|member| (member, text()))
            .to_vec();
    resource.push(("fieldSelector", selector("kubernetes.FieldSelectorAttributes")));
    resource.push(("labelSelector", selector("kubernetes.LabelSelectorAttributes")));
    let other = vec![("path", text()), ("verb", text())];
    Decl::object(
        "kubernetes.SubjectAccessReviewSpec",
        vec![
            ("resourceAttributes", Decl::object("kubernetes.ResourceAttributes", resource)),
            ("nonResourceAttributes", Decl::object("kubernetes.NonResourceAttributes", other)),
            ("user", text()),
            ("groups", texts()),
            ("extra", Decl::map_of(texts())),
            ("uid", text()),
        ],
    )
});

#[cfg(test)]
mod tests {
    use super::*;

    const RESOURCE: &str = r#"{"user":"jane","groups":["devs"],"uid":"","extra":{},"resourceAttributes":{"namespace":"kube-system","verb":"get","group":"","version":"v1","resource":"pods","subresource":"","name":"p"}}"#;
    const OTHER: &str = r#"{"user":"jane","groups":["devs"],"uid":"","extra":{},"nonResourceAttributes":{"verb":"get","path":"/logs"}}"#;

    #[test]
    fn conditions_hold_or_do_not() {
        let missing = "cel evaluation error: expression 'request.resourceAttributes.namespace == 'x'' resulted in error: no such key: resourceAttributes";
        for (json, expressions, expected) in [
            (
                RESOURCE,
                &["has(request.resourceAttributes)", "request.resourceAttributes.namespace == 'kube-system'"]
                    [..],
                Ok(true),
            ),
            (RESOURCE, &["'devs' in request.groups", "request.user != 'jane'"], Ok(false)),
            (RESOURCE, &["!('x' in request.extra)"], Ok(true)),
            (OTHER, &["has(request.resourceAttributes)"], Ok(false)),
            (OTHER, &["request.resourceAttributes.namespace == 'x'"], Err(missing)),
            (OTHER, &["request.resourceAttributes.namespace == 'x'", "request.user == 'bob'"], Ok(false)),
        ] {
            let expressions: Vec<String> = expressions.iter().map(|&text| text.to_owned()).collect();
            let review = apiwright_json::decode(json.as_bytes()).unwrap().0;
            let held = MatchConditions::compile(&expressions).unwrap().hold(&review);
            assert_eq!(
                held.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|why| *why),
                "{expressions:?}"
            );
        }
        let faults = MatchConditions::compile(&["request.user".into()]).unwrap_err();
        assert_eq!(faults, "must evaluate to bool but got string");
    }
}
