//! `DeleteOptions`: from the body where there is one, else from the query.

use apiwright_chain::{Media, Query};
use apiwright_json::{Object, Value};
use apiwright_meta::field::quoted;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Path, Status};
use apiwright_registry::{self as registry, Catalogue, Propagation};

use super::{check_dry_run, number, refuse, truth};
use crate::decode;

/// The scheme that upstream decodes options with; its errors say so.
const SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";

/// How to delete.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct DeleteOptions {
    grace_period_seconds: Option<i64>,
    uid: Option<String>,
    resource_version: Option<String>,
    orphan_dependents: Option<bool>,
    propagation_policy: Option<String>,
    dry_run: Vec<String>,
}

impl DeleteOptions {
    /// Reads and checks the query's.
    pub(crate) fn from_query(query: &Query) -> Result<Self> {
        let precondition = |name| query.get(name).filter(|value| !value.is_empty()).map(str::to_owned);
        let options = Self {
            grace_period_seconds: number(query, "gracePeriodSeconds")?,
            uid: precondition("uid"),
            resource_version: precondition("resourceVersion"),
            orphan_dependents: truth(query, "orphanDependents"),
            propagation_policy: query.get("propagationPolicy").map(str::to_owned),
            dry_run: query.all("dryRun").map(str::to_owned).collect(),
        };
        options.check()?;
        Ok(options)
    }

    /// Reads and checks a body's.
    pub(crate) fn from_body(media: Media, body: &[u8], catalogue: &Catalogue) -> Result<Self> {
        let value = decode::untyped(media, body, catalogue).map_err(Status::bad_request)?;
        let object = value.as_object().cloned().unwrap_or_default();
        let kind = object.str("kind").unwrap_or_default();
        if !matches!(kind, "" | "DeleteOptions") {
            let version = quoted(object.str("apiVersion").unwrap_or("v1"));
            return Err(Status::bad_request(format!(
                "no kind {} is registered for version {version} in scheme {}",
                quoted(kind),
                quoted(SCHEME)
            )));
        }
        let options = Self::from_object(&object).map_err(Status::bad_request)?;
        options.check()?;
        Ok(options)
    }

    /// What the registry needs of it.
    pub(crate) fn to_registry(&self) -> registry::DeleteOptions {
        let propagation = match (self.propagation_policy.as_deref(), self.orphan_dependents) {
            (Some("Orphan"), _) | (None, Some(true)) => Some(Propagation::Orphan),
            (Some("Background"), _) | (None, Some(false)) => Some(Propagation::Background),
            (Some("Foreground"), _) => Some(Propagation::Foreground),
            _ => None,
        };
        registry::DeleteOptions {
            grace_period_seconds: self.grace_period_seconds,
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            propagation,
        }
    }

    /// Whether nothing is to be deleted.
    pub(crate) fn is_dry_run(&self) -> bool {
        !self.dry_run.is_empty()
    }

    /// Whether the deprecated `orphanDependents: false` asks to wait for dependents: then an object
    /// that stays for now is answered with 202.
    pub(crate) fn accepts(&self) -> bool {
        self.orphan_dependents == Some(false)
    }

    /// The options as the object that admission sees.
    pub(crate) fn to_value(&self) -> Value {
        let mut object = Object::new();
        object.push("kind", "DeleteOptions");
        object.push("apiVersion", "meta.k8s.io/v1");
        if let Some(seconds) = self.grace_period_seconds {
            object.push("gracePeriodSeconds", seconds);
        }
        if self.uid.is_some() || self.resource_version.is_some() {
            let preconditions = object.object("preconditions");
            for (name, value) in [("uid", &self.uid), ("resourceVersion", &self.resource_version)] {
                if let Some(value) = value {
                    preconditions.push(name, value.as_str());
                }
            }
        }
        if let Some(orphan) = self.orphan_dependents {
            object.push("orphanDependents", orphan);
        }
        if let Some(policy) = &self.propagation_policy {
            object.push("propagationPolicy", policy.as_str());
        }
        if self.is_dry_run() {
            object.push(
                "dryRun",
                self.dry_run.iter().map(|value| Value::from(value.as_str())).collect::<Vec<_>>(),
            );
        }
        Value::Object(object)
    }

