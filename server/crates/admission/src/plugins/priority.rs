//! Priority: a pod's priority is that of its class, and only one class is the default.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Result;
use futures::FutureExt;
use futures::future::BoxFuture;

use super::values::{object_at, text};
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;
use crate::plugin::Plugin;

const GROUP: &str = "scheduling.k8s.io";
const CLASSES: &str = "priorityclasses";
/// The policy of pods whose class says nothing.
const PREEMPT: &str = "PreemptLowerPriority";

/// The plugin.
pub(crate) struct Priority {
    objects: Objects,
}

/// What a class gives a pod.
struct Class {
    name: String,
    value: i64,
    policy: Option<String>,
}

impl Priority {
    pub(crate) fn new(objects: Objects) -> Self {
        Self { objects }
    }

    async fn admit_pod(&self, request: &Attributes<'_>, pod: &mut Value, old: Option<&Value>) -> Result<()> {
        if let Some(old) = old {
            keep(pod, old);
            return Ok(());
        }
        let class = match pod.text_at(&["spec", "priorityClassName"]) {
            "" => self.default_class().await?.unwrap_or_else(|| Class {
                name: String::new(),
                value: 0,
                policy: Some(PREEMPT.into()),
            }),
            name => {
                let class = self.objects.get(GROUP, CLASSES, "", name).await?;
                let absent = || format!("no PriorityClass with name {name} was found");
                Class::of(&class.ok_or_else(|| request.forbid(Some(pod), absent()))?)
            }
        };
        let given = pod.at(&["spec", "priority"]).and_then(Value::as_i64);
        if let Some(given) = given.filter(|given| *given != class.value) {
            let why = format!(
                "the integer value of priority ({given}) must not be provided in pod spec; priority admission \
                 controller computed {} from the given PriorityClass name",
                class.value
            );
            return Err(request.forbid(Some(pod), why));
        }
        let given = pod.text_at(&["spec", "preemptionPolicy"]);
        if let Some(policy) = class.policy.as_deref().filter(|policy| !given.is_empty() && given != *policy) {
            let why = format!(
                "the string value of PreemptionPolicy ({given}) must not be provided in pod spec; priority \
                 admission controller computed {policy} from the given PriorityClass name"
            );
            return Err(request.forbid(Some(pod), why));
        }
        let spec = object_at(pod, &["spec"]);
        if !class.name.is_empty() {
            spec.insert("priorityClassName", class.name);
        }
        spec.insert("priority", class.value);
        if let Some(policy) = class.policy {
            spec.insert("preemptionPolicy", policy);
        }
        Ok(())
    }

    /// The default class; of several the lowest.
    async fn default_class(&self) -> Result<Option<Class>> {
        let classes = self.objects.list_saying(GROUP, CLASSES, "", r#""globalDefault":true"#).await?;
        let defaults = classes.iter().filter(|class| is_default(class)).map(Class::of);
        Ok(defaults.min_by_key(|class| class.value))
    }

    async fn validate_class(&self, request: &Attributes<'_>, class: &Value) -> Result<()> {
        if !is_default(class) {
            return Ok(());
        }
        let Some(default) = self.default_class().await? else { return Ok(()) };
        if request.operation == Operation::Update && default.name == object::name(class) {
            return Ok(());
        }
        let why = format!(
            "PriorityClass {} is already marked as default. Only one default can exist",
            default.name
        );
        Err(request.forbid(Some(class), why))
    }
}

impl Class {
    fn of(class: &Value) -> Self {
        Self {
            name: object::name(class).to_owned(),
            value: class.get("value").and_then(Value::as_i64).unwrap_or_default(),
            policy: Some(text(class, "preemptionPolicy").to_owned()).filter(|policy| !policy.is_empty()),
        }
    }
}

impl Plugin for Priority {
    fn name(&self) -> &'static str {
        "Priority"
    }

    fn concerns(&self, request: &Attributes<'_>) -> bool {
        matches!(request.operation, Operation::Create | Operation::Update)
            && (request.is("", "pods") || request.is(GROUP, CLASSES))
    }

    fn mutate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a mut Value>,
        old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(pod) if request.is("", "pods") => self.admit_pod(request, pod, old).await,
                _ => Ok(()),
            }
        }
        .boxed()
    }

    fn validate<'a>(
        &'a self,
        request: &'a Attributes<'a>,
        object: Option<&'a Value>,
        _old: Option<&'a Value>,
    ) -> BoxFuture<'a, Result<()>> {
        async move {
            match object {
                Some(class) if request.is(GROUP, CLASSES) => self.validate_class(request, class).await,
                _ => Ok(()),
            }
        }
        .boxed()
    }
}

fn is_default(class: &Value) -> bool {
    class.get("globalDefault").and_then(Value::as_bool).unwrap_or_default()
}

/// What an update leaves out stays as creation set it.
fn keep(pod: &mut Value, old: &Value) {
    for member in ["priority", "preemptionPolicy"] {
        let Some(value) = old.at(&["spec", member]) else { continue };
        if pod.at(&["spec", member]).is_none() {
            object_at(pod, &["spec"]).insert(member, value.clone());
        }
    }
}
