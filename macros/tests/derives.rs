//! What the derives accept, what it becomes, and how they refuse the rest.

use apiwright_controllers::{Fact as _, Facts as _};
use apiwright_macros::{Fact, Facts, Resource};
use apiwright_registry::typed::TypedResource;

#[derive(Resource)]
#[resource(group = "apps", version = "v1", kind = "Deployment", plural = "deployments", namespaced)]
struct Rollout {
    metadata: String,
}

#[derive(Resource)]
#[resource(version = "v1", plural = "nodes")]
struct Node {
    metadata: String,
}

#[derive(Fact, Clone, Copy, PartialEq, Eq, Debug)]
enum Current {
    Absent,
    OnStart,
}

#[derive(Facts)]
struct Observed {
    current: Current,
    synced_before: bool,
}

#[test]
fn a_resource_knows_its_names() {
    assert_eq!((Rollout::KIND, Rollout::PLURAL, Rollout::NAMESPACED), ("Deployment", "deployments", true));
    assert_eq!(Rollout::api_version(), "apps/v1");
    assert_eq!((Node::GROUP, Node::KIND, Node::NAMESPACED), ("", "Node", false));
    assert_eq!(Node::api_version(), "v1");
    let mut node = Node { metadata: "a".into() };
    node.metadata_mut().push('b');
    assert_eq!(node.metadata(), "ab");
    assert_eq!(Rollout { metadata: "r".into() }.metadata(), "r");
}

#[test]
fn facts_are_enumerable_and_tell_themselves() {
    assert_eq!(Current::ALL, [Current::Absent, Current::OnStart]);
    let observed = Observed { current: Current::OnStart, synced_before: true };
    assert_eq!(observed.describe(), [("current", "OnStart"), ("synced_before", "true")]);
}

#[test]
fn wrong_uses_are_refused_with_a_reason() {
    trybuild::TestCases::new().compile_fail("tests/fail/*.rs");
}
