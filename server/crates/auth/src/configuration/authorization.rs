//! `AuthorizationConfiguration`: the authorizers, in order.

use std::collections::HashSet;
use std::path::{Path as FilePath, PathBuf};
use std::time::Duration;

use apiwright_meta::field::{Path, quoted};
use apiwright_meta::{ErrorList, names};

use super::strict::{Part, Strict, decode};
use crate::conditions::condition;
use crate::webhook::{FailurePolicy, ReviewVersion, WebhookOptions};

/// The types that there are.
const TYPES: [&str; 6] = ["ABAC", "AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"];
const WEBHOOK: [&str; 10] = [
    "authorizedTTL",
    "cacheAuthorizedRequests",
    "unauthorizedTTL",
    "cacheUnauthorizedRequests",
    "timeout",
    "subjectAccessReviewVersion",
    "matchConditionSubjectAccessReviewVersion",
    "failurePolicy",
    "connectionInfo",
    "matchConditions",
];
const CONDITIONS_MAX: usize = 64;
const SECOND: i64 = 1_000_000_000;
const TIMEOUT_MAX: i64 = 30 * SECOND;
const AUTHORIZED_TTL: i64 = 5 * 60 * SECOND;
const UNAUTHORIZED_TTL: i64 = 30 * SECOND;

/// The authorizers, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthorizationConfiguration {
    /// Each with its name.
    pub authorizers: Vec<(String, AuthorizerType)>,
}

/// An authorizer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum AuthorizerType {
    AlwaysAllow,
    AlwaysDeny,
    Node,
    Rbac,
    Webhook(Box<WebhookOptions>),
}

/// An authorizer as the file has it.
struct Written {
    kind: String,
    name: String,
    webhook: Option<WrittenWebhook>,
}

struct WrittenWebhook {
    authorized_ttl: i64,
    caches_authorized: bool,
    unauthorized_ttl: i64,
    caches_unauthorized: bool,
    timeout: i64,
    version: String,
    condition_version: String,
    failure_policy: String,
    connection: String,
    kubeconfig: Option<String>,
    conditions: Vec<String>,
}

impl AuthorizationConfiguration {
    /// Reads a file.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn load(path: &FilePath) -> Result<Self, String> {
        let text = std::fs::read(path).map_err(|error| {
            format!("cannot read the authorization configuration {}: {error}", path.display())
        })?;
        Self::read(&text)
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        let fail = |why: String| format!("failed to load AuthorizationConfiguration from file: {why}");
        let object = decode(text, "AuthorizationConfiguration").map_err(fail)?;
        let mut strict = Strict::new();
        let root = strict.root(&object, &["apiVersion", "kind", "authorizers"]);
        let written: Vec<Written> = strict
            .objects(&root, "authorizers", &["type", "name", "webhook"])
            .iter()
            .map(|part| Written::read(&mut strict, part))
            .collect();
        strict.end().map_err(fail)?;
        let errors = validate(&written);
        if !errors.is_empty() {
            return Err(errors.aggregate());
        }
        let mut faults = Vec::new();
        for one in written.iter().filter(|one| one.kind != "Webhook") {
            let expected = one.kind.to_lowercase();
            if one.name != expected {
                faults.push(format!(
                    "expected name {expected} for authorizer {} instead of {}",
                    one.kind, one.name
                ));
            }
        }
        if let Some(faults) = crate::authorization::aggregate(faults) {
            return Err(faults);
        }
        let authorizers = written.into_iter().map(|one| Ok((one.name.clone(), one.authorizer()?)));
        Ok(Self { authorizers: authorizers.collect::<Result<_, String>>()? })
    }
}

impl Written {
    fn read(strict: &mut Strict, part: &Part<'_>) -> Self {
        let webhook = strict.object(part, "webhook", &WEBHOOK);
        Self {
            kind: strict.text(part, "type"),
            name: strict.text(part, "name"),
            webhook: (!webhook.is_absent()).then(|| WrittenWebhook::read(strict, &webhook)),
        }
    }

