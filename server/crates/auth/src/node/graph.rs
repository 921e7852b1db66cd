//! Which objects are of which nodes' business: those that pods on a node name, and the volumes behind their claims.
//!
//! Invariant: an answer costs a few look-ups however many pods there are. What does not change who may see what, as a
//! pod's status mostly does not, changes nothing here.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, PoisonError, RwLock};

use crate::follow::View;

use super::related::{self, Pod, Related, Volume};

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub(super) enum Asked {
    Pod,
    Named(Related),
    PersistentVolume,
    VolumeAttachment,
    ResourceSlice,
}

/// Nodes, and how many of their pods it is about.
type Nodes = HashMap<Arc<str>, u32>;

/// The graph.
#[derive(Default)]
pub(super) struct Graph(RwLock<State>);

/// Keys are `namespace/name`, or the name of what has no namespace.
#[derive(Default)]
struct State {
    pods: HashMap<Box<str>, Pod>,
    /// For each kind, the nodes whose pods name an object, and by how many pods.
    named: [HashMap<Box<str>, Nodes>; Related::COUNT],
    volumes: HashMap<Box<str>, Volume>,
    /// The volumes that name a secret.
    volumes_of: HashMap<Box<str>, HashSet<Box<str>>>,
    attachments: HashMap<Box<str>, Box<str>>,
    slices: HashMap<Box<str>, Box<str>>,
    /// Names of nodes, shared by their pods.
    nodes: HashSet<Arc<str>>,
}

const PREFIXES: [&str; 4] = [
    "/registry/pods/",
    "/registry/persistentvolumes/",
    "/registry/volumeattachments/",
    "/registry/resourceslices/",
];

impl Graph {
    /// Whether an object is a node's business.
    pub(super) fn relates(&self, node: &str, asked: Asked, namespace: &str, name: &str) -> bool {
        let state = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let place = || format!("{namespace}/{name}");
        match asked {
            Asked::Pod => state.pods.get(&*place()).is_some_and(|pod| *pod.node == *node),
            Asked::Named(kind) => {
                let place = place();
                state.is_named(kind, &place, node)
                    || (kind == Related::Secret
                        && state.volumes_of.get(&*place).into_iter().flatten().any(|volume| {
                            state.volumes.get(volume).is_some_and(|volume| state.mounts(volume, node))
                        }))
            }
            Asked::PersistentVolume => {
                state.volumes.get(name).is_some_and(|volume| state.mounts(volume, node))
            }
            Asked::VolumeAttachment => state.attachments.get(name).is_some_and(|its| **its == *node),
            Asked::ResourceSlice => state.slices.get(name).is_some_and(|its| **its == *node),
        }
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, State> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl View for Graph {
    fn prefixes(&self) -> &'static [&'static str] {
        &PREFIXES
    }

    fn apply(&self, which: usize, key: &str, value: Option<&[u8]>) {
        match which {
            0 => {
                let pod = value.and_then(related::pod);
                self.write().set_pod(key, pod);
            }
            1 => {
                let volume = value.and_then(related::volume);
                self.write().set_volume(key, volume);
            }
            _ => {
                let node = value.and_then(related::node_name);
                let mut state = self.write();
                let of = if which == 2 { &mut state.attachments } else { &mut state.slices };
                match node {
                    Some(node) => of.insert(key.into(), node),
                    None => of.remove(key),
                };
            }
        }
    }

    fn retain(&self, which: usize, keys: &HashSet<&str>) {
        fn gone<V>(of: &HashMap<Box<str>, V>, keys: &HashSet<&str>) -> Vec<Box<str>> {
            of.keys().filter(|key| !keys.contains(&***key)).cloned().collect()
        }
        let gone = {
            let state = self.write();
            match which {
                0 => gone(&state.pods, keys),
                1 => gone(&state.volumes, keys),
                2 => gone(&state.attachments, keys),
                _ => gone(&state.slices, keys),
            }
        };
        for key in gone {
            self.apply(which, &key, None);
        }
    }
}

impl State {
    fn is_named(&self, kind: Related, place: &str, node: &str) -> bool {
        self.named[kind as usize].get(place).is_some_and(|nodes| nodes.contains_key(node))
    }

    /// Whether a pod on the node has the claim of a volume.
    fn mounts(&self, volume: &Volume, node: &str) -> bool {
        self.is_named(Related::Claim, &volume.claim, node)
    }

    fn set_pod(&mut self, key: &str, pod: Option<Pod>) {
        if self.pods.get(key) == pod.as_ref() {
            return;
        }
        let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
        if let Some(old) = self.pods.remove(key) {
            for (kind, name) in &old.names {
                let named = &mut self.named[*kind as usize];
                let place = format!("{namespace}/{name}");
                let Some(nodes) = named.get_mut(&*place) else { continue };
                if let Some(count) = nodes.get_mut(&old.node) {
                    *count -= 1;
                    if *count == 0 {
                        nodes.remove(&old.node);
                    }
                }
                if nodes.is_empty() {
                    named.remove(&*place);
                }
            }
            // The set's own, and this one: no other pod is there.
            if Arc::strong_count(&old.node) <= 2 {
                self.nodes.remove(&old.node);
            }
        }
        let Some(mut pod) = pod else { return };
        match self.nodes.get(&pod.node) {
            Some(node) => pod.node = Arc::clone(node),
            None => {
                self.nodes.insert(Arc::clone(&pod.node));
            }
        }
        for (kind, name) in &pod.names {
            let nodes = self.named[*kind as usize].entry(format!("{namespace}/{name}").into()).or_default();
            *nodes.entry(Arc::clone(&pod.node)).or_default() += 1;
        }
        self.pods.insert(key.into(), pod);
    }

