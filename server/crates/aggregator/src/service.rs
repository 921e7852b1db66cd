//! An APIService as the aggregator sees it.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_remote::{ServiceReference, Trust};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

/// What counts of an APIService.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiService {
    /// Its name: version, dot, group.
    pub name: String,
    /// Empty for the core group.
    pub group: String,
    /// For instance `v1`.
    pub version: String,
    /// Where its group stands in discovery.
    pub group_priority: i32,
    /// Where its version stands in its group.
    pub version_priority: i32,
    /// Who serves it; `None` for this process.
    pub remote: Option<Remote>,
    /// Whether its condition says so.
    pub available: bool,
}

/// The server of an APIService.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Remote {
    /// How it is reached.
    pub service: ServiceReference,
    /// Whom it must prove to be.
    pub trust: Trust,
}

impl ApiService {
    /// Reads one as it is stored.
    pub fn read(value: &Value) -> Self {
        let spec = |member: &str| value.text_at(&["spec", member]).to_owned();
        let number = |path: &[&str]| value.at(path).and_then(Value::as_i64);
        let priority = |member: &str| {
            number(&["spec", member]).and_then(|number| i32::try_from(number).ok()).unwrap_or_default()
        };
        let reference = value.at(&["spec", "service"]).filter(|service| !service.is_null());
        let remote = reference.map(|reference| Remote {
            service: ServiceReference {
                namespace: reference.text_at(&["namespace"]).to_owned(),
                name: reference.text_at(&["name"]).to_owned(),
                port: number(&["spec", "service", "port"])
                    .and_then(|port| u16::try_from(port).ok())
                    .unwrap_or(443),
            },
            trust: Trust::of(
                &BASE64_STANDARD.decode(value.text_at(&["spec", "caBundle"])).unwrap_or_default(),
                value.at(&["spec", "insecureSkipTLSVerify"]).and_then(Value::as_bool).unwrap_or_default(),
            ),
        });
        Self {
            name: object::name(value).to_owned(),
            group: spec("group"),
            version: spec("version"),
            group_priority: priority("groupPriorityMinimum"),
            version_priority: priority("versionPriority"),
            remote,
            available: is_available(value),
        }
    }

    /// The path that its documents are below: `/apis/apps/v1`.
    pub fn path(&self) -> String {
        match self.group.as_str() {
            "" => format!("/api/{}", self.version),
            group => format!("/apis/{group}/{}", self.version),
        }
    }
}

fn is_available(value: &Value) -> bool {
    let conditions = value.at(&["status", "conditions"]).and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .find(|condition| condition.text_at(&["type"]) == "Available")
        .is_some_and(|condition| condition.text_at(&["status"]) == "True")
}