    fn authorizer(self) -> Result<AuthorizerType, String> {
        Ok(match (self.kind.as_str(), self.webhook) {
            ("AlwaysAllow", _) => AuthorizerType::AlwaysAllow,
            ("AlwaysDeny", _) => AuthorizerType::AlwaysDeny,
            ("Node", _) => AuthorizerType::Node,
            ("RBAC", _) => AuthorizerType::Rbac,
            ("Webhook", Some(webhook)) => AuthorizerType::Webhook(Box::new(webhook.options()?)),
            (kind, _) => return Err(format!("authorizer {}: {kind} is not supported yet", self.name)),
        })
    }
}

impl WrittenWebhook {
    fn read(strict: &mut Strict, part: &Part<'_>) -> Self {
        let connection = strict.object(part, "connectionInfo", &["type", "kubeConfigFile"]);
        let or = |given: i64, default: i64| if given == 0 { default } else { given };
        let conditions = strict.objects(part, "matchConditions", &["expression"]);
        Self {
            authorized_ttl: or(strict.duration(part, "authorizedTTL"), AUTHORIZED_TTL),
            caches_authorized: strict.flag(part, "cacheAuthorizedRequests").unwrap_or(true),
            unauthorized_ttl: or(strict.duration(part, "unauthorizedTTL"), UNAUTHORIZED_TTL),
            caches_unauthorized: strict.flag(part, "cacheUnauthorizedRequests").unwrap_or(true),
            timeout: strict.duration(part, "timeout"),
            version: strict.text(part, "subjectAccessReviewVersion"),
            condition_version: strict.text(part, "matchConditionSubjectAccessReviewVersion"),
            failure_policy: strict.text(part, "failurePolicy"),
            connection: strict.text(&connection, "type"),
            kubeconfig: strict.optional_text(&connection, "kubeConfigFile"),
            conditions: conditions.iter().map(|one| strict.text(one, "expression")).collect(),
        }
    }

    fn options(self) -> Result<WebhookOptions, String> {
        if self.connection == "InClusterConfig" {
            return Err(
                "connectionInfo.type InClusterConfig is not supported: this server runs in no pod".into()
            );
        }
        let time = |nanos: i64| Duration::from_nanos(nanos.unsigned_abs());
        Ok(WebhookOptions {
            kubeconfig: PathBuf::from(self.kubeconfig.unwrap_or_default()),
            version: ReviewVersion::parse(&self.version).unwrap_or_default(),
            timeout: time(self.timeout),
            authorized_ttl: time(if self.caches_authorized { self.authorized_ttl } else { 0 }),
            unauthorized_ttl: time(if self.caches_unauthorized { self.unauthorized_ttl } else { 0 }),
            failure_policy: match self.failure_policy.as_str() {
                "Deny" => FailurePolicy::Deny,
                _ => FailurePolicy::NoOpinion,
            },
            conditions: self.conditions,
        })
    }
}

fn validate(authorizers: &[Written]) -> ErrorList {
    let mut errors = ErrorList::new();
    let root = Path::new("authorizers");
    if authorizers.is_empty() {
        errors.required(root.clone(), "at least one authorization mode must be defined");
    }
    let (mut kinds, mut seen) = (HashSet::new(), HashSet::new());
    for (at, one) in authorizers.iter().enumerate() {
        let path = root.index(at);
        let (kind, name) = (one.kind.as_str(), one.name.as_str());
        if kind.is_empty() {
            errors.required(path.child("type"), "");
            continue;
        }
        if !TYPES.contains(&kind) {
            errors.not_supported(path.child("type"), quoted(kind), &TYPES);
            continue;
        }
        if !kinds.insert(kind) && kind != "Webhook" {
            errors.duplicate(path.child("type"), quoted(kind));
            continue;
        }
        if name.is_empty() {
            errors.required(path.child("name"), "");
        } else if seen.contains(name) {
            errors.duplicate(path.child("name"), quoted(name));
        } else {
            let faults = names::dns1123_subdomain(name);
            if !faults.is_empty() {
                let detail = format!("authorizer name is invalid: {}", faults.join(", "));
                errors.invalid(path.child("name"), quoted(name), &detail);
            }
        }
        seen.insert(name);
        match (kind, &one.webhook) {
            ("Webhook", Some(webhook)) => validate_webhook(&mut errors, &path, webhook),
            ("Webhook", None) => errors.required(path.child("webhook"), "required when type=Webhook"),
            (_, Some(_)) => {
                let detail = "may only be specified when type=Webhook";
                errors.invalid(path.child("webhook"), quoted("non-null"), detail);
            }
            (_, None) => {}
        }
    }
    errors
}