    fn set_volume(&mut self, key: &str, volume: Option<Volume>) {
        if let Some(old) = self.volumes.remove(key) {
            for secret in &old.secrets {
                if let Some(volumes) = self.volumes_of.get_mut(secret) {
                    volumes.remove(key);
                    if volumes.is_empty() {
                        self.volumes_of.remove(secret);
                    }
                }
            }
        }
        let Some(volume) = volume else { return };
        for secret in &volume.secrets {
            self.volumes_of.entry(secret.clone()).or_default().insert(key.into());
        }
        self.volumes.insert(key.into(), volume);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = r#"{"metadata":{"name":"p","uid":"u"},"spec":{"nodeName":"n","serviceAccountName":"a","imagePullSecrets":[{"name":"s"},{"name":"s"}],"volumes":[{"name":"v","persistentVolumeClaim":{"claimName":"c"}},{"name":"m","configMap":{"name":"m"}}]}}"#;
    const VOLUME: &str = r#"{"spec":{"claimRef":{"namespace":"ns","name":"c"},"csi":{"driver":"d","nodeStageSecretRef":{"namespace":"other","name":"key"},"controllerExpandSecretRef":{"namespace":"other","name":"hidden"}}}}"#;

    fn graph() -> Graph {
        let graph = Graph::default();
        graph.apply(0, "ns/p", Some(POD.as_bytes()));
        graph.apply(1, "pv", Some(VOLUME.as_bytes()));
        graph.apply(2, "va", Some(br#"{"spec":{"nodeName":"n"}}"#));
        graph.apply(3, "slice", Some(br#"{"spec":{"nodeName":"n"}}"#));
        graph
    }

    #[test]
    fn what_is_a_nodes_business() {
        let graph = graph();
        let table = [
            (Asked::Pod, "ns", "p", true),
            (Asked::Pod, "other", "p", false),
            (Asked::Named(Related::Secret), "ns", "s", true),
            (Asked::Named(Related::Secret), "other", "s", false),
            (Asked::Named(Related::Secret), "other", "key", true),
            (Asked::Named(Related::Secret), "other", "hidden", false),
            (Asked::Named(Related::ConfigMap), "ns", "m", true),
            (Asked::Named(Related::ConfigMap), "ns", "s", false),
            (Asked::Named(Related::ServiceAccount), "ns", "a", true),
            (Asked::Named(Related::Claim), "ns", "c", true),
            (Asked::PersistentVolume, "", "pv", true),
            (Asked::PersistentVolume, "", "other", false),
            (Asked::VolumeAttachment, "", "va", true),
            (Asked::ResourceSlice, "", "slice", true),
        ];
        for (asked, namespace, name, expected) in table {
            assert_eq!(graph.relates("n", asked, namespace, name), expected, "{asked:?} {namespace}/{name}");
            assert!(!graph.relates("m", asked, namespace, name), "{asked:?} {namespace}/{name}");
        }
    }

    #[test]
    fn what_goes_is_forgotten_and_nothing_is_left() {
        let graph = graph();
        let moved = POD.replace("\"nodeName\":\"n\"", "\"nodeName\":\"m\"");
        graph.apply(0, "ns/p", Some(moved.as_bytes()));
        assert!(graph.relates("m", Asked::PersistentVolume, "", "pv"));
        assert!(!graph.relates("n", Asked::PersistentVolume, "", "pv"));
        graph.apply(0, "ns/q", Some(POD.as_bytes()));
        graph.retain(0, &HashSet::from(["ns/q"]));
        assert!(graph.relates("n", Asked::Named(Related::Secret), "ns", "s"));
        assert!(!graph.relates("m", Asked::Named(Related::Secret), "ns", "s"));
        for which in 0..PREFIXES.len() {
            graph.retain(which, &HashSet::new());
        }
        let state = graph.write();
        assert!(state.pods.is_empty() && state.named.iter().all(HashMap::is_empty) && state.nodes.is_empty());
        assert!(state.volumes.is_empty() && state.volumes_of.is_empty());
        assert!(state.attachments.is_empty() && state.slices.is_empty());
    }

    #[test]
    fn a_mirror_pod_names_nothing() {
        let graph = Graph::default();
        let mirror = POD.replace(
            "\"uid\":\"u\"",
            "\"uid\":\"u\",\"annotations\":{\"kubernetes.io/config.mirror\":\"x\"}",
        );
        graph.apply(0, "ns/p", Some(mirror.as_bytes()));
        assert!(graph.relates("n", Asked::Pod, "ns", "p"));
        assert!(!graph.relates("n", Asked::Named(Related::Secret), "ns", "s"));
    }
}
