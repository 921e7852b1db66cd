//! Tokens of service accounts: signed by this server, verified by it, gone with what they are bound to.
//!
//! Invariant: a token is as good as its account and the pod, secret or node that it names; they
//! are looked up on every use. Only the signature, which cannot change, is remembered.

mod claims;
pub mod key;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use apiwright_chain::User;
use apiwright_json::{Object, Value, decode};
use apiwright_storage::{At, Storage};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use futures::future::BoxFuture;
use ring::digest;

use crate::authentication::{Known, TokenAuthenticator, authenticated};
pub use claims::{Bound, Claims};
pub use key::{PublicKey, SigningKey};

/// How many verified signatures are remembered.
const REMEMBERED_MAX: usize = 4096;
/// How long after its deletion has begun an object's tokens still count.
const DELETION_LEEWAY_SECONDS: i64 = 60;

/// Issues and verifies tokens.
pub struct ServiceAccounts {
    issuers: Vec<String>,
    audiences: Vec<String>,
    signing: SigningKey,
    keys: Vec<PublicKey>,
    storage: Arc<dyn Storage>,
    remembered: Mutex<HashMap<[u8; 32], Arc<Claims>>>,
}

impl ServiceAccounts {
    /// The first issuer issues, all are accepted; so are tokens of any of the keys. Tokens are for
    /// `audiences` unless they say otherwise.
    pub fn new(
        issuers: Vec<String>,
        audiences: Vec<String>,
        signing: SigningKey,
        mut keys: Vec<PublicKey>,
        storage: Arc<dyn Storage>,
    ) -> Self {
        if !keys.iter().any(|key| key.id() == signing.public().id()) {
            keys.insert(0, signing.public().clone());
        }
        Self { issuers, audiences, signing, keys, storage, remembered: Mutex::default() }
    }

    /// Whom tokens are for that do not say.
    pub fn audiences(&self) -> &[String] {
        &self.audiences
    }

    /// Who issues.
    pub fn issuer(&self) -> &str {
        self.issuers.first().map_or("", String::as_str)
    }

    /// A token of these claims. The issuer is added.
    pub fn sign(&self, claims: &Claims) -> String {
        let mut header = Object::new();
        header.push("alg", self.signing.public().algorithm());
        header.push("kid", self.signing.public().id());
        let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(apiwright_json::to_string(value));
        let signed = format!("{}.{}", part(&header.into()), part(&claims.to_value(self.issuer())));
        let signature = self.signing.sign(signed.as_bytes());
        format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
    }

    /// The keys that tokens are verified with, for others to do so: a JSON Web Key Set.
    pub fn key_set(&self) -> Value {
        let keys: Vec<Value> = self.keys.iter().map(PublicKey::to_jwk).collect();
        Value::Object(Object::from_iter([("keys", keys)]))
    }

