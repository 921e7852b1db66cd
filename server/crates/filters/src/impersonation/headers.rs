//! What the headers ask for.

use apiwright_chain::{User, info};
use apiwright_meta::Status;
use apiwright_meta::status::Result;
use http::{HeaderMap, HeaderName};

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA_PREFIX: &str = "impersonate-extra-";

/// Whom to be, as the headers have it; they are taken out, so that nobody below can tell.
pub(super) fn take(headers: &mut HeaderMap) -> Result<Option<User>> {
    if !headers.keys().any(|name| name.as_str().starts_with("impersonate-")) {
        return Ok(None);
    }
    let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let first = |name: &str| headers.get(name).map(text).unwrap_or_default();
    let mut wanted = User {
        name: first(USER),
        uid: first(UID),
        groups: headers.get_all(GROUP).iter().map(text).collect(),
        extra: Vec::new(),
    };
    for (name, value) in headers.iter() {
        let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) else { continue };
        let key = info::decode(key).map_or_else(|| key.to_owned(), Into::into);
        match wanted.extra.iter_mut().find(|(its_key, _)| *its_key == key) {
            Some((_, values)) => values.push(text(value)),
            None => wanted.extra.push((key, vec![text(value)])),
        }
    }
    wanted.extra.sort();
    if wanted.name.is_empty() {
        let asks = !wanted.uid.is_empty() || !wanted.groups.is_empty() || !wanted.extra.is_empty();
        return if asks {
            let shown = go_syntax(&wanted);
            Err(Status::bad_request(format!("requested {shown} without impersonating a user name")))
        } else {
            Ok(None)
        };
    }
    let ours = |name: &&HeaderName| {
        matches!(name.as_str(), USER | UID | GROUP) || name.as_str().starts_with(EXTRA_PREFIX)
    };
    let names: Vec<HeaderName> = headers.keys().filter(ours).cloned().collect();
    for name in names {
        headers.remove(name);
    }
    Ok(Some(wanted))
}

/// As Go's `%#v` shows it.
fn go_syntax(user: &User) -> String {
    let list = |texts: &[String]| match texts {
        [] => "[]string(nil)".to_owned(),
        texts => {
            let shown: Vec<String> = texts.iter().map(|text| format!("{text:?}")).collect();
            format!("[]string{{{}}}", shown.join(", "))
        }
    };
    let extra = if user.extra.is_empty() {
        "map[string][]string(nil)".to_owned()
    } else {
        let shown: Vec<String> =
            user.extra.iter().map(|(key, values)| format!("{key:?}:{}", list(values))).collect();
        format!("map[string][]string{{{}}}", shown.join(", "))
    };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{}, Extra:{extra}}}",
        user.name,
        user.uid,
        list(&user.groups)
    )
}
