//! The ConfigMap `extension-apiserver-authentication`: whose certificates aggregated API servers are to
//! believe, and in which headers we name users.

use std::sync::Arc;

use apiwright_controllers::{Next, Result, Writer};
use apiwright_json::{Object, Value};
use apiwright_meta::status::Reason;
use apiwright_registry::Store;
use apiwright_registry::store::Freshness;

use crate::generated::controllers::cluster_authentication_info::{ConfigMap, Controller, Facts, Namespace};

const NAMESPACE: &str = "kube-system";
const NAME: &str = "extension-apiserver-authentication";

/// What we tell.
pub type Info = Arc<dyn Fn() -> Vec<(&'static str, String)> + Send + Sync>;

/// The controller.
pub(super) struct AuthenticationInfo {
    pub(super) config_maps: Arc<Store>,
    pub(super) namespaces: Arc<Store>,
    pub(super) info: Info,
    pub(super) writer: Writer,
}

impl AuthenticationInfo {
    /// What is to be said besides what is said already: bundles and lists grow, so that replicas with
    /// other settings understand each other.
    fn missing(&self, data: Option<&Object>) -> Vec<(&'static str, String)> {
        let told = |key: &str| data.and_then(|data| data.str(key)).unwrap_or_default();
        (self.info)()
            .into_iter()
            .map(|(key, wanted)| (key, merge(key, told(key), &wanted)))
            .filter(|(key, merged)| told(key) != merged)
            .collect()
    }

    async fn make(&self) -> Result<Next> {
        let data: Object = (self.info)().into_iter().map(|(key, value)| (key, Value::from(value))).collect();
        let metadata = Object::from_iter([("name", NAME), ("namespace", NAMESPACE)]);
        let mut object = Object::new();
        object.push("metadata", metadata);
        object.push("data", data);
        match self.writer.create(&self.config_maps, NAMESPACE, object.into()).await {
            Err(why) if why.reason == Some(Reason::AlreadyExists) => Ok(Next::Again),
            outcome => outcome.map(|_| Next::Done),
        }
    }
}

impl Controller for AuthenticationInfo {
    type Observed = ();

    async fn observe(&self, _key: &str) -> Result<(Facts, ())> {
        let there = |found: Result<_>| match found {
            Ok(entry) => Ok(Some(entry)),
            Err(why) if why.reason == Some(Reason::NotFound) => Ok(None),
            Err(why) => Err(why),
        };
        let namespace = there(self.namespaces.get("", NAMESPACE, Freshness::Latest).await)?;
        let config_map = there(self.config_maps.get(NAMESPACE, NAME, Freshness::Latest).await)?;
        let config_map = match config_map {
            None => ConfigMap::Absent,
            Some(entry) => {
                let object = self.config_maps.decode(&entry)?;
                let data = object.get("data").and_then(Value::as_object);
                if self.missing(data).is_empty() { ConfigMap::Same } else { ConfigMap::Other }
            }
        };
        let namespace = if namespace.is_some() { Namespace::There } else { Namespace::Absent };
        Ok((Facts { namespace, config_map }, ()))
    }

    async fn create_namespace(&self, _key: &str, (): ()) -> Result<Next> {
        let mut object = Object::new();
        object.push("metadata", Object::from_iter([("name", NAMESPACE)]));
        match self.writer.create(&self.namespaces, "", object.into()).await {
            Err(why) if why.reason != Some(Reason::AlreadyExists) => Err(why),
            _ => self.make().await,
        }
    }

    async fn create(&self, _key: &str, (): ()) -> Result<Next> {
        self.make().await
    }

    async fn update(&self, _key: &str, (): ()) -> Result<Next> {
        let change = |object: &mut Value| {
            let missing = self.missing(object.get("data").and_then(Value::as_object));
            if let Some(members) = object.as_object_mut() {
                let data = members.object("data");
                for (key, value) in missing {
                    data.insert(key, value);
                }
            }
            Ok(())
        };
        self.writer.update(&self.config_maps, (NAMESPACE, NAME), "", change).await?;
        Ok(Next::Done)
    }
}

/// What was said and what is to be said, together.
fn merge(key: &str, told: &str, wanted: &str) -> String {
    if told.is_empty() || told == wanted {
        return wanted.to_owned();
    }
    if key.ends_with("-ca-file") {
        let mut blocks = blocks(told);
        for block in self::blocks(wanted) {
            if !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        return blocks.concat();
    }
    let list = |text: &str| match apiwright_json::decode(text.as_bytes()) {
        Ok((Value::Array(items), _)) => items,
        _ => Vec::new(),
    };
    let mut items = list(told);
    for item in list(wanted) {
        if !items.contains(&item) {
            items.push(item);
        }
    }
    apiwright_json::to_string(&Value::Array(items))
}

/// The PEM blocks of a bundle, each with its line's end.
fn blocks(bundle: &str) -> Vec<String> {
    const END: &str = "-----END CERTIFICATE-----";
    let parts = bundle.split_inclusive(END).filter(|part| part.contains(END));
    parts.map(|part| format!("{}\n", part.trim())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_said_stays() {
        let pem = |name: &str| format!("-----BEGIN CERTIFICATE-----\n{name}\n-----END CERTIFICATE-----\n");
        let both = format!("{}{}", pem("a"), pem("b"));
        for (key, told, wanted, expected) in [
            ("client-ca-file", "", &*pem("a"), pem("a")),
            ("client-ca-file", &*pem("a"), &pem("b"), both.clone()),
            ("client-ca-file", &both, &pem("b"), both.clone()),
            ("requestheader-allowed-names", r#"["a"]"#, r#"["b"]"#, r#"["a","b"]"#.into()),
            ("requestheader-allowed-names", r#"["a","b"]"#, r#"["b"]"#, r#"["a","b"]"#.into()),
            ("requestheader-allowed-names", "odd", r#"["b"]"#, r#"["b"]"#.into()),
        ] {
            assert_eq!(merge(key, told, wanted), expected, "{key} {told} {wanted}");
        }
    }
}
