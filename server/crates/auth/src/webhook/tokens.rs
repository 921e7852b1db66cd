//! The webhook token authenticator: a server outside is asked whose token this is.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apiwright_chain::User;
use apiwright_json::{Object, Value, to_string};
use apiwright_webhook::Caller;
use apiwright_webhook::caller::TIMEOUT;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use ring::hmac;
use ring::rand::SystemRandom;

use super::ReviewVersion;
use crate::authentication::{Known, TokenAuthenticator, authenticated};
use crate::expiring::Expiring;

/// How many answers are remembered.
const REMEMBERED_MAX: usize = 32 * 1024;

type Answer = Result<Option<Known>, String>;
type Key = [u8; 32];

/// The authenticator.
pub struct WebhookTokens(Arc<Inner>);

struct Inner {
    caller: Caller,
    version: ReviewVersion,
    /// Whom tokens are for of which the webhook does not say.
    audiences: Vec<String>,
    ttl: Duration,
    /// Tokens are remembered by hashes that nobody can make outside.
    secret: hmac::Key,
    remembered: Expiring<Key, Option<Known>>,
    /// Who asks about the same token at the same time waits for the same answer.
    under_way: Mutex<HashMap<Key, Shared<BoxFuture<'static, Answer>>>>,
}

impl WebhookTokens {
    /// Asks the server that a kubeconfig names, and remembers its answers for a while.
    ///
    /// # Errors
    /// Where the kubeconfig cannot be used.
    pub fn load(
        kubeconfig: &Path,
        version: ReviewVersion,
        ttl: Duration,
        audiences: Vec<String>,
    ) -> Result<Self, String> {
        let secret = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| "the system has no random numbers")?;
        Ok(Self(Arc::new(Inner {
            caller: Caller::load(kubeconfig, TIMEOUT)?,
            version,
            audiences,
            ttl,
            secret,
            remembered: Expiring::new(REMEMBERED_MAX),
            under_way: Mutex::default(),
        })))
    }

    async fn known(&self, token: &str, audiences: &[String]) -> Answer {
        let key = self.0.key(token, audiences);
        if let Some(known) = self.0.remembered.get(&key) {
            return Ok(known);
        }
        self.0.ask_once(key, token, audiences).await
    }
}

impl Inner {
    fn key(&self, token: &str, audiences: &[String]) -> Key {
        let mut context = hmac::Context::with_key(&self.secret);
        let texts = std::iter::once(token).chain(audiences.iter().map(String::as_str));
        for text in texts {
            context.update(&text.len().to_be_bytes());
            context.update(text.as_bytes());
        }
        let mut key = Key::default();
        key.copy_from_slice(context.sign().as_ref());
        key
    }

    fn ask_once(
        self: &Arc<Self>,
        key: Key,
        token: &str,
        audiences: &[String],
    ) -> Shared<BoxFuture<'static, Answer>> {
        let mut under_way = self.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = under_way.get(&key) {
            return answer.clone();
        }
        let (inner, token, audiences) = (Arc::clone(self), token.to_owned(), audiences.to_vec());
        // The call goes on when the client that it is made for goes: others may wait for it.
        let call = tokio::spawn(async move {
            let answer = inner.ask(&token, &audiences).await;
            if let Ok(known) = &answer {
                inner.remembered.insert(key, known.clone(), inner.ttl);
            }
            inner.under_way.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            answer
        });
        let answer = call
            .map(|ended| ended.unwrap_or_else(|_| Err("authentication failed unexpectedly".into())))
            .boxed()
            .shared();
        under_way.insert(key, answer.clone());
        answer
    }

    async fn ask(&self, token: &str, audiences: &[String]) -> Answer {
        let texts = |all: &[String]| all.iter().map(|one| Value::from(one.as_str())).collect::<Vec<_>>();
        let mut spec = Object::with_capacity(2);
        spec.push("token", token);
        if !audiences.is_empty() {
            spec.push("audiences", texts(audiences));
        }
        let mut review = Object::with_capacity(5);
        review.push("kind", "TokenReview");
        review.push("apiVersion", format!("authentication.k8s.io/{}", self.version.as_str()));
        review.push("metadata", Object::new());
        review.push("spec", spec);
        review.push("status", [("user", Object::new())].into_iter().collect::<Object>());
        let answer = self.caller.post(to_string(&review.into())).await.inspect_err(|why| {
            tracing::error!(%why, "cannot ask the authentication webhook");
        })?;
        let kind = answer.text_at(&["kind"]);
        if kind != "TokenReview" {
            return Err(format!("the webhook answered a {kind:?} instead of a TokenReview"));
        }
        read(&answer, audiences, &self.audiences)
    }
}

