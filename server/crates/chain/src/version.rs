//! `/version`: which Kubernetes this is compatible with, and what it really is.

use apiwright_json::{Object, Value};
use futures::future::BoxFuture;

use crate::body::Response;
use crate::document;
use crate::pages::Pages;
use crate::request::Request;

/// The Kubernetes release whose API this is.
pub const MINOR: u32 = 36;

/// The document.
pub fn document() -> Value {
    let minor = MINOR.to_string();
    let mut object = Object::new();
    object.push("major", "1");
    object.push("minor", minor.as_str());
    object.push("emulationMajor", "1");
    object.push("emulationMinor", minor.as_str());
    object.push("minCompatibilityMajor", "1");
    object.push("minCompatibilityMinor", (MINOR - 1).to_string());
    object.push("gitVersion", git_version());
    object.push("gitCommit", option_env!("APIWRIGHT_GIT_COMMIT").unwrap_or_default());
    object.push("gitTreeState", "clean");
    object.push("buildDate", option_env!("APIWRIGHT_BUILD_DATE").unwrap_or("1970-01-01T00:00:00Z"));
    object.push("goVersion", "none");
    object.push("compiler", "rustc");
    object.push("platform", format!("{}/{}", std::env::consts::OS, architecture()));
    Value::Object(object)
}

/// `v1.36.0+apiwright.0.1.0`: clients read the part before the plus.
pub fn git_version() -> String {
    format!("v1.{MINOR}.0+apiwright.{}", env!("CARGO_PKG_VERSION"))
}

/// Answers `/version` and what is below it.
pub struct VersionPage;

impl Pages for VersionPage {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        let document = || apiwright_json::to_string_pretty(&document()).into_bytes();
        Box::pin(std::future::ready(document::answer(request, "/version", "application/json", document)))
    }

    fn paths(&self) -> Vec<String> {
        vec!["/version".into()]
    }
}

/// As Go calls it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}
