//! `serviceaccounts/token`: a token for an account, bound to what the request names.

use std::sync::Arc;

use apiwright_auth::ServiceAccounts;
use apiwright_auth::service_account::{Bound, Claims, now};
use apiwright_chain::respond::Warnings;
use apiwright_json::{Object, Value, decode};
use apiwright_meta::field::{Path, quoted};
use apiwright_meta::gvk::{GroupKind, GroupResource};
use apiwright_meta::status::Result;
use apiwright_meta::time::Time;
use apiwright_meta::{ErrorList, Status, object};
use apiwright_storage::{At, Storage};
use uuid::Uuid;

use super::{Act, Acting, Answer, BoxFuture, list, texts};

/// The shortest life of a token.
const SECONDS_MIN: i64 = 600;
/// The longest.
const SECONDS_MAX: i64 = 1 << 32;
/// What kubelets of old clients' pods ask for: those live for a year, and warn after this time.
const WARNING_SECONDS: i64 = 60 * 60 + 7;
const EXTENDED_SECONDS: i64 = 60 * 60 * 24 * 365;

/// Issues tokens.
pub(super) struct TokenRequest {
    pub(super) accounts: Arc<ServiceAccounts>,
    pub(super) storage: Arc<dyn Storage>,
    pub(super) lives: Lives,
}

/// How long tokens live, whatever is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Lives {
    /// At most so many seconds, if it is limited.
    pub seconds_max: Option<i64>,
    /// Whether tokens of old clients' pods live for a year.
    pub extends: bool,
}

impl Act for TokenRequest {
    fn act<'a>(&'a self, acting: Acting<'a>) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(async move {
            let Acting { namespace, name, object, call, .. } = acting;
            self.issue(namespace, name, object, &call.warnings).await.map(Answer::Object)
        })
    }
}

impl TokenRequest {
    async fn issue(
        &self,
        namespace: &str,
        name: &str,
        mut request: Value,
        warnings: &Warnings,
    ) -> Result<Value> {
        let Some(account) = self.get("serviceaccounts", namespace, name).await? else {
            return Err(Status::not_found(&resource("serviceaccounts"), name));
        };
        let named = object::name(&request);
        if !named.is_empty() && named != name {
            let mut errors = ErrorList::new();
            let detail = "must match the service account name if specified";
            errors.invalid(Path::new("metadata").child("name"), quoted(named), detail);
            return Err(Status::invalid(&kind(), name, &errors));
        }
        let seconds = request.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64).unwrap_or(3600);
        check_seconds(seconds)?;
        let seconds = self.shortened(seconds, warnings);
        let asked = list(request.at(&["spec", "audiences"]));
        let audiences = if asked.is_empty() { self.accounts.audiences().to_vec() } else { asked };

        let mut claims = Claims {
            audiences: audiences.clone(),
            id: Uuid::new_v4().to_string(),
            namespace: namespace.into(),
            account: bound(&account),
            not_before: now(),
            ..Claims::default()
        };
        claims.expires = claims.not_before + seconds;
        if let Some(reference) = request.at(&["spec", "boundObjectRef"]).filter(|it| !it.is_null()) {
            self.bind(&mut claims, reference).await?;
        }
        let is_for_us = audiences.iter().all(|audience| self.accounts.audiences().contains(audience));
        let mut until = claims.expires;
        if self.lives.extends && seconds == WARNING_SECONDS && claims.pod.is_some() && is_for_us {
            claims.warn_after = Some(claims.expires);
            claims.expires = claims.not_before + EXTENDED_SECONDS;
            until = claims.not_before + seconds;
        }

