//! What holds whatever is applied.

use apiwright_json::Value;
use proptest::prelude::*;

use super::{Apply, apply, merge};
use crate::fieldset::Filter;
use crate::fieldset::testing::{custom, value};
use crate::managed::{OneVersion, Request};
use crate::testing::json;

/// Configurations of a custom resource without a schema.
fn config() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        "[a-c]".prop_map(Value::from),
        (0..3i64).prop_map(Value::from),
        Just(Value::Bool(true)),
        proptest::collection::vec((0..3i64).prop_map(Value::from), 0..3).prop_map(Value::from),
    ];
    let tree = leaf.prop_recursive(3, 12, 3, |inner| {
        proptest::collection::btree_map("[a-d]", inner, 1..4)
            .prop_map(|members| members.into_iter().collect::<apiwright_json::Object>().into())
    });
    // An empty spec would come back as null, as upstream has it.
    proptest::collection::btree_map("[a-c]", tree, 1..4).prop_map(|spec| {
        let mut config = value(r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"t"}}"#);
        let spec: apiwright_json::Object = spec.into_iter().collect();
        config.as_object_mut().expect("an object").insert("spec", spec);
        config
    })
}

proptest! {
    #[test]
    fn what_is_applied_is_there_and_what_nobody_wants_is_gone(steps in proptest::collection::vec((0..3usize, config()), 1..6)) {
        let ty = custom();
        let managers = ["a", "b", "c"];
        let mut live: Option<Value> = None;
        for (at, config) in &steps {
            let request = Request {
                manager: managers[*at],
                api_version: "v1",
                subresource: "",
                now: "t",
                filter: &Filter::All,
                versions: &OneVersion,
            };
            let how = Apply { request, kind: "Thing", force: true, finish: &|object| Ok(object) };
            let object = apply(&ty, live.as_ref(), config, &how).expect("forced");
            prop_assert_eq!(&merge::merge(&ty, &object, config).expect("merges"), &object);
            let again = apply(&ty, Some(&object), config, &how).expect("forced");
            prop_assert_eq!(&again, &object);
            live = Some(object);
        }
        // Each gives up what it has: nothing is left.
        let nothing = value(r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"t"}}"#);
        for manager in managers {
            let request = Request { manager, api_version: "v1", subresource: "", now: "t", filter: &Filter::All, versions: &OneVersion };
            let how = Apply { request, kind: "Thing", force: false, finish: &|object| Ok(object) };
            let with_uid = |mut object: Value| {
                object.as_object_mut().expect("an object").object("metadata").insert("uid", "u");
                object
            };
            live = Some(with_uid(apply(&ty, live.as_ref(), &nothing, &how).expect("no conflicts")));
        }
        let left = live.expect("an object");
        prop_assert!(left.get("spec").is_none_or(|spec| spec.is_null() || *spec == json("{}")), "{left:?}");
        prop_assert!(left.at(&["metadata", "managedFields"]).is_none());
    }
}
