//! Where a webhook is and which reviews it reads: what webhook configurations and definitions with
//! converted versions have in common.

use apiwright_json::Value;
use apiwright_meta::field::{go_value, quoted};
use apiwright_meta::url::Url;
use apiwright_meta::{ErrorList, Path, names};
use apiwright_remote::{Backend, Trust, Via};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

const FORM: &str = "; desired format: https://host[/path]";

/// The faults of a webhook's address: a URL or a service, not both.
pub fn address(client: &Value, path: &Path, errors: &mut ErrorList) {
    let given = |member: &str| client.get(member).filter(|value| !value.is_null());
    match (given("url"), given("service")) {
        (Some(address), None) => {
            url(address.as_str().unwrap_or_default(), &path.child("url"), errors);
        }
        (None, Some(reference)) => service(reference, &path.child("service"), errors),
        _ => errors.required(path.clone(), "exactly one of url or service is required"),
    }
}

/// Why a bundle of authorities, base64, cannot be read; `None` for none at all.
pub fn untrusted(bundle: &str) -> Option<String> {
    let pem = BASE64_STANDARD.decode(bundle).ok().filter(|pem| !pem.is_empty())?;
    Backend::new(Via::Address, None, &Trust::of(&pem, false), None).err().map(|why| why.to_string())
}

/// The faults of the review versions that a webhook reads. Where `recognized`, the server must know one
/// of them. `missing` is what is said where there is none.
pub fn review_versions(
    versions: &[Value],
    recognized: bool,
    missing: &str,
    path: &Path,
    errors: &mut ErrorList,
) {
    const KNOWN: [&str; 2] = ["v1", "v1beta1"];
    if versions.is_empty() {
        errors.required(path.clone(), missing);
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for (at, version) in versions.iter().filter_map(Value::as_str).enumerate() {
        if seen.contains(&version) {
            errors.invalid(path.index(at), quoted(version), "duplicate version");
            continue;
        }
        seen.push(version);
        errors.invalid_each(&path.index(at), version, names::dns1035_label(version));
    }
    if recognized && !KNOWN.iter().any(|known| seen.contains(known)) {
        let shown = go_value(&Value::from(versions.to_vec()));
        errors.invalid(path.clone(), shown, &format!("must include at least one of {}", KNOWN.join(", ")));
    }
}

fn url(text: &str, path: &Path, errors: &mut ErrorList) {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(why) => {
            errors.required(path.clone(), &format!("url must be a valid URL: {why}{FORM}"));
            return;
        }
    };
    if url.scheme != "https" {
        let words = format!("'https' is the only allowed URL scheme{FORM}");
        errors.invalid(path.clone(), quoted(&url.scheme), &words);
    }
    if url.host.is_empty() {
        errors.invalid(path.clone(), "\"\"", &format!("host must be specified{FORM}"));
    }
    if let Some(user) = &url.user {
        errors.invalid(path.clone(), quoted(user), "user information is not permitted in the URL");
    }
    for (part, words) in [
        (&url.fragment, "fragments are not permitted in the URL"),
        (&url.query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            errors.invalid(path.clone(), quoted(part), words);
        }
    }
}

fn service(reference: &Value, path: &Path, errors: &mut ErrorList) {
    for member in ["name", "namespace"] {
        if reference.text_at(&[member]).is_empty() {
            errors.required(path.child(member), "");
        }
    }
    let port = reference.get("port").and_then(Value::as_i64).unwrap_or_default();
    let faults = names::port_num(port);
    if !faults.is_empty() {
        errors.invalid(path.child("port"), port, &format!("port is not valid: {}", faults.join(", ")));
    }
    let url_path = reference.text_at(&["path"]);
    let path = path.child("path");
    match url_path {
        "" | "/" => return,
        "//" => return errors.invalid(path, quoted(url_path), "segment[0] may not be empty"),
        _ => {}
    }
    if !url_path.starts_with('/') {
        errors.invalid(path.clone(), quoted(url_path), "must start with a '/'");
    }
    // Whatever the first character is, it is not looked at.
    let steps = url_path.chars().next().map_or("", |first| &url_path[first.len_utf8()..]);
    for (at, step) in steps.strip_suffix('/').unwrap_or(steps).split('/').enumerate() {
        let faults = match step {
            "" => vec!["may not be empty".to_owned()],
            step => names::dns1123_subdomain(step).iter().map(|fault| format!(": {fault}")).collect(),
        };
        for fault in faults {
            let space = if fault.starts_with(':') { "" } else { " " };
            errors.invalid(path.clone(), quoted(url_path), &format!("segment[{at}]{space}{fault}"));
        }
    }
}
