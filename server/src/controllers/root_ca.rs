//! The ConfigMap `kube-root-ca.crt` of every namespace: whom pods may trust to be this server.

use std::sync::Arc;

use apiwright_controllers::{Change, Identity, Next, Result, Writer};
use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_registry::Store;

use super::look_up::{self, Phase};
use crate::generated::controllers::root_ca_certificate_publisher_controller::{
    Bundle, Controller, Facts, Namespace,
};

/// Its name.
const NAME: &str = "kube-root-ca.crt";
const KEY: &str = "ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const DESCRIBED: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
     endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across \
     distributions of Kubernetes clusters.";
pub(super) const IDENTITY: Identity =
    Identity::manager("system:serviceaccount:kube-system:root-ca-cert-publisher");

/// Publishes the authority.
pub(super) struct RootCa {
    pub(super) namespaces: Arc<Store>,
    pub(super) config_maps: Arc<Store>,
    pub(super) writer: Writer,
    /// Certificates, as PEM.
    pub(super) bundle: String,
}

impl RootCa {
    fn data(&self) -> Object {
        [(KEY, self.bundle.as_str())].into_iter().collect()
    }

    fn is_current(&self, map: &Value) -> bool {
        map.get("data").and_then(Value::as_object) == Some(&self.data())
            && object::annotation(map, DESCRIPTION).is_some_and(|text| !text.is_empty())
    }
}

impl Controller for RootCa {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(Facts, ())> {
        let namespace = match look_up::phase(&self.namespaces, key).await? {
            Phase::Absent => Namespace::Absent,
            Phase::Active => Namespace::Active,
            Phase::Terminating => Namespace::Terminating,
        };
        let bundle = match look_up::object(&self.config_maps, key, NAME).await? {
            None => Bundle::Absent,
            Some(map) if self.is_current(&map) => Bundle::Current,
            Some(_) => Bundle::Other,
        };
        Ok((Facts { namespace, bundle }, ()))
    }

    async fn create(&self, key: &str, (): ()) -> Result<Next> {
        let annotations: Object = [(DESCRIPTION, DESCRIBED)].into_iter().collect();
        let mut metadata: Object = [("name", NAME), ("namespace", key)].into_iter().collect();
        metadata.push("annotations", annotations);
        let mut map: Object = [("kind", "ConfigMap"), ("apiVersion", "v1")].into_iter().collect();
        map.push("metadata", metadata);
        map.push("data", self.data());
        let created = self.writer.create(&self.config_maps, key, map.into()).await;
        look_up::unless(created, Reason::AlreadyExists).map(|()| Next::Done)
    }

    async fn replace(&self, key: &str, (): ()) -> Result<Next> {
        let replace = |map: &mut Value| {
            object::set_annotation(map, DESCRIPTION, DESCRIBED);
            if let Some(map) = map.as_object_mut() {
                map.insert("data", self.data());
            }
            Ok(())
        };
        let replaced = self.writer.update(&self.config_maps, (key, NAME), "", replace).await;
        look_up::unless(replaced, Reason::NotFound).map(|()| Next::Done)
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        if let Some(facts) = change.facts().filter(|facts| facts.name == NAME) {
            add(&facts.namespace);
        }
    }
}