impl TokenAuthenticator for WebhookTokens {
    fn authenticate<'a>(&'a self, token: &'a str, audiences: &'a [String]) -> BoxFuture<'a, Answer> {
        Box::pin(self.known(token, audiences))
    }
}

/// Whose token it is, as a review says. Audiences are those asked for that the webhook says, or else our own.
fn read(review: &Value, asked: &[String], own: &[String]) -> Answer {
    let texts = |value: Option<&Value>| -> Vec<String> {
        let items = value.and_then(Value::as_array).into_iter().flatten();
        items.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let said = texts(review.at(&["status", "audiences"]));
    let valid = if said.is_empty() { own } else { &said };
    let audiences: Vec<String> = asked.iter().filter(|one| valid.contains(one)).cloned().collect();
    if !asked.is_empty() && audiences.is_empty() {
        return Ok(None);
    }
    let is_authenticated = review.at(&["status", "authenticated"]).and_then(Value::as_bool);
    if is_authenticated != Some(true) {
        return match review.text_at(&["status", "error"]) {
            "" => Ok(None),
            why => Err(why.to_owned()),
        };
    }
    let text = |member: &str| review.text_at(&["status", "user", member]).to_owned();
    let extra = review.at(&["status", "user", "extra"]).and_then(Value::as_object);
    let user = User {
        name: text("username"),
        uid: text("uid"),
        groups: texts(review.at(&["status", "user", "groups"])),
        extra: extra
            .into_iter()
            .flat_map(Object::iter)
            .map(|(key, values)| (key.to_string(), texts(Some(values))))
            .collect(),
    };
    Ok(Some(Known { user: Arc::new(authenticated(user)), audiences }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reviews_say() {
        let list = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<String>>();
        let sound = r#"{"authenticated":true,"user":{"username":"jane","groups":["devs"]}}"#;
        #[rustfmt::skip]
        let table = [
            (sound, &["us"][..], Ok(Some(("jane", list(&["us"]))))),
            (sound, &[], Ok(Some(("jane", list(&[]))))),
            (sound, &["vault"], Ok(None)),
            (r#"{"authenticated":true,"audiences":["vault"],"user":{"username":"jane"}}"#, &["us"], Ok(None)),
            (r#"{"authenticated":true,"audiences":["vault","x"],"user":{"username":"jane"}}"#, &["us", "vault"], Ok(Some(("jane", list(&["vault"]))))),
            (r#"{"authenticated":false,"error":"who?","user":{"username":"root"}}"#, &["us"], Err("who?".to_owned())),
            (r#"{"user":{"username":"root"}}"#, &["us"], Ok(None)),
        ];
        for (status, asked, expected) in table {
            let json = format!(r#"{{"status":{status}}}"#);
            let review = apiwright_json::decode(json.as_bytes()).unwrap().0;
            let found = read(&review, &list(asked), &list(&["us"]));
            let found = found.map(|known| known.map(|known| (known.user.name.clone(), known.audiences)));
            let expected = expected.map(|known| known.map(|(name, audiences)| (name.to_owned(), audiences)));
            assert_eq!(found, expected, "{status} {asked:?}");
        }
    }
}
