//! What the types of Secrets demand of their data.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, object};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD as STANDARD;

const ACCOUNT: &str = "kubernetes.io/service-account.name";
const TLS: &str = "kubernetes.io/tls";

/// The faults of a secret whose type has rules.
pub(super) fn faults(secret: &Value, errors: &mut ErrorList) {
    let has = |key: &str| secret.at(&["data", key]).is_some();
    let path = |key: &str| Path::new("data").key(key);
    match secret.text_at(&["type"]) {
        "kubernetes.io/service-account-token"
            if object::annotation(secret, ACCOUNT).unwrap_or_default().is_empty() =>
        {
            errors.required(Path::new("metadata").child("annotations").key(ACCOUNT), "");
        }
        "kubernetes.io/dockercfg" => docker_config(secret, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" => docker_config(secret, ".dockerconfigjson", errors),
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => {
            errors.required(path("username"), "");
            errors.required(path("password"), "");
        }
        "kubernetes.io/ssh-auth" if secret.text_at(&["data", "ssh-privatekey"]).is_empty() => {
            errors.required(path("ssh-privatekey"), "");
        }
        TLS => {
            for key in ["tls.crt", "tls.key"].into_iter().filter(|key| !has(key)) {
                errors.required(path(key), "");
            }
        }
        _ => {}
    }
}

/// The content must be a JSON object. Errors do not show it.
fn docker_config(secret: &Value, key: &str, errors: &mut ErrorList) {
    let path = Path::new("data").key(key);
    if secret.at(&["data", key]).is_none() {
        errors.required(path, "");
        return;
    }
    let why = match apiwright_json::decode(&bytes(secret, key)) {
        Ok((Value::Object(_) | Value::Null, _)) => return,
        Ok((other, _)) => {
            format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                other.go_kind()
            )
        }
        Err(why) => why.message,
    };
    errors.invalid(path, quoted("<secret contents redacted>"), &why);
}

/// What is said of a certificate and a key that no server could use; the content of such secrets
/// is not checked otherwise.
pub(super) fn warning(secret: &Value) -> Option<String> {
    if secret.text_at(&["type"]) != TLS {
        return None;
    }
    pem(&bytes(secret, "tls.crt"), "certificate", "CERTIFICATE", |label| label == "CERTIFICATE").or_else(
        || pem(&bytes(secret, "tls.key"), "key", "PRIVATE KEY", |label| label.ends_with("PRIVATE KEY")),
    )
}

fn pem(text: &[u8], what: &str, wanted: &str, fits: impl Fn(&str) -> bool) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let labels: Vec<&str> = text.lines().filter_map(label).collect();
    if labels.iter().any(|label| fits(label)) {
        return None;
    }
    Some(match labels.as_slice() {
        [] => format!("tls: failed to find any PEM data in {what} input"),
        ["CERTIFICATE"] => {
            "tls: found a certificate rather than a key in the PEM for the private key".into()
        }
        [only] if what == "certificate" && only.ends_with("PRIVATE KEY") => {
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched".into()
        }
        labels => {
            let block = if what == "key" {
                format!("PEM block with type ending in {wanted:?}")
            } else {
                format!("{wanted:?} PEM block")
            };
            let skipped = labels.join(" ");
            format!("tls: failed to find {block} in {what} input after skipping PEM blocks of the following types: [{skipped}]")
        }
    })
}

/// The label of a line that begins a PEM block.
fn label(line: &str) -> Option<&str> {
    line.trim_end().strip_prefix("-----BEGIN ")?.strip_suffix("-----")
}

fn bytes(secret: &Value, key: &str) -> Vec<u8> {
    STANDARD.decode(secret.text_at(&["data", key])).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(kind: &str, data: &[(&str, &str)]) -> Value {
        let data: Vec<String> =
            data.iter().map(|(key, text)| format!("\"{key}\":\"{}\"", STANDARD.encode(text))).collect();
        let text = format!("{{\"type\":\"kubernetes.io/{kind}\",\"data\":{{{}}}}}", data.join(","));
        apiwright_json::decode(text.as_bytes()).unwrap().0
    }

    #[test]
    fn types_demand_keys() {
        type Case = (&'static str, &'static [(&'static str, &'static str)], &'static str);
        let table: &[Case] = &[
            ("tls", &[("tls.crt", ""), ("tls.key", "")], "[]"),
            ("tls", &[], "[data[tls.crt]: Required value, data[tls.key]: Required value]"),
            ("basic-auth", &[("password", "")], "[]"),
            ("basic-auth", &[], "[data[username]: Required value, data[password]: Required value]"),
            ("ssh-auth", &[("ssh-privatekey", "")], "data[ssh-privatekey]: Required value"),
            ("dockercfg", &[("x", "{}")], "data[.dockercfg]: Required value"),
            ("dockerconfigjson", &[(".dockerconfigjson", "{}")], "[]"),
            (
                "dockerconfigjson",
                &[(".dockerconfigjson", "[]")],
                "data[.dockerconfigjson]: Invalid value: \"<secret contents redacted>\": json: cannot unmarshal array into Go value of type map[string]interface {}",
            ),
            (
                "service-account-token",
                &[],
                "metadata.annotations[kubernetes.io/service-account.name]: Required value",
            ),
        ];
        for (kind, data, expected) in table {
            let mut errors = ErrorList::new();
            faults(&secret(kind, data), &mut errors);
            assert_eq!(errors.aggregate(), *expected, "{kind} {data:?}");
        }
    }

    #[test]
    fn certificates_without_pem() {
        let (certificate, key) = ("-----BEGIN CERTIFICATE-----\n", "-----BEGIN EC PRIVATE KEY-----\n");
        let table = [
            (certificate, key, None),
            ("x", key, Some("tls: failed to find any PEM data in certificate input")),
            (certificate, "", Some("tls: failed to find any PEM data in key input")),
            (
                key,
                certificate,
                Some(
                    "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM inputs may have been switched",
                ),
            ),
            (
                certificate,
                certificate,
                Some("tls: found a certificate rather than a key in the PEM for the private key"),
            ),
        ];
        for (certificate, key, expected) in table {
            let secret = secret("tls", &[("tls.crt", certificate), ("tls.key", key)]);
            assert_eq!(warning(&secret).as_deref(), expected);
        }
    }
}
