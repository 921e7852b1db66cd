//! The annotation by which kubelets know for how long they may hold on to Secrets and ConfigMaps.

use std::sync::atomic::{AtomicUsize, Ordering};

use apiwright_controllers::{Cache, Identity, Next, Result, Writer};
use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Reason;

use super::look_up;
use crate::generated::controllers::ttl_controller::{Annotation, Controller, Facts, Node};

const ANNOTATION: &str = "node.alpha.kubernetes.io/ttl";
pub(super) const IDENTITY: Identity = Identity::manager("system:serviceaccount:kube-system:ttl-controller");

/// For so many nodes, so many seconds. The steps overlap, so that a node more or less changes nothing.
const STEPS: &[(usize, usize, &str)] = &[
    (0, 100, "0"),
    (90, 500, "15"),
    (450, 1_000, "30"),
    (900, 2_000, "60"),
    (1_800, 10_000, "300"),
    (9_000, usize::MAX, "600"),
];

/// Annotates nodes.
pub(super) struct NodeTtl {
    nodes: Cache,
    step: AtomicUsize,
    writer: Writer,
}

impl NodeTtl {
    pub(super) fn new(nodes: Cache, writer: Writer) -> Self {
        Self { nodes, step: AtomicUsize::new(0), writer }
    }

    fn seconds(&self) -> &'static str {
        let step = step(self.step.load(Ordering::Relaxed), self.nodes.len());
        self.step.store(step, Ordering::Relaxed);
        STEPS[step].2
    }
}

/// The step that fits a number of nodes, from the one that did.
fn step(mut step: usize, nodes: usize) -> usize {
    while nodes > STEPS[step].1 && step + 1 < STEPS.len() {
        step += 1;
    }
    while nodes < STEPS[step].0 && step > 0 {
        step -= 1;
    }
    step
}

impl Controller for NodeTtl {
    type Observed = ();

    async fn observe(&self, key: &str) -> Result<(Facts, ())> {
        let node = self.nodes.object("", key)?;
        let is_current =
            node.as_ref().is_some_and(|node| object::annotation(node, ANNOTATION) == Some(self.seconds()));
        let facts = Facts {
            node: if node.is_some() { Node::Present } else { Node::Absent },
            annotation: if is_current { Annotation::Current } else { Annotation::Other },
        };
        Ok((facts, ()))
    }

    async fn annotate(&self, key: &str, (): ()) -> Result<Next> {
        let annotate = |node: &mut Value| {
            object::set_annotation(node, ANNOTATION, self.seconds());
            Ok(())
        };
        let written = self.writer.update(&self.nodes.store, ("", key), "", annotate).await;
        look_up::unless(written, Reason::NotFound).map(|()| Next::Done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_overlap() {
        for (from, nodes, want) in [
            (0, 1, "0"),
            (0, 100, "0"),
            (0, 101, "15"),
            (1, 95, "15"),
            (1, 89, "0"),
            (0, 5_000, "300"),
            (5, 8_999, "300"),
            (5, 100_000, "600"),
        ] {
            assert_eq!(STEPS[step(from, nodes)].2, want, "{nodes} nodes from step {from}");
        }
    }
}