fn validate_webhook(errors: &mut ErrorList, path: &Path, webhook: &WrittenWebhook) {
    let shown = |nanos: i64| quoted(&apiwright_meta::time::Duration::from_nanos(nanos).to_string());
    match webhook.timeout {
        0 => errors.required(path.child("timeout"), ""),
        1..=TIMEOUT_MAX => {}
        other => errors.invalid(path.child("timeout"), shown(other), "must be > 0s and <= 30s"),
    }
    for (member, ttl) in
        [("authorizedTTL", webhook.authorized_ttl), ("unauthorizedTTL", webhook.unauthorized_ttl)]
    {
        if ttl < 0 {
            errors.invalid(path.child(member), shown(ttl), "must be > 0s");
        }
    }
    one_of(errors, path.child("subjectAccessReviewVersion"), &webhook.version, &["v1", "v1beta1"]);
    let version = path.child("matchConditionSubjectAccessReviewVersion");
    match webhook.condition_version.as_str() {
        "" if webhook.conditions.is_empty() => {}
        "" => errors.required(version, "required if match conditions are specified"),
        "v1" => {}
        other => errors.not_supported(version, quoted(other), &["v1"]),
    }
    one_of(errors, path.child("failurePolicy"), &webhook.failure_policy, &["NoOpinion", "Deny"]);
    validate_connection(errors, &path.child("connectionInfo"), webhook);
    validate_conditions(errors, &path.child("matchConditions"), &webhook.conditions);
}

fn one_of(errors: &mut ErrorList, path: Path, value: &str, supported: &[&str]) {
    match value {
        "" => errors.required(path, ""),
        known if supported.contains(&known) => {}
        other => errors.not_supported(path, quoted(other), supported),
    }
}

fn validate_connection(errors: &mut ErrorList, path: &Path, webhook: &WrittenWebhook) {
    let file = path.child("kubeConfigFile");
    match (webhook.connection.as_str(), webhook.kubeconfig.as_deref()) {
        ("InClusterConfig", Some(given)) => {
            errors.invalid(file, quoted(given), "can only be set when type=KubeConfigFile");
        }
        ("KubeConfigFile", None | Some("")) => errors.required(file, ""),
        ("KubeConfigFile", Some(given)) => {
            let detail = match (FilePath::new(given).is_absolute(), std::fs::metadata(given)) {
                (false, _) => "must be an absolute path".to_owned(),
                (true, Err(error)) => format!("error loading file: stat {given}: {}", words(&error)),
                (true, Ok(found)) if !found.is_file() => "must be a regular file".to_owned(),
                (true, Ok(_)) => return,
            };
            errors.invalid(file, quoted(given), &detail);
        }
        (kind, _) => one_of(errors, path.child("type"), kind, &["InClusterConfig", "KubeConfigFile"]),
    }
}

/// As Go tells it of a file.
fn words(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_ascii_lowercase()
}