        let mut status = Object::new();
        status.push("token", self.accounts.sign(&claims));
        status.push("expirationTimestamp", Time::from_unix(until).to_rfc3339());
        let metadata = object::metadata_mut(&mut request);
        metadata.insert("name", name);
        metadata.insert("namespace", namespace);
        metadata.insert("uid", object::uid(&account));
        metadata.insert("creationTimestamp", Time::from_unix(claims.not_before).to_rfc3339());
        sort_metadata(metadata);
        if let Some(members) = request.as_object_mut() {
            let spec = members.object("spec");
            spec.insert("audiences", texts(&audiences));
            spec.insert("expirationSeconds", seconds);
            members.insert("status", status);
        }
        Ok(request)
    }

    fn shortened(&self, seconds: i64, warnings: &Warnings) -> i64 {
        match self.lives.seconds_max {
            Some(max) if max < seconds => {
                warnings.add(format!("requested expiration of {seconds} seconds shortened to {max} seconds"));
                max
            }
            _ => seconds,
        }
    }

    /// Looks up what a token is to be bound to, and notes it.
    async fn bind(&self, claims: &mut Claims, reference: &Value) -> Result<()> {
        let (api_version, kind) = (reference.text_at(&["apiVersion"]), reference.text_at(&["kind"]));
        let name = reference.text_at(&["name"]);
        let namespace = claims.namespace.clone();
        let (plural, prefix, namespace) = match (api_version, kind) {
            ("v1", "Pod") => ("pods", "pods", namespace.as_str()),
            ("v1", "Secret") => ("secrets", "secrets", namespace.as_str()),
            ("v1", "Node") => ("nodes", "minions", ""),
            _ => {
                let version =
                    if api_version.contains('/') { api_version.into() } else { format!("/{api_version}") };
                return Err(Status::bad_request(format!(
                    "cannot bind token to object of type {version}, Kind={kind}"
                )));
            }
        };
        let Some(target) = self.get(prefix, namespace, name).await? else {
            return Err(Status::not_found(&resource(plural), name));
        };
        let uid = reference.text_at(&["uid"]);
        if !uid.is_empty() && uid != object::uid(&target) {
            return Err(Status::conflict(
                &resource(kind),
                name,
                format!(
                    "the UID in the bound object reference ({uid}) does not match the UID in record. \
                     The object might have been deleted and then recreated"
                ),
            ));
        }
        match kind {
            "Pod" => {
                let account = target.text_at(&["spec", "serviceAccountName"]);
                if account != claims.account.name {
                    return Err(Status::bad_request(format!(
                        "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                        quoted(&claims.account.name)
                    )));
                }
                let node = target.text_at(&["spec", "nodeName"]);
                if !node.is_empty() {
                    // The node may have gone already; its name is known even so.
                    let uid = self.get("minions", "", node).await?.map(|node| object::uid(&node).to_owned());
                    claims.node = Some(Bound { name: node.into(), uid: uid.unwrap_or_default() });
                }
                claims.pod = Some(bound(&target));
            }
            "Secret" => claims.secret = Some(bound(&target)),
            _ => claims.node = Some(bound(&target)),
        }
        Ok(())
    }

    async fn get(&self, prefix: &str, namespace: &str, name: &str) -> Result<Option<Value>> {
        let slash = if namespace.is_empty() { "" } else { "/" };
        let key = format!("/registry/{prefix}/{namespace}{slash}{name}");
        let (_, entry) = self.storage.get(&key, At::Latest).await.map_err(Status::internal)?;
        let Some(entry) = entry else { return Ok(None) };
        let (value, _) = decode(&entry.value).map_err(|why| Status::internal(why.message))?;
        Ok(Some(value))
    }
}

