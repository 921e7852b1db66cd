//! `DefaultStorageClass` and `DefaultIngressClass`: what names no class gets the default one, the
//! newest where there are several.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::values::object_at;
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;

/// One of the plugins: which objects get the default of which classes.
pub(crate) struct DefaultClass {
    objects: Objects,
    rule: &'static Rule,
}

struct Rule {
    plugin: &'static str,
    /// Group and plural of the objects.
    of: (&'static str, &'static str),
    /// The field of their spec that names a class.
    field: &'static str,
    /// The annotation that named it before there was a field.
    annotation: &'static str,
    /// Group and plural of the classes.
    classes: (&'static str, &'static str),
    /// The annotations that make one the default.
    marks: &'static [&'static str],
}

static STORAGE: Rule = Rule {
    plugin: "DefaultStorageClass",
    of: ("", "persistentvolumeclaims"),
    field: "storageClassName",
    annotation: "volume.beta.kubernetes.io/storage-class",
    classes: ("storage.k8s.io", "storageclasses"),
    marks: &[
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ],
};

static INGRESS: Rule = Rule {
    plugin: "DefaultIngressClass",
    of: ("networking.k8s.io", "ingresses"),
    field: "ingressClassName",
    annotation: "kubernetes.io/ingress.class",
    classes: ("networking.k8s.io", "ingressclasses"),
    marks: &["ingressclass.kubernetes.io/is-default-class"],
};

impl DefaultClass {
    pub(crate) fn of_storage(objects: Objects) -> Self {
        Self { objects, rule: &STORAGE }
    }

    pub(crate) fn of_ingresses(objects: Objects) -> Self {
        Self { objects, rule: &INGRESS }
    }

    async fn admit(&self, object: &mut Value) -> Result<()> {
        let rule = self.rule;
        if object.at(&["spec", rule.field]).is_some() || object::annotation(object, rule.annotation).is_some()
        {
            return Ok(());
        }
        let classes = self.objects.list(rule.classes.0, rule.classes.1, "").await?;
        if let Some(name) = newest_default(&classes, rule.marks) {
            object_at(object, &["spec"]).insert(rule.field, name);
        }
        Ok(())
    }
}

impl Plugin for DefaultClass {
    fn name(&self) -> &'static str {
        self.rule.plugin
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        request.operation == Operation::Create && request.is(self.rule.of.0, self.rule.of.1)
    }

    fn mutate<'a>(
        &'a self,
        _request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(object) => self.admit(object).await,
                None => Ok(()),
            }
        }
        .boxed()
    }
}

/// The name of the newest default; of those of one second the first by name.
fn newest_default<'a>(classes: &'a [Value], marks: &[&str]) -> Option<&'a str> {
    let is_default =
        |class: &&Value| marks.iter().any(|mark| object::annotation(class, mark) == Some("true"));
    let newest = classes.iter().filter(is_default).min_by(|a, b| {
        let (time_a, time_b) = (object::creation_timestamp(a), object::creation_timestamp(b));
        time_b.cmp(&time_a).then_with(|| object::name(a).cmp(object::name(b)))
    });
    newest.map(object::name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_wins() {
        let class = |name: &str, time: &str, default: &str| {
            let text = format!(
                r#"{{"metadata":{{"name":"{name}","creationTimestamp":"{time}","annotations":{{"{}":"{default}"}}}}}}"#,
                STORAGE.marks[0]
            );
            apiwright_json::decode(text.as_bytes()).unwrap().0
        };
        let (old, new) = ("2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z");
        for (classes, want) in [
            (vec![], None),
            (vec![class("a", old, "false")], None),
            (vec![class("a", old, "true"), class("b", new, "true"), class("c", new, "false")], Some("b")),
            (vec![class("b", new, "true"), class("a", new, "true")], Some("a")),
        ] {
            assert_eq!(newest_default(&classes, STORAGE.marks), want);
        }
    }
}