fn validate_conditions(errors: &mut ErrorList, path: &Path, conditions: &[String]) {
    if conditions.len() > CONDITIONS_MAX {
        errors.too_many(path.clone(), conditions.len(), CONDITIONS_MAX);
        return;
    }
    let mut seen = HashSet::new();
    for (at, expression) in conditions.iter().enumerate() {
        let path = path.index(at).child("expression");
        if expression.trim().is_empty() {
            errors.required(path, "");
        } else if !seen.insert(expression) {
            errors.duplicate(path, quoted(expression));
        } else if let Err(why) = condition(expression) {
            errors.invalid(path, quoted(expression), &why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(authorizers: &str) -> Result<AuthorizationConfiguration, String> {
        let text = format!(
            "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers: {authorizers}\n"
        );
        AuthorizationConfiguration::read(text.as_bytes())
    }

    #[test]
    fn authorizers_in_order() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().display();
        let webhook = format!(
            "{{timeout: 3s, cacheUnauthorizedRequests: false, subjectAccessReviewVersion: v1, failurePolicy: Deny, \
             matchConditionSubjectAccessReviewVersion: v1, \
             connectionInfo: {{type: KubeConfigFile, kubeConfigFile: {path}}}, \
             matchConditions: [{{expression: has(request.resourceAttributes)}}]}}"
        );
        let found = read(&format!(
            "[{{type: Webhook, name: first, webhook: {webhook}}}, {{type: Node, name: node}}, {{type: RBAC, name: rbac}}]"
        ));
        let options = WebhookOptions {
            kubeconfig: file.path().into(),
            version: ReviewVersion::V1,
            timeout: Duration::from_secs(3),
            authorized_ttl: Duration::from_mins(5),
            unauthorized_ttl: Duration::ZERO,
            failure_policy: FailurePolicy::Deny,
            conditions: vec!["has(request.resourceAttributes)".into()],
        };
        let expected = vec![
            ("first".to_owned(), AuthorizerType::Webhook(Box::new(options))),
            ("node".to_owned(), AuthorizerType::Node),
            ("rbac".to_owned(), AuthorizerType::Rbac),
        ];
        assert_eq!(found, Ok(AuthorizationConfiguration { authorizers: expected }));
    }

    #[test]
    fn faults() {
        #[rustfmt::skip]
        let table = [
            ("[]", "authorizers: Required value: at least one authorization mode must be defined"),
            ("[{name: x}]", "authorizers[0].type: Required value"),
            ("[{type: Magic, name: x}]", "authorizers[0].type: Unsupported value: \"Magic\": supported values: \"ABAC\", \"AlwaysAllow\", \"AlwaysDeny\", \"Node\", \"RBAC\", \"Webhook\""),
            ("[{type: RBAC, name: rbac}, {type: RBAC, name: b}]", "authorizers[1].type: Duplicate value: \"RBAC\""),
            ("[{type: RBAC, name: other}]", "expected name rbac for authorizer RBAC instead of other"),
            ("[{type: RBAC, name: rbac, webhook: {}}]", "authorizers[0].webhook: Invalid value: \"non-null\": may only be specified when type=Webhook"),
            ("[{type: Webhook, name: w}]", "authorizers[0].webhook: Required value: required when type=Webhook"),
            ("[{type: RBAC, name: rbac, colour: red}]", "failed to load AuthorizationConfiguration from file: strict decoding error: unknown field \"authorizers[0].colour\""),
            ("[{type: Webhook, name: w, webhook: {timeout: 31s, subjectAccessReviewVersion: v2, failurePolicy: Maybe, connectionInfo: {type: KubeConfigFile, kubeConfigFile: x}}}]",
             "[authorizers[0].timeout: Invalid value: \"31s\": must be > 0s and <= 30s, authorizers[0].subjectAccessReviewVersion: Unsupported value: \"v2\": supported values: \"v1\", \"v1beta1\", authorizers[0].failurePolicy: Unsupported value: \"Maybe\": supported values: \"NoOpinion\", \"Deny\", authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"x\": must be an absolute path]"),
            ("[{type: Webhook, name: w, webhook: {timeout: 1s, subjectAccessReviewVersion: v1, failurePolicy: Deny, connectionInfo: {type: KubeConfigFile, kubeConfigFile: /no/such}, matchConditions: [{expression: request.user}]}}]",
             "[authorizers[0].matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified, authorizers[0].connectionInfo.kubeConfigFile: Invalid value: \"/no/such\": error loading file: stat /no/such: no such file or directory, authorizers[0].matchConditions[0].expression: Invalid value: \"request.user\": must evaluate to bool but got string]"),
        ];
        for (authorizers, expected) in table {
            assert_eq!(read(authorizers).unwrap_err(), expected, "{authorizers}");
        }
        let twice = read("[]\nauthorizers: [{type: RBAC, name: rbac}]").unwrap_err();
        let why = "failed to load AuthorizationConfiguration from file: strict decoding error: yaml: unmarshal errors:\n  line 4: key \"authorizers\" already set in map";
        assert_eq!(twice, why);
        let other = AuthorizationConfiguration::read(b"apiVersion: v1\nkind: Pod\n").unwrap_err();
        assert!(other.contains("no kind \"Pod\" is registered for version \"v1\""), "{other}");
    }
}
