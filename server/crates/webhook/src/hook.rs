//! One webhook of a configuration, compiled.

use std::time::Duration;

use apiwright_admission::matching::Criteria;
use apiwright_json::Value;
use apiwright_policy::Conditions;

use crate::client::{Client, Clients};

/// A webhook.
#[derive(Debug)]
pub(crate) struct Hook {
    /// Tells it from all others: its configuration, its name, and how many of that name were before.
    pub(crate) id: String,
    /// The name of its configuration.
    pub(crate) configuration: String,
    /// Its name.
    pub(crate) name: String,
    /// What it is about.
    pub(crate) criteria: Criteria,
    /// Whether it may be out of reach.
    pub(crate) ignores_failures: bool,
    /// Whether it may be called in a dry run.
    pub(crate) is_harmless: bool,
    /// Whether it is called again when others change the object.
    pub(crate) again: bool,
    /// How long it has for its answer.
    pub(crate) timeout: Duration,
    /// The first of the review versions that it reads and we write.
    pub(crate) review: Option<ReviewVersion>,
    /// What else must hold for it to be called.
    pub(crate) conditions: Conditions,
    /// How it is called.
    pub(crate) client: Client,
}

/// A version of AdmissionReview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(crate) enum ReviewVersion {
    V1,
    V1Beta1,
}

impl Hook {
    /// The webhooks of a configuration in normal form, in its order.
    pub(crate) fn all(configuration: &Value, clients: &Clients) -> Vec<Self> {
        let name = apiwright_meta::object::name(configuration);
        let hooks = configuration.get("webhooks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let nth = |at: usize| {
            let name = hooks[at].text_at(&["name"]);
            hooks[..at].iter().filter(|hook| hook.text_at(&["name"]) == name).count()
        };
        let hook = |(at, hook): (usize, &Value)| {
            let id = format!("{name}/{}/{}", hook.text_at(&["name"]), nth(at));
            Self { configuration: name.to_owned(), ..Self::compile(hook, id, clients) }
        };
        hooks.iter().enumerate().map(hook).collect()
    }

    fn compile(hook: &Value, id: String, clients: &Clients) -> Self {
        let none = Value::Null;
        let seconds = hook.get("timeoutSeconds").and_then(Value::as_i64).and_then(|n| n.try_into().ok());
        let versions = hook.get("admissionReviewVersions").and_then(Value::as_array).into_iter().flatten();
        let conditions = hook.get("matchConditions").and_then(Value::as_array);
        Self {
            id,
            configuration: String::new(),
            name: hook.text_at(&["name"]).into(),
            criteria: Criteria::of_webhook(hook),
            ignores_failures: hook.text_at(&["failurePolicy"]) == "Ignore",
            is_harmless: matches!(hook.text_at(&["sideEffects"]), "None" | "NoneOnDryRun"),
            again: hook.text_at(&["reinvocationPolicy"]) == "IfNeeded",
            timeout: Duration::from_secs(seconds.unwrap_or(10)),
            review: versions.filter_map(Value::as_str).find_map(|version| match version {
                "v1" => Some(ReviewVersion::V1),
                "v1beta1" => Some(ReviewVersion::V1Beta1),
                _ => None,
            }),
            conditions: Conditions::of_webhook(conditions.map_or(&[], Vec::as_slice)),
            client: clients.of(hook.get("clientConfig").unwrap_or(&none)),
        }
    }
}

impl ReviewVersion {
    /// `admission.k8s.io/v1`.
    pub(crate) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "admission.k8s.io/v1",
            Self::V1Beta1 => "admission.k8s.io/v1beta1",
        }
    }
}