    /// The algorithms of these keys, each once.
    pub fn algorithms(&self) -> Vec<&'static str> {
        let mut algorithms: Vec<_> = self.keys.iter().map(PublicKey::algorithm).collect();
        algorithms.sort_unstable();
        algorithms.dedup();
        algorithms
    }

    /// The claims of a token that one of the keys has signed and one of the issuers issued;
    /// `None` where it is no such issuer's.
    fn verified(&self, token: &str) -> Result<Option<Arc<Claims>>, String> {
        let mut parts = token.split('.');
        let (Some(header), Some(payload), Some(signature), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Ok(None);
        };
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
        if let Some(claims) = self.remembered().get(&hash) {
            return Ok(Some(Arc::clone(claims)));
        }
        let json = |part: &str| {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(part).ok()?;
            decode(&bytes).ok().map(|(value, _)| value)
        };
        let (Some(header), Some(payload)) = (json(header), json(payload)) else { return Ok(None) };
        if !self.issuers.iter().any(|issuer| issuer == payload.text_at(&["iss"])) {
            return Ok(None);
        }
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).map_err(|_| "invalid signature encoding")?;
        let signed = &token[..token.rfind('.').unwrap_or_default()];
        let (algorithm, id) = (header.text_at(&["alg"]), header.text_at(&["kid"]));
        let mut candidates =
            self.keys.iter().filter(|key| key.algorithm() == algorithm && (id.is_empty() || key.id() == id));
        if !candidates.any(|key| key.verifies(signed.as_bytes(), &signature)) {
            return Err("invalid signature".into());
        }
        let claims = Arc::new(Claims::read(&payload)?);
        let mut remembered = self.remembered();
        if remembered.len() >= REMEMBERED_MAX {
            remembered.clear();
        }
        remembered.insert(hash, Arc::clone(&claims));
        Ok(Some(claims))
    }

    fn remembered(&self) -> std::sync::MutexGuard<'_, HashMap<[u8; 32], Arc<Claims>>> {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn user_of(&self, token: &str, audiences: &[String]) -> Result<Option<Known>, String> {
        let Some(claims) = self.verified(token)? else { return Ok(None) };
        let matching: Vec<String> =
            claims.audiences.iter().filter(|audience| audiences.contains(audience)).cloned().collect();
        if matching.is_empty() {
            return Err(format!(
                "token audiences {:?} is invalid for the target audiences {audiences:?}",
                claims.audiences
            ));
        }
        let now = now();
        if now > claims.expires {
            return Err("service account token has expired".into());
        }
        if now < claims.not_before {
            return Err("service account token is not valid yet".into());
        }
        let namespace = &claims.namespace;
        self.check(&format!("serviceaccounts/{namespace}/{}", claims.account.name), &claims.account, now)
            .await?;
        if let Some(pod) = &claims.pod {
            self.check(&format!("pods/{namespace}/{}", pod.name), pod, now).await?;
        }
        if let Some(secret) = &claims.secret {
            self.check(&format!("secrets/{namespace}/{}", secret.name), secret, now).await?;
        }
        // A pod's node is told, not checked: the pod is what the token is bound to.
        if let (Some(node), None) = (&claims.node, &claims.pod) {
            self.check(&format!("minions/{}", node.name), node, now).await?;
        }
        Ok(Some(Known { user: Arc::new(authenticated(user(&claims))), audiences: matching }))
    }

    /// Whether an object is there, is the one that was meant, and is not about to go. What is at hand
    /// may not be there yet.
    async fn check(&self, key: &str, bound: &Bound, now: i64) -> Result<(), String> {
        match self.check_at(At::NotOlderThan(0), key, bound, now).await {
            Ok(()) => Ok(()),
            Err(_) => self.check_at(At::Latest, key, bound, now).await,
        }
    }

    async fn check_at(&self, at: At, key: &str, bound: &Bound, now: i64) -> Result<(), String> {
        let key = format!("/registry/{key}");
        let (_, entry) = self.storage.get(&key, at).await.map_err(|why| why.to_string())?;
        let Some(entry) = entry else { return Err(format!("{key} of the token is not there")) };
        let (object, _) = decode(&entry.value).map_err(|why| why.message)?;
        if object.text_at(&["metadata", "uid"]) != bound.uid {
            return Err(format!("{key} is not the one of the token"));
        }
        let deleted = object.text_at(&["metadata", "deletionTimestamp"]);
        let deleted = apiwright_meta::time::Time::parse(deleted).ok();
        match deleted {
            Some(deleted) if deleted.seconds + DELETION_LEEWAY_SECONDS < now => {
                Err(format!("{key} is being deleted"))
            }
            _ => Ok(()),
        }
    }
}

impl TokenAuthenticator for ServiceAccounts {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Known>, String>> {
        Box::pin(self.user_of(token, audiences))
    }
}

fn user(claims: &Claims) -> User {
    let namespace = &claims.namespace;
    let mut extra = Vec::new();
    let mut tell =
        |key: &str, value: String| extra.push((format!("authentication.kubernetes.io/{key}"), vec![value]));
    if !claims.id.is_empty() {
        tell("credential-id", format!("JTI={}", claims.id));
    }
    if let Some(node) = &claims.node {
        tell("node-name", node.name.clone());
        if !node.uid.is_empty() {
            tell("node-uid", node.uid.clone());
        }
    }
    if let Some(pod) = &claims.pod {
        tell("pod-name", pod.name.clone());
        tell("pod-uid", pod.uid.clone());
    }
    User {
        name: format!("system:serviceaccount:{namespace}:{}", claims.account.name),
        uid: claims.account.uid.clone(),
        groups: vec!["system:serviceaccounts".into(), format!("system:serviceaccounts:{namespace}")],
        extra,
    }
}

