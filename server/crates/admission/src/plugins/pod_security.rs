//! `PodSecurity`: holds pods to the Pod Security Standard that their namespace's labels name.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, GroupKind, Status};
use futures::FutureExt;
use futures::future::BoxFuture;

use self::existing::warnings_about_existing;
use self::policy::{Level, Policy};
use self::verdict::evaluate;
use super::values::{items, text};
use crate::annotations::Wanted;
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;

mod baseline;
mod existing;
mod fields;
mod policy;
mod restricted;
mod verdict;

/// Subresources that do not change what a pod is.
const IGNORED: [&str; 8] = ["attach", "binding", "eviction", "exec", "log", "portforward", "proxy", "status"];

/// Where kinds that make pods keep the template.
const TEMPLATES: [(&str, &str, &[&str]); 8] = [
    ("", "podtemplates", &["template"]),
    ("", "replicationcontrollers", &["spec", "template"]),
    ("apps", "replicasets", &["spec", "template"]),
    ("apps", "deployments", &["spec", "template"]),
    ("apps", "statefulsets", &["spec", "template"]),
    ("apps", "daemonsets", &["spec", "template"]),
    ("batch", "jobs", &["spec", "template"]),
    ("batch", "cronjobs", &["spec", "jobTemplate", "spec", "template"]),
];

/// The plugin.
pub(crate) struct PodSecurity {
    objects: Objects,
}

impl PodSecurity {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects }
    }

    /// The policy of a request's namespace. Labels that cannot be read hold it to the strictest.
    async fn policy(&self, namespace: &str) -> Result<(Policy, ErrorList)> {
        let Some(stored) = self.objects.stored("", "namespaces", "", namespace).await? else {
            return Ok((Policy::default(), ErrorList::new()));
        };
        Ok(Policy::of(|label| stored.facts().label(label)))
    }

    async fn check_pod(&self, request: &Attributes<'_>, pod: &Value, old: Option<&Value>) -> Result<()> {
        let (policy, errors) = self.policy(request.namespace).await?;
        let asks = !policy.is_privileged() || !errors.is_empty();
        if !asks || old.is_some_and(|old| !is_significant(pod, old)) {
            return Ok(());
        }
        request.annotations.add(note("enforce-policy"), || policy.enforce.to_string());
        audit(request, &policy, &errors, pod);
        if let Some(faults) = evaluate(&policy.enforce, pod) {
            let why = format!("violates PodSecurity \"{}\": {}", policy.enforce, faults.details());
            return Err(request.forbid(Some(pod), why));
        }
        warn(request, &policy, pod);
        Ok(())
    }

    async fn check_template(&self, request: &Attributes<'_>, object: &Value, path: &[&str]) -> Result<()> {
        let (policy, errors) = self.policy(request.namespace).await?;
        if let Some(template) = object.at(path) {
            audit(request, &policy, &errors, template);
            warn(request, &policy, template);
        }
        Ok(())
    }

    async fn check_namespace(
        &self,
        request: &Attributes<'_>,
        namespace: &Value,
        old: Option<&Value>,
    ) -> Result<()> {
        let policy_of = |object: &Value| Policy::of(|label| object::label(object, label));
        let (policy, errors) = policy_of(namespace);
        let before = old.map(policy_of);
        let known = before.as_ref().is_some_and(|(_, old)| *old == errors);
        if !errors.is_empty() && !known {
            let kind = GroupKind { group: "".into(), kind: "Namespace".into() };
            return Err(Status::invalid(&kind, object::name(namespace), &errors));
        }
        let Some((before, _)) = before else { return Ok(()) };
        let relaxed =
            policy.enforce.version == before.enforce.version && policy.enforce.level <= before.enforce.level;
        if relaxed || policy.enforce.level == Level::Privileged {
            return Ok(());
        }
        let pods = self.objects.list("", "pods", object::name(namespace)).await?;
        for warning in warnings_about_existing(object::name(namespace), &policy.enforce, &pods) {
            request.warnings.add(warning);
        }
        Ok(())
    }
}

impl Plugin for PodSecurity {
    fn name(&self) -> &'static str {
        "PodSecurity"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        if !matches!(request.operation, Operation::Create | Operation::Update) {
            return false;
        }
        (request.is_of("", "pods") && !IGNORED.contains(&request.subresource))
            || request.is("", "namespaces")
            || template_path(request).is_some()
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            let Some(object) = object else { return Ok(()) };
            if request.is("", "namespaces") {
                return self.check_namespace(request, object, old).await;
            }
            match template_path(request) {
                Some(path) => self.check_template(request, object, path).await,
                None => self.check_pod(request, object, old).await,
            }
        }
        .boxed()
    }
}

fn template_path(request: &Attributes<'_>) -> Option<&'static [&'static str]> {
    TEMPLATES.iter().find(|(group, plural, _)| request.is(group, plural)).map(|(_, _, path)| *path)
}

fn note(name: &str) -> String {
    format!("pod-security.kubernetes.io/{name}")
}

/// Notes what a pod would violate, where somebody wants to know.
fn audit(request: &Attributes<'_>, policy: &Policy, errors: &ErrorList, pod: &Value) {
    if request.annotations.wanted() == Wanted::Nothing {
        return;
    }
    if !errors.is_empty() {
        request.annotations.add(note("error"), || format!("Failed to parse policy: {}", errors.aggregate()));
    }
    if let Some(faults) = evaluate(&policy.audit, pod) {
        request.annotations.add(note("audit-violations"), || {
            format!("would violate PodSecurity \"{}\": {}", policy.audit, faults.details())
        });
    }
}

fn warn(request: &Attributes<'_>, policy: &Policy, pod: &Value) {
    if let Some(faults) = evaluate(&policy.warn, pod) {
        let text = format!("would violate PodSecurity \"{}\": {}", policy.warn, faults.details());
        request.warnings.add(text);
    }
}

/// Whether an update changes what the standards look at: which containers there are, and their images.
fn is_significant(pod: &Value, old: &Value) -> bool {
    ["containers", "initContainers", "ephemeralContainers"].iter().any(|member| {
        let images = |pod: &Value| -> Vec<(String, String)> {
            let containers = items(pod, &["spec", member]);
            containers.map(|one| (text(one, "name").to_owned(), text(one, "image").to_owned())).collect()
        };
        images(pod) != images(old)
    })
}
