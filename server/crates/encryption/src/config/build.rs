//! Transformers of a configuration.

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Configuration, Kms, NamedKey, Provider};
use crate::aes_cbc::AesCbc;
use crate::aes_gcm::AesGcm;
use crate::provider::{Identity, Providers};
use crate::resources::{GroupResource, Transformers};
use crate::secretbox::Secretbox;
use crate::transform::Transform;

/// A provider's values begin with this.
type Prefixed = (Vec<u8>, Arc<dyn Transform>);

const NO_AES_KEY: &str = "no matching key was found for the provided AES transformer";
const NO_SECRETBOX_KEY: &str = "no matching key was found for the provided Secretbox transformer";

/// Those outside of this process, that a configuration names.
#[derive(Default)]
pub(super) struct Plugins {
    #[cfg(feature = "kms")]
    all: Vec<Arc<crate::kms::Plugin>>,
}

impl Configuration {
    /// Makes what seals and opens. Plugins are asked for a key; those that do not answer are asked again until they
    /// do, and until then nothing is sealed with them.
    ///
    /// # Errors
    /// Where one rule hides another, or a provider is not in this binary.
    pub async fn transformers(&self) -> Result<Transformers, String> {
        let mut by_resource: HashMap<GroupResource, Vec<Prefixed>> = HashMap::new();
        let mut plugins = Plugins::default();
        for rule in &self.rules {
            let mut providers = Vec::new();
            for provider in &rule.providers {
                providers.push(prefixed(provider, &mut plugins)?);
            }
            for name in &rule.resources {
                let resource = GroupResource::parse(name);
                for group in [resource.group.as_str(), "*"] {
                    let any = GroupResource { group: group.to_owned(), resource: "*".into() };
                    if by_resource.contains_key(&any) {
                        let name = resource.to_string();
                        return Err(format!(
                            "resource {name:?} is masked by earlier rule {:?}",
                            any.to_string()
                        ));
                    }
                }
                by_resource.entry(resource).or_default().extend(providers.iter().cloned());
            }
        }
        let of = by_resource.into_iter().map(|(resource, its)| (resource, Providers::of_resource(its)));
        let transformers = Transformers::new(of.collect());
        #[cfg(feature = "kms")]
        let transformers = {
            for plugin in &plugins.all {
                plugin.start().await;
            }
            transformers.with_plugins(plugins.all)
        };
        #[cfg(not(feature = "kms"))]
        std::future::ready(()).await;
        Ok(transformers)
    }
}

fn prefixed(provider: &Provider, plugins: &mut Plugins) -> Result<Prefixed, String> {
    Ok(match provider {
        Provider::AesCbc(keys) => {
            (b"k8s:enc:aescbc:v1:".to_vec(), of_keys(keys, NO_AES_KEY, |key| AesCbc::new(key).map(arc))?)
        }
        Provider::AesGcm(keys) => {
            (b"k8s:enc:aesgcm:v1:".to_vec(), of_keys(keys, NO_AES_KEY, |key| AesGcm::new(key).map(arc))?)
        }
        Provider::Secretbox(keys) => {
            let make = |key: &[u8]| Secretbox::new(key).map(arc);
            (b"k8s:enc:secretbox:v1:".to_vec(), of_keys(keys, NO_SECRETBOX_KEY, make)?)
        }
        Provider::Kms(kms) => of_plugin(kms, plugins)?,
        Provider::Identity => (Vec::new(), Arc::new(Identity) as _),
        Provider::Not(_) => {
            return Err("provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity".into());
        }
    })
}

fn arc(transform: impl Transform + 'static) -> Arc<dyn Transform> {
    Arc::new(transform)
}

fn of_keys(
    keys: &[NamedKey],
    unknown: &'static str,
    make: impl Fn(&[u8]) -> Option<Arc<dyn Transform>>,
) -> Result<Arc<dyn Transform>, String> {
    let mut of = Vec::new();
    for NamedKey { name, secret } in keys {
        let key = STANDARD
            .decode(secret)
            .map_err(|why| format!("could not obtain secret for named key {name}: {why}"))?;
        let cipher = make(&key)
            .ok_or_else(|| format!("error while creating cipher for named key {name}: invalid key size"))?;
        of.push((format!("{name}:").into_bytes(), cipher));
    }
    Ok(Arc::new(Providers::keys(of, unknown)))
}

fn of_plugin(kms: &Kms, plugins: &mut Plugins) -> Result<Prefixed, String> {
    if kms.version == "v1" {
        return Err(
            "KMSv1 is deprecated and will only receive security updates going forward. Use KMSv2 instead."
                .into(),
        );
    }
    #[cfg(feature = "kms")]
    {
        let plugin = Arc::new(crate::kms::Plugin::new(&kms.name, &kms.endpoint, kms.timeout));
        plugins.all.push(Arc::clone(&plugin));
        Ok((format!("k8s:enc:kms:v2:{}:", kms.name).into_bytes(), plugin as _))
    }
    #[cfg(not(feature = "kms"))]
    {
        let Plugins {} = plugins;
        Err(format!("the KMS provider {} needs a binary that was built with --features kms", kms.name))
    }
}
