//! The file of `--encryption-provider-config`: an EncryptionConfiguration of apiserver.config.k8s.io/v1.

mod build;
mod check;

use std::time::Duration;

use apiwright_json::{Value, yaml};
use apiwright_meta::time;

/// What kube-apiserver waits for a plugin that does not say.
const KMS_TIMEOUT: Duration = Duration::from_secs(3);

/// What is sealed with what.
#[derive(Clone, PartialEq, Eq)]
pub struct Configuration {
    rules: Vec<Rule>,
}

/// Some resources and their providers.
#[derive(Clone, PartialEq, Eq)]
struct Rule {
    resources: Vec<String>,
    providers: Vec<Provider>,
}

/// How values are sealed.
#[derive(Clone, PartialEq, Eq)]
enum Provider {
    AesCbc(Vec<NamedKey>),
    AesGcm(Vec<NamedKey>),
    Secretbox(Vec<NamedKey>),
    Kms(Kms),
    Identity,
    /// Something else than exactly one of these, and how many they are.
    Not(usize),
}

#[derive(Clone, PartialEq, Eq)]
struct NamedKey {
    name: String,
    /// In base64.
    secret: String,
}

#[derive(Clone, PartialEq, Eq)]
struct Kms {
    version: String,
    name: String,
    endpoint: String,
    timeout: Duration,
    /// Only the first version has one.
    cache_size: Option<i64>,
}

impl Configuration {
    /// Reads and checks a configuration.
    ///
    /// # Errors
    /// Everything that is wrong with it, in upstream's words.
    pub fn read(text: &[u8]) -> Result<Self, String> {
        if text.is_empty() {
            return Err("the encryption provider configuration file is empty".into());
        }
        let (value, _) = yaml::decode(text).map_err(|why| why.to_string())?;
        let (version, kind) = (value.text_at(&["apiVersion"]), value.text_at(&["kind"]));
        if !matches!(version, "apiserver.config.k8s.io/v1" | "v1") || kind != "EncryptionConfiguration" {
            return Err(format!("no kind {kind:?} is registered for version {version:?}"));
        }
        let rules = list(&value, "resources")?.iter().map(rule).collect::<Result<_, _>>()?;
        let configuration = Self { rules };
        let faults = check::faults(&configuration);
        match faults.as_slice() {
            [] => Ok(configuration),
            [only] => Err(only.clone()),
            several => Err(format!("[{}]", several.join(", "))),
        }
    }
}

fn rule(value: &Value) -> Result<Rule, String> {
    let resources = list(value, "resources")?.iter().map(|one| match one.as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err("resources: a name is no string".to_owned()),
    });
    let providers = list(value, "providers")?.iter().map(provider);
    Ok(Rule {
        resources: resources.collect::<Result<_, _>>()?,
        providers: providers.collect::<Result<_, _>>()?,
    })
}

fn provider(value: &Value) -> Result<Provider, String> {
    let mut found = Vec::new();
    for name in ["aescbc", "aesgcm", "secretbox", "kms", "identity"] {
        let Some(body) = value.get(name).filter(|body| !body.is_null()) else { continue };
        found.push(match name {
            "aescbc" => Provider::AesCbc(keys(body)?),
            "aesgcm" => Provider::AesGcm(keys(body)?),
            "secretbox" => Provider::Secretbox(keys(body)?),
            "kms" => Provider::Kms(kms(body)?),
            _ => Provider::Identity,
        });
    }
    let count = found.len();
    Ok(match found.pop() {
        Some(only) if count == 1 => only,
        _ => Provider::Not(count),
    })
}

fn keys(value: &Value) -> Result<Vec<NamedKey>, String> {
    let keys = list(value, "keys")?.iter();
    Ok(keys
        .map(|key| NamedKey {
            name: key.text_at(&["name"]).to_owned(),
            secret: key.text_at(&["secret"]).to_owned(),
        })
        .collect())
}

fn kms(value: &Value) -> Result<Kms, String> {
    let timeout = match value.get("timeout").and_then(Value::as_str) {
        Some(text) => {
            let timeout = time::Duration::parse(text).map_err(|why| format!("timeout: {why}"))?;
            if timeout.nanos() < 0 { Duration::ZERO } else { timeout.to_std() }
        }
        None => KMS_TIMEOUT,
    };
    let version = match value.text_at(&["apiVersion"]) {
        "" => "v1",
        version => version,
    };
    Ok(Kms {
        version: version.to_owned(),
        name: value.text_at(&["name"]).to_owned(),
        endpoint: value.text_at(&["endpoint"]).to_owned(),
        timeout,
        cache_size: value.get("cachesize").and_then(Value::as_i64),
    })
}

/// The members of a list that may be missing.
fn list<'a>(value: &'a Value, name: &str) -> Result<&'a [Value], String> {
    match value.get(name) {
        None => Ok(&[]),
        Some(value) if value.is_null() => Ok(&[]),
        Some(value) => value.as_array().map(Vec::as_slice).ok_or_else(|| format!("{name}: it is no list")),
    }
}
