//! Claims, volumes and classes of volume attributes that are in use do not go: a finalizer holds them until they are not.

use std::sync::Arc;

use apiwright_controllers::{Cache, Change, Identity, Next, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Reason;
use apiwright_registry::Store;

use super::look_up;
use crate::generated::controllers::{
    persistentvolume_protection_controller as of_volumes,
    persistentvolumeclaim_protection_controller as of_claims,
    volumeattributesclass_protection_controller as of_classes,
};

const CLAIM_FINALIZER: &str = "kubernetes.io/pvc-protection";
const VOLUME_FINALIZER: &str = "kubernetes.io/pv-protection";
pub(super) const CLAIMS_IDENTITY: Identity =
    Identity::manager("system:serviceaccount:kube-system:pvc-protection-controller");
pub(super) const VOLUMES_IDENTITY: Identity =
    Identity::manager("system:serviceaccount:kube-system:pv-protection-controller");
pub(super) const CLASSES_IDENTITY: Identity =
    Identity::manager("system:serviceaccount:kube-system:volumeattributesclass-protection-controller");
const CLASS_FINALIZER: &str = "kubernetes.io/vac-protection";

/// Protects claims.
pub(super) struct Claims {
    pub(super) store: Arc<Store>,
    pub(super) pods: Cache,
    pub(super) writer: Writer,
}

/// Protects volumes.
pub(super) struct Volumes {
    pub(super) store: Arc<Store>,
    pub(super) writer: Writer,
}

/// Protects classes of volume attributes.
pub(super) struct Classes {
    pub(super) store: Arc<Store>,
    pub(super) volumes: Cache,
    pub(super) claims: Cache,
    pub(super) writer: Writer,
}

impl Claims {
    fn is_used(&self, namespace: &str, name: &str) -> Result<bool> {
        for pod in self.pods.list() {
            let Some((its_namespace, its_name)) = place(&pod.key) else { continue };
            if its_namespace != namespace {
                continue;
            }
            let Some(pod) = self.pods.object(its_namespace, its_name)? else { continue };
            let is_bound = !pod.text_at(&["spec", "nodeName"]).is_empty();
            if is_bound && claims_of(&pod).any(|claim| claim == name) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl of_claims::Controller for Claims {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(of_claims::Facts, ())> {
        use of_claims::{Claim, Facts, Finalizer, Pods};
        let (namespace, name) = key.split_once('/').unwrap_or_default();
        let found = look_up::object(&self.store, namespace, name).await?;
        let claim = match &found {
            None => Claim::Absent,
            Some(claim) if object::deletion_timestamp(claim).is_some() => Claim::Terminating,
            Some(_) => Claim::Live,
        };
        let finalizer =
            if has(found.as_ref(), CLAIM_FINALIZER) { Finalizer::Present } else { Finalizer::Absent };
        let is_used = claim == Claim::Terminating && self.is_used(namespace, name)?;
        let pods = if is_used { Pods::OneUses } else { Pods::NoneUses };
        Ok((Facts { claim, finalizer, pods }, ()))
    }

    async fn protect(&self, key: &str, (): ()) -> Result<Next> {
        let place = key.split_once('/').unwrap_or_default();
        protect(&self.writer, &self.store, place, CLAIM_FINALIZER).await
    }

    async fn release(&self, key: &str, (): ()) -> Result<Next> {
        let place = key.split_once('/').unwrap_or_default();
        release(&self.writer, &self.store, place, CLAIM_FINALIZER).await
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        if !change.is_of("", "pods") {
            add(&change.key());
            return;
        }
        let Some(pod) = change.decode() else { return };
        let namespace = object::namespace(&pod);
        for claim in claims_of(&pod) {
            add(&format!("{namespace}/{claim}"));
        }
    }
}

impl of_volumes::Controller for Volumes {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(of_volumes::Facts, ())> {
        use of_volumes::{Facts, Finalizer, Volume};
        let found = look_up::object(&self.store, "", key).await?;
        let volume = match &found {
            None => Volume::Absent,
            Some(volume) if object::deletion_timestamp(volume).is_some() => Volume::Terminating,
            Some(_) => Volume::Live,
        };
        let finalizer =
            if has(found.as_ref(), VOLUME_FINALIZER) { Finalizer::Present } else { Finalizer::Absent };
        let bound = found.is_some_and(|volume| volume.text_at(&["status", "phase"]) == "Bound");
        Ok((Facts { volume, finalizer, bound }, ()))
    }

    async fn protect(&self, key: &str, (): ()) -> Result<Next> {
        protect(&self.writer, &self.store, ("", key), VOLUME_FINALIZER).await
    }

    async fn release(&self, key: &str, (): ()) -> Result<Next> {
        release(&self.writer, &self.store, ("", key), VOLUME_FINALIZER).await
    }
}

impl Classes {
    fn is_used(&self, name: &str) -> Result<bool> {
        for cache in [&self.volumes, &self.claims] {
            for entry in cache.list() {
                // Most name no class at all, which is seen without decoding them.
                let is_named = entry.value.windows(name.len()).any(|part| part == name.as_bytes());
                if is_named && classes_of(&cache.store.decode(&entry)?).any(|class| class == name) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

impl of_classes::Controller for Classes {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(of_classes::Facts, ())> {
        use of_classes::{Class, Facts, Finalizer};
        let found = look_up::object(&self.store, "", key).await?;
        let class = match &found {
            None => Class::Absent,
            Some(class) if object::deletion_timestamp(class).is_some() => Class::Terminating,
            Some(_) => Class::Live,
        };
        let finalizer =
            if has(found.as_ref(), CLASS_FINALIZER) { Finalizer::Present } else { Finalizer::Absent };
        let used = class == Class::Terminating && self.is_used(key)?;
        Ok((Facts { class, finalizer, used }, ()))
    }

    async fn protect(&self, key: &str, (): ()) -> Result<Next> {
        protect(&self.writer, &self.store, ("", key), CLASS_FINALIZER).await
    }

    async fn release(&self, key: &str, (): ()) -> Result<Next> {
        release(&self.writer, &self.store, ("", key), CLASS_FINALIZER).await
    }

    fn keys(&self, change: &Change<'_>, add: &mut dyn FnMut(&str)) {
        if change.is_of("storage.k8s.io", "volumeattributesclasses") {
            add(&change.key());
            return;
        }
        // A class is let go when the last that named it names another.
        for entry in [change.old, change.new].into_iter().flatten() {
            let Ok(user) = change.store.decode(entry) else { continue };
            classes_of(&user).for_each(&mut *add);
        }
    }
}

fn has(object: Option<&Value>, finalizer: &str) -> bool {
    object.is_some_and(|object| object::finalizers(object).any(|one| one == finalizer))
}

async fn protect(writer: &Writer, store: &Store, place: (&str, &str), finalizer: &str) -> Result<Next> {
    let protected = writer.update(store, place, "", |object| {
        if object::deletion_timestamp(object).is_none() && !has(Some(object), finalizer) {
            let all = object::finalizers(object).map(str::to_owned).chain([finalizer.to_owned()]);
            let all: Vec<String> = all.collect();
            object::set_finalizers(object, all);
        }
        Ok(())
    });
    look_up::unless(protected.await, Reason::NotFound).map(|()| Next::Done)
}

async fn release(writer: &Writer, store: &Store, place: (&str, &str), finalizer: &str) -> Result<Next> {
    let released = writer.update(store, place, "", |object| {
        object::remove_finalizer(object, finalizer);
        Ok(())
    });
    look_up::unless(released.await, Reason::NotFound).map(|()| Next::Done)
}

/// The claims that a pod's volumes name; those of ephemeral volumes are named after pod and volume.
fn claims_of(pod: &Value) -> impl Iterator<Item = String> {
    let volumes = pod.at(&["spec", "volumes"]).and_then(Value::as_array);
    volumes.into_iter().flatten().filter_map(move |volume| {
        let named = volume.text_at(&["persistentVolumeClaim", "claimName"]);
        if !named.is_empty() {
            return Some(named.to_owned());
        }
        volume.get("ephemeral").map(|_| format!("{}-{}", object::name(pod), volume.text_at(&["name"])))
    })
}

/// The classes that a volume or a claim names, has, or is to get.
fn classes_of(user: &Value) -> impl Iterator<Item = &str> {
    let paths: [&[&str]; 3] = [
        &["spec", "volumeAttributesClassName"],
        &["status", "currentVolumeAttributesClassName"],
        &["status", "modifyVolumeStatus", "targetVolumeAttributesClassName"],
    ];
    paths.into_iter().map(|path| user.text_at(path)).filter(|class| !class.is_empty())
}

/// The namespace and name at the end of a key in storage.
fn place(key: &str) -> Option<(&str, &str)> {
    let (rest, name) = key.rsplit_once('/')?;
    Some((rest.rsplit('/').next()?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_claims_and_volumes_name() {
        for (user, expected) in [
            (r#"{"spec":{}}"#, &[][..]),
            (r#"{"spec":{"volumeAttributesClassName":"gold"}}"#, &["gold"]),
            (
                r#"{"spec":{"volumeAttributesClassName":"a"},"status":{"currentVolumeAttributesClassName":"b","modifyVolumeStatus":{"targetVolumeAttributesClassName":"c"}}}"#,
                &["a", "b", "c"],
            ),
        ] {
            let user = apiwright_json::decode(user.as_bytes()).unwrap().0;
            assert_eq!(classes_of(&user).collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn what_pods_name() {
        let pod = br#"{"metadata":{"name":"p"},"spec":{"volumes":[{"name":"a","persistentVolumeClaim":{"claimName":"c"}},{"name":"e","ephemeral":{}},{"name":"x","emptyDir":{}}]}}"#;
        let pod = apiwright_json::decode(pod).unwrap().0;
        assert_eq!(claims_of(&pod).collect::<Vec<_>>(), ["c", "p-e"]);
        assert_eq!(place("/registry/pods/default/web-0"), Some(("default", "web-0")));
    }
}