    /// The members that it knows, with Go's words for those of another type.
    fn from_object(object: &Object) -> Result<Self, String> {
        let mut options = Self {
            grace_period_seconds: member(object, "gracePeriodSeconds", "int64", Value::as_i64)?,
            orphan_dependents: member(object, "orphanDependents", "bool", Value::as_bool)?,
            propagation_policy: member(object, "propagationPolicy", "v1.DeletionPropagation", owned_text)?,
            ..Self::default()
        };
        if let Some(values) = member(object, "dryRun", "[]string", |value| value.as_array().cloned())? {
            let texts = values
                .iter()
                .map(|value| owned_text(value).ok_or_else(|| mismatch(value, "dryRun", "string")));
            options.dry_run = texts.collect::<Result<_, _>>()?;
        }
        if let Some(preconditions) =
            member(object, "preconditions", "v1.Preconditions", |value| value.as_object().cloned())?
        {
            options.uid = member(&preconditions, "uid", "types.UID", owned_text)?;
            options.resource_version = member(&preconditions, "resourceVersion", "string", owned_text)?;
        }
        Ok(options)
    }

    fn check(&self) -> Result<()> {
        let mut errors = ErrorList::new();
        if let Some(policy) = &self.propagation_policy {
            let path = || Path::new("propagationPolicy");
            if self.orphan_dependents.is_some() {
                let detail = "orphanDependents and deletionPropagation cannot be both set";
                errors.invalid(path(), quoted(policy), detail);
            }
            if !matches!(policy.as_str(), "Foreground" | "Background" | "Orphan") {
                errors.not_supported(path(), quoted(policy), &["Foreground", "Background", "Orphan", "nil"]);
            }
        }
        check_dry_run(&self.dry_run, &mut errors);
        refuse("DeleteOptions", &errors)
    }
}

fn owned_text(value: &Value) -> Option<String> {
    value.as_str().map(str::to_owned)
}

fn member<T>(
    object: &Object,
    name: &str,
    kind: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, String> {
    match object.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => read(value).map(Some).ok_or_else(|| mismatch(value, name, kind)),
    }
}

fn mismatch(value: &Value, name: &str, kind: &str) -> String {
    let given = value.go_kind();
    format!("json: cannot unmarshal {given} into Go struct field DeleteOptions.{name} of type {kind}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::EMPTY_CATALOGUE as EMPTY;

    #[test]
    fn refuses() {
        let invalid = |what: &str| format!("DeleteOptions.meta.k8s.io \"\" is invalid: {what}");
        let supported = "supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"";
        let cases = [
            (r#"{"propagationPolicy":"Slowly"}"#, 422, invalid(&format!("propagationPolicy: Unsupported value: \"Slowly\": {supported}"))),
            (
                r#"{"propagationPolicy":"Background","orphanDependents":true}"#,
                422,
                invalid("propagationPolicy: Invalid value: \"Background\": orphanDependents and deletionPropagation cannot be both set"),
            ),
            (r#"{"dryRun":["foo"]}"#, 422, invalid("dryRun: Unsupported value: [\"foo\"]: supported values: \"All\"")),
            (
                r#"{"gracePeriodSeconds":"soon"}"#,
                400,
                "json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64".into(),
            ),
            (
                r#"{"apiVersion":"v1","kind":"ConfigMap"}"#,
                400,
                format!("no kind \"ConfigMap\" is registered for version \"v1\" in scheme \"{SCHEME}\""),
            ),
            ("{", 400, "couldn't get version/kind; json parse error: unexpected end of JSON input".into()),
        ];
        for (body, code, message) in cases {
            let status = DeleteOptions::from_body(Media::Json, body.as_bytes(), &EMPTY).expect_err(body);
            assert_eq!((status.code, status.message), (code, message), "{body}");
        }
        let status =
            DeleteOptions::from_query(&Query::parse("gracePeriodSeconds=soon")).expect_err("no number");
        assert_eq!(status.message, "strconv.ParseInt: parsing \"soon\": invalid syntax");
    }

    #[test]
    fn reads_body_and_query_alike() {
        let body = br#"{"gracePeriodSeconds":0,"preconditions":{"uid":"u"},"propagationPolicy":"Orphan","colour":1}"#;
        let query = "gracePeriodSeconds=0&uid=u&propagationPolicy=Orphan&colour=1";
        let from_body = DeleteOptions::from_body(Media::Json, body, &EMPTY).expect("valid");
        assert_eq!(from_body, DeleteOptions::from_query(&Query::parse(query)).expect("valid"));
        let options = from_body.to_registry();
        assert_eq!((options.grace_period_seconds, options.uid.as_deref()), (Some(0), Some("u")));
        assert_eq!(options.propagation, Some(Propagation::Orphan));
    }
}