/// Seconds since 1970.
pub fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_storage::{Change, Expect};
    use apiwright_storage_embedded::Embedded;

    async fn put(storage: &dyn Storage, key: &str, uid: &str) {
        let value = format!("{{\"metadata\":{{\"uid\":\"{uid}\"}}}}").into();
        let change = Change::Put { value, ttl_seconds: None };
        storage.commit(format!("/registry/{key}").as_str().into(), Expect::Absent, change).await.unwrap();
    }

    async fn accounts() -> ServiceAccounts {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sa.key");
        std::fs::write(&path, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
        let storage: Arc<dyn Storage> =
            Arc::new(Embedded::memory(apiwright_storage_embedded::Options::default()));
        put(storage.as_ref(), "serviceaccounts/ns/robot", "account-uid").await;
        put(storage.as_ref(), "pods/ns/p", "pod-uid").await;
        let signing = SigningKey::load(&path).unwrap();
        ServiceAccounts::new(
            vec!["https://us".into()],
            vec!["https://us".into()],
            signing,
            Vec::new(),
            storage,
        )
    }

    fn claims() -> Claims {
        Claims {
            audiences: vec!["https://us".into()],
            not_before: now(),
            expires: now() + 600,
            id: "id".into(),
            namespace: "ns".into(),
            account: Bound { name: "robot".into(), uid: "account-uid".into() },
            ..Claims::default()
        }
    }

    #[tokio::test]
    async fn tokens_are_as_good_as_what_they_name() {
        let accounts = accounts().await;
        let bound = |name: &str, uid: &str| Some(Bound { name: name.into(), uid: uid.into() });
        for (claims, expected) in [
            (claims(), Ok("system:serviceaccount:ns:robot")),
            (Claims { pod: bound("p", "pod-uid"), ..claims() }, Ok("system:serviceaccount:ns:robot")),
            (
                Claims { pod: bound("p", "other"), ..claims() },
                Err("/registry/pods/ns/p is not the one of the token"),
            ),
            (
                Claims { secret: bound("s", ""), ..claims() },
                Err("/registry/secrets/ns/s of the token is not there"),
            ),
            (Claims { expires: now() - 1, ..claims() }, Err("service account token has expired")),
            (Claims { not_before: now() + 60, ..claims() }, Err("service account token is not valid yet")),
            (
                Claims { audiences: vec!["vault".into()], ..claims() },
                Err("token audiences [\"vault\"] is invalid for the target audiences [\"https://us\"]"),
            ),
            (
                Claims { account: Bound { name: "gone".into(), uid: String::new() }, ..claims() },
                Err("/registry/serviceaccounts/ns/gone of the token is not there"),
            ),
        ] {
            let token = accounts.sign(&claims);
            for _ in 0..2 {
                let found = accounts.authenticate(&token, accounts.audiences()).await;
                let name = found.map(|known| known.unwrap().user.name.clone());
                assert_eq!(name, expected.map(str::to_owned).map_err(str::to_owned), "{claims:?}");
            }
        }
    }

    #[tokio::test]
    async fn tokens_of_others_are_others() {
        let accounts = accounts().await;
        let token = accounts.sign(&claims());
        let audiences = accounts.audiences();
        let ask =
            async |token: &str| accounts.authenticate(token, audiences).await.map(|known| known.is_some());
        assert_eq!(ask(&token).await, Ok(true));
        assert_eq!(ask("admintoken").await, Ok(false));
        assert_eq!(ask("a.b.c").await, Ok(false));
        assert_eq!(ask(&format!("{token}x")).await, Err("invalid signature encoding".into()));
        let (signed, _) = token.rsplit_once('.').unwrap();
        assert_eq!(
            ask(&format!("{signed}.{}", BASE64_URL_SAFE_NO_PAD.encode([0; 64]))).await,
            Err("invalid signature".into())
        );
        let user = accounts.authenticate(&token, audiences).await.unwrap().unwrap().user;
        assert_eq!(
            user.groups,
            ["system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"]
        );
        assert_eq!(
            user.extra,
            [("authentication.kubernetes.io/credential-id".into(), vec!["JTI=id".into()])]
        );
    }
}