fn check_seconds(seconds: i64) -> Result<()> {
    let detail = match seconds {
        ..SECONDS_MIN => "may not specify a duration less than 10 minutes",
        SECONDS_MIN..=SECONDS_MAX => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let mut errors = ErrorList::new();
    errors.invalid(Path::new("spec").child("expirationSeconds"), seconds, detail);
    Err(Status::invalid(&kind(), "", &errors))
}

fn kind() -> GroupKind {
    GroupKind { group: "authentication.k8s.io".into(), kind: "TokenRequest".into() }
}

fn resource(plural: &str) -> GroupResource {
    GroupResource { group: "".into(), resource: plural.into() }
}

fn bound(target: &Value) -> Bound {
    Bound { name: object::name(target).into(), uid: object::uid(target).into() }
}

/// The members that are set here, in the order of `ObjectMeta`.
fn sort_metadata(metadata: &mut Object) {
    const ORDER: [&str; 4] = ["name", "namespace", "uid", "creationTimestamp"];
    let mut sorted = Object::with_capacity(metadata.len());
    for key in ORDER {
        if let Some(value) = metadata.remove(key) {
            sorted.push(key, value);
        }
    }
    for (key, value) in std::mem::take(metadata) {
        sorted.push(key, value);
    }
    *metadata = sorted;
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_auth::service_account::SigningKey;
    use apiwright_json::to_string;
    use apiwright_storage::{Change, Expect};
    use apiwright_storage_embedded::{Embedded, Options};

    async fn request() -> TokenRequest {
        let storage: Arc<dyn Storage> = Arc::new(Embedded::memory(Options::default()));
        for (key, json) in [
            ("serviceaccounts/ns/robot", r#"{"metadata":{"name":"robot","uid":"ru"}}"#),
            ("secrets/ns/s", r#"{"metadata":{"name":"s","uid":"su"}}"#),
            (
                "pods/ns/p",
                r#"{"metadata":{"name":"p","uid":"pu"},"spec":{"serviceAccountName":"robot","nodeName":"n"}}"#,
            ),
            ("pods/ns/q", r#"{"metadata":{"name":"q","uid":"qu"},"spec":{"serviceAccountName":"other"}}"#),
        ] {
            let change = Change::Put { value: json.into(), ttl_seconds: None };
            storage.commit(format!("/registry/{key}").as_str().into(), Expect::Absent, change).await.unwrap();
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("sa.key");
        std::fs::write(&path, rcgen::KeyPair::generate().unwrap().serialize_pem()).unwrap();
        let us = || vec!["https://us".to_owned()];
        let signing = SigningKey::load(&path).unwrap();
        let accounts = ServiceAccounts::new(us(), us(), signing, Vec::new(), Arc::clone(&storage));
        TokenRequest {
            accounts: Arc::new(accounts),
            storage,
            lives: Lives { seconds_max: Some(7200), extends: true },
        }
    }

    async fn ask(name: &str, metadata: &str, spec: &str) -> Result<Value> {
        let text = format!(r#"{{"kind":"TokenRequest","metadata":{metadata},"spec":{spec},"status":{{}}}}"#);
        let (object, _) = decode(text.as_bytes()).unwrap();
        request().await.issue("ns", name, object, &Warnings::default()).await
    }

    #[tokio::test]
    async fn refusals() {
        let bound = |kind: &str, name: &str, uid: &str| {
            format!(
                r#"{{"boundObjectRef":{{"apiVersion":"v1","kind":"{kind}","name":"{name}","uid":"{uid}"}}}}"#
            )
        };
        #[rustfmt::skip]
        let table = [
            ("none", "{}", "{}".to_owned(), 404, "serviceaccounts \"none\" not found"),
            ("robot", r#"{"name":"other"}"#, "{}".into(), 422, "TokenRequest.authentication.k8s.io \"robot\" is invalid: metadata.name: Invalid value: \"other\": must match the service account name if specified"),
            ("robot", "{}", r#"{"expirationSeconds":599}"#.into(), 422, "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes"),
            ("robot", "{}", r#"{"expirationSeconds":4294967297}"#.into(), 422, "TokenRequest.authentication.k8s.io \"\" is invalid: spec.expirationSeconds: Invalid value: 4294967297: may not specify a duration larger than 2^32 seconds"),
            ("robot", "{}", bound("ConfigMap", "c", ""), 400, "cannot bind token to object of type /v1, Kind=ConfigMap"),
            ("robot", "{}", bound("Secret", "none", ""), 404, "secrets \"none\" not found"),
            ("robot", "{}", bound("Secret", "s", "x"), 409, "Operation cannot be fulfilled on Secret \"s\": the UID in the bound object reference (x) does not match the UID in record. The object might have been deleted and then recreated"),
            ("robot", "{}", bound("Pod", "q", ""), 400, "cannot bind token for serviceaccount \"robot\" to pod running with different serviceaccount name."),
        ];
        for (name, metadata, spec, code, message) in table {
            let status = ask(name, metadata, &spec).await.unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
    }

    #[tokio::test]
    async fn tokens_are_told_with_what_they_are() {
        let answer =
            ask("robot", "{}", r#"{"audiences":null,"expirationSeconds":3600,"boundObjectRef":null}"#)
                .await
                .unwrap();
        let metadata: Vec<_> = object::metadata(&answer).keys().map(ToString::to_string).collect();
        assert_eq!(metadata, ["name", "namespace", "uid", "creationTimestamp"]);
        let spec = r#"{"audiences":["https://us"],"expirationSeconds":3600,"boundObjectRef":null}"#;
        assert_eq!(to_string(answer.get("spec").unwrap()), spec);
        assert_eq!(answer.text_at(&["status", "token"]).split('.').count(), 3);
        let expires = Time::parse(answer.text_at(&["status", "expirationTimestamp"])).unwrap();
        assert!((3590..=3600).contains(&(expires.seconds - now())));
    }

    #[tokio::test]
    async fn lives_are_limited() {
        let request = request().await;
        for (seconds, expected, warned) in [
            (7200, 7200, None),
            (7201, 7200, Some("299 - \"requested expiration of 7201 seconds shortened to 7200 seconds\"")),
        ] {
            let text = format!(r#"{{"spec":{{"expirationSeconds":{seconds}}},"status":{{}}}}"#);
            let (object, _) = decode(text.as_bytes()).unwrap();
            let warnings = Warnings::default();
            let answer = request.issue("ns", "robot", object, &warnings).await.unwrap();
            let told = answer.at(&["spec", "expirationSeconds"]).and_then(Value::as_i64);
            let mut response = apiwright_chain::respond::bytes(201, "application/json", "");
            warnings.put_on(&mut response);
            let warning = response.headers().get("warning").map(|value| value.to_str().unwrap());
            assert_eq!((told, warning), (Some(expected), warned));
        }
    }

    #[tokio::test]
    async fn a_pods_token_knows_the_node() {
        let request = request().await;
        let spec = r#"{"spec":{"boundObjectRef":{"apiVersion":"v1","kind":"Pod","name":"p"}}}"#;
        let (object, _) = decode(spec.as_bytes()).unwrap();
        let answer = request.issue("ns", "robot", object, &Warnings::default()).await.unwrap();
        let token = answer.text_at(&["status", "token"]);
        let known = apiwright_auth::TokenAuthenticator::authenticate(
            request.accounts.as_ref(),
            token,
            request.accounts.audiences(),
        );
        let extra = known.await.unwrap().unwrap().user.extra.clone();
        let keys: Vec<_> = extra.iter().map(|(key, _)| key.rsplit_once('/').unwrap().1).collect();
        assert_eq!(keys, ["credential-id", "node-name", "pod-name", "pod-uid"]);
    }
}
