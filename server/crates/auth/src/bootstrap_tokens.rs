//! Bootstrap tokens: what a new node shows until it has credentials of its own, kept in Secrets.
//!
//! A token is `<id>.<secret>`; the Secret is `kube-system/bootstrap-token-<id>`. Looked up on every use.

use std::sync::Arc;

use apiwright_chain::User;
use apiwright_json::{Value, decode};
use apiwright_meta::time::Time;
use apiwright_storage::{At, Storage};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::future::BoxFuture;

use crate::authentication::{Known, TokenAuthenticator, authenticated};
use crate::service_account::now;

const TYPE: &str = "bootstrap.kubernetes.io/token";
const GROUP: &str = "system:bootstrappers";
const ID_BYTES: usize = 6;
const SECRET_BYTES: usize = 16;
const GROUP_BYTES_MAX: usize = 256;

/// Knows bootstrap tokens.
pub struct BootstrapTokens {
    storage: Arc<dyn Storage>,
    /// Whom they are for.
    audiences: Vec<String>,
}

impl BootstrapTokens {
    /// Those of a store.
    pub fn new(storage: Arc<dyn Storage>, audiences: Vec<String>) -> Self {
        Self { storage, audiences }
    }

    async fn known(&self, token: &str, audiences: &[String]) -> Result<Option<Known>, String> {
        let Some((id, secret)) = parse(token) else { return Ok(None) };
        let matching: Vec<String> =
            audiences.iter().filter(|one| self.audiences.contains(one)).cloned().collect();
        if !audiences.is_empty() && matching.is_empty() {
            return Ok(None);
        }
        let key = format!("/registry/secrets/kube-system/bootstrap-token-{id}");
        let mut found = self.storage.get(&key, At::NotOlderThan(0)).await;
        if matches!(found, Ok((_, None))) {
            found = self.storage.get(&key, At::Latest).await;
        }
        let (_, Some(entry)) = found.map_err(|why| why.to_string())? else { return Ok(None) };
        let (object, _) = decode(&entry.value).map_err(|why| why.message)?;
        let user = user(&object, id, secret, now());
        Ok(user.map(|user| Known { user: Arc::new(authenticated(user)), audiences: matching }))
    }
}

impl TokenAuthenticator for BootstrapTokens {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Known>, String>> {
        Box::pin(self.known(token, audiences))
    }
}

/// The id and the secret of a token that has the form.
fn parse(token: &str) -> Option<(&str, &str)> {
    let fits = |part: &str, bytes: usize| {
        part.len() == bytes && part.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    };
    token.split_once('.').filter(|(id, secret)| fits(id, ID_BYTES) && fits(secret, SECRET_BYTES))
}

/// The user of a token, if the Secret is that of the token and says so.
fn user(object: &Value, id: &str, secret: &str, now: i64) -> Option<User> {
    let data = |member: &str| -> String {
        let decoded = BASE64_STANDARD.decode(object.text_at(&["data", member])).unwrap_or_default();
        String::from_utf8(decoded).unwrap_or_default()
    };
    let is_going = !object.text_at(&["metadata", "deletionTimestamp"]).is_empty();
    if is_going || object.text_at(&["type"]) != TYPE {
        return None;
    }
    if !is_same(&data("token-secret"), secret) || data("token-id") != id {
        return None;
    }
    let expires = data("expiration");
    // A time that nobody can read has passed.
    if !expires.is_empty() && Time::parse(&expires).map_or(0, |time| time.seconds) < now {
        return None;
    }
    if data("usage-bootstrap-authentication") != "true" {
        return None;
    }
    let extra = data("auth-extra-groups");
    let mut groups = vec![GROUP.to_owned()];
    for group in extra.split(',').filter(|_| !extra.is_empty()) {
        if !is_group(group) {
            tracing::warn!(id, group, "a bootstrap token has a group that none may have");
            return None;
        }
        groups.push(group.to_owned());
    }
    groups.sort();
    groups.dedup();
    Some(User { name: format!("system:bootstrap:{id}"), groups, ..User::default() })
}

/// Takes as long whatever differs.
fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differing == 0
}

/// Extra groups are below the one of all.
fn is_group(group: &str) -> bool {
    let Some(rest) = group.strip_prefix("system:bootstrappers:") else { return false };
    let is_letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let Some((last, others)) = rest.as_bytes().split_last() else { return false };
    rest.len() <= GROUP_BYTES_MAX
        && is_letter(*last)
        && others.iter().all(|&byte| is_letter(byte) || matches!(byte, b':' | b'-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_a_form() {
        for (token, expected) in [
            ("abcdef.0123456789abcdef", Some(("abcdef", "0123456789abcdef"))),
            ("abcdef.0123456789abcde", None),
            ("ABCDEF.0123456789abcdef", None),
            ("abcdef0123456789abcdef", None),
            ("abcdef.0123456789abcdef.x", None),
        ] {
            assert_eq!(parse(token), expected, "{token}");
        }
    }

    #[test]
    fn secrets_say_who() {
        let sound: &[(&str, &str)] = &[
            ("token-id", "abcdef"),
            ("token-secret", "0123456789abcdef"),
            ("usage-bootstrap-authentication", "true"),
        ];
        let with = |member: &'static str, value: &'static str| {
            let kept = sound.iter().copied().filter(move |(name, _)| *name != member);
            kept.chain([(member, value)]).collect::<Vec<_>>()
        };
        let plain = Some(vec!["system:bootstrappers"]);
        for (data, expected) in [
            (sound.to_vec(), plain.clone()),
            (with("token-secret", "0123456789abcdeg"), None),
            (with("token-id", "ghijkl"), None),
            (with("usage-bootstrap-authentication", "false"), None),
            (with("expiration", "2026-01-01T00:00:00Z"), None),
            (with("expiration", "tomorrow"), None),
            (with("expiration", "2126-01-01T00:00:00Z"), plain),
            (
                with("auth-extra-groups", "system:bootstrappers:b:c,system:bootstrappers:a"),
                Some(vec!["system:bootstrappers", "system:bootstrappers:a", "system:bootstrappers:b:c"]),
            ),
            (with("auth-extra-groups", "system:masters"), None),
            (with("auth-extra-groups", "system:bootstrappers:a-"), None),
        ] {
            let encoded = data.iter().map(|(member, value)| (*member, BASE64_STANDARD.encode(value)));
            let data = encoded.collect::<apiwright_json::Object>();
            let mut object = apiwright_json::Object::new();
            object.push("type", TYPE);
            object.push("data", data.clone());
            let found = user(&object.into(), "abcdef", "0123456789abcdef", 1_790_000_000);
            let groups =
                found.as_ref().map(|user| user.groups.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(groups, expected, "{data:?}");
            assert!(found.is_none_or(|user| user.name == "system:bootstrap:abcdef"));
        }
    }
}
