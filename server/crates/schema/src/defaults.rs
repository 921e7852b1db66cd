//! Static defaults: what an absent field becomes, as its schema says.
//!
//! Position: after decoding, before the defaults that a hook computes.
//! Invariant: an object in normal form stays in it. A field that Go has no pointer for counts as
//! absent when it is zero; a struct that Go cannot leave out is there already, so defaults inside
//! it always apply, those inside a pointer only when it is set.

use apiwright_json::{Object, Str, Value};

use crate::decode::omission;
use crate::table::Plan;
use crate::{Field, Node, Ref, Shape, Struct, Text, decode};

/// Sets the absent fields of an object in normal form that have a default.
pub fn apply_defaults(ty: &Struct, value: &mut Value) {
    if let Value::Object(object) = value {
        members(ty, object);
    }
}

fn members(ty: &Struct, object: &mut Object) {
    let facts = Plan::of(ty);
    if !facts.defaults.is_empty() {
        set_absent(ty, &facts.defaults, object);
    }
    if object.values().any(Value::is_null) {
        object
            .retain(|name, value| !value.is_null() || ty.field(name).is_none_or(|field| !is_dropped(field)));
    }
    if facts.deep_defaults.is_empty() {
        return;
    }
    for (name, value) in object.iter_mut() {
        let index = ty.position(name).filter(|index| find(&facts.deep_defaults, *index).is_some());
        if let Some(index) = index {
            descend(&ty.fields[index].node, value);
        }
    }
}

/// Sets those of some fields, in their order, that are absent. One pass: types of custom resources may have
/// thousands of them.
fn set_absent(ty: &Struct, defaults: &[u16], object: &mut Object) {
    let made = |field: &Field| {
        let value = literal(&field.node, default(&field.node)?);
        (!omission::omits(field, &value)).then_some(value)
    };
    let mut is_there = vec![false; defaults.len()];
    for (name, value) in object.iter_mut() {
        let Some(index) = ty.position(name) else { continue };
        let Some(at) = find(defaults, index) else { continue };
        is_there[at] = true;
        let field = &ty.fields[index];
        if is_absent(field, value)
            && let Some(made) = made(field)
        {
            *value = made;
        }
    }
    let absent = defaults.iter().zip(is_there).filter(|(_, is_there)| !is_there);
    let mut absent = absent
        .filter_map(|(index, _)| Some((usize::from(*index), made(&ty.fields[usize::from(*index)])?)))
        .peekable();
    if absent.peek().is_none() {
        return;
    }
    let mut all = Object::with_capacity(object.len() + defaults.len());
    for (name, value) in std::mem::take(object) {
        let index = ty.position(&name);
        while let Some((before, value)) =
            absent.next_if(|(before, _)| index.is_some_and(|index| *before < index))
        {
            all.push(omission::name(&ty.fields[before].name), value);
        }
        all.push(name, value);
    }
    for (index, value) in absent {
        all.push(omission::name(&ty.fields[index].name), value);
    }
    *object = all;
}

/// Where a field's index is in a sorted list of them.
fn find(list: &[u16], index: usize) -> Option<usize> {
    list.binary_search(&u16::try_from(index).ok()?).ok()
}

/// Whether null in this field is as good as absent: in custom resources it stays until here.
fn is_dropped(field: &Field) -> bool {
    !field.node.nullable && omission::absent(field).is_none()
}

fn descend(node: &Node, value: &mut Value) {
    match (&node.shape, value) {
        (Shape::Struct(ty), Value::Object(object)) => members(ty, object),
        (Shape::List(list), Value::Array(items)) if matters(&list.item) => {
            for item in items {
                element(&list.item, item);
            }
        }
        (Shape::Map(map), Value::Object(object)) if matters(&map.value) => {
            for (_, value) in object.iter_mut() {
                element(&map.value, value);
            }
        }
        _ => {}
    }
}

fn element(node: &Node, value: &mut Value) {
    if value.is_null()
        && !node.nullable
        && let Some(default) = default(node)
    {
        *value = literal(node, default);
    }
    descend(node, value);
}

/// Whether there can be defaults in or below an element.
fn matters(node: &Node) -> bool {
    default(node).is_some() || matches!(node.shape, Shape::Struct(_) | Shape::List(_) | Shape::Map(_))
}

fn default(node: &Node) -> Option<&Text> {
    node.default.as_ref().or(node.fill.as_ref())
}

/// Whether a member that is there holds nothing all the same.
fn is_absent(field: &Field, value: &Value) -> bool {
    if field.pointer {
        return value.is_null() && !field.node.nullable;
    }
    match value {
        Value::Null => !field.node.nullable,
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => match &field.node.shape {
            Shape::Struct(ty) => *object == omission::zero_struct(ty),
            _ => object.is_empty(),
        },
        value => *value == omission::zero(&field.node),
    }
}

/// The value of a default. Short texts, by far the most of them, need no parser.
fn literal(node: &Node, json: &Text) -> Value {
    let inner = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    if let Some(inner) = inner.filter(|inner| !inner.contains(['\\', '"'])) {
        return match json {
            Ref::Static(json) => Value::String(Str::const_new(&json[1..json.len() - 1])),
            Ref::Shared(_) => Value::String(Str::from(inner)),
        };
    }
    // Who makes a schema checks its literals; one that is wrong all the same defaults to nothing.
    let Ok((value, _)) = apiwright_json::decode(json.as_bytes()) else { return Value::Null };
    match &node.shape {
        Shape::Struct(_) | Shape::List(_) | Shape::Map(_) => decode::settle(node, value),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use apiwright_json::to_string;

    use super::apply_defaults;
    use crate::decode::{ObjectKind, Source, normalise};
    use crate::testing::{With, deployment, field, json, list, map, string, structure};
    use crate::{Shape, Struct};

    fn defaulted(ty: &Struct, body: &str) -> String {
        let kind = ObjectKind { api_version: "v1", kind: "X" };
        let mut value = normalise(ty, kind, json(body), Source::Json).expect(body).value;
        apply_defaults(ty, &mut value);
        let again = normalise(ty, kind, value.clone(), Source::Json).expect("defaults fit their fields");
        assert_eq!(to_string(&again.value), to_string(&value), "defaults keep the normal form");
        value.as_object_mut().expect("an object").retain(|name, _| name != "kind" && name != "apiVersion");
        to_string(&value)
    }

    #[test]
    fn absent_fields_get_their_defaults_in_order() {
        let deployment = deployment();
        for (body, want) in [
            (
                "{}",
                r#"{"metadata":{},"spec":{"replicas":1,"selector":null,"template":{"metadata":{},"spec":{"containers":null,"terminationGracePeriodSeconds":30}},"strategy":{"type":"RollingUpdate"}},"status":{}}"#,
            ),
            (
                r#"{"spec":{"replicas":0,"strategy":{"type":"","rollingUpdate":{"maxSurge":1}},"template":{"spec":{"containers":[{"name":"c","ports":[{"containerPort":1},{"containerPort":2,"protocol":"UDP"}]}],"volumes":[{"name":"v","configMap":{}}],"terminationGracePeriodSeconds":0}}}}"#,
                r#"{"metadata":{},"spec":{"replicas":0,"selector":null,"template":{"metadata":{},"spec":{"volumes":[{"name":"v","configMap":{"defaultMode":420}}],"containers":[{"name":"c","ports":[{"containerPort":1,"protocol":"TCP"},{"containerPort":2,"protocol":"UDP"}],"resources":{}}],"terminationGracePeriodSeconds":0}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%","maxSurge":1}}},"status":{}}"#,
            ),
        ] {
            assert_eq!(defaulted(&deployment, body), want);
        }
    }

    #[test]
    fn thousands_of_defaults_are_set_in_one_pass() {
        let name = |at: usize| format!("p{at:05}");
        let names: Vec<String> = (0..20_000).map(name).collect();
        let ty =
            structure("x.v1.Wide", names.iter().map(|name| field(name, string()).fill("\"d\"")).collect());
        let every_third = names.iter().step_by(3).map(|name| format!("\"{name}\":\"x\"")).collect::<Vec<_>>();
        let began = std::time::Instant::now();
        let all = defaulted(&ty, &format!("{{{}}}", every_third.join(",")));
        assert!(began.elapsed() < std::time::Duration::from_secs(5), "{:?}", began.elapsed());
        let (kept, set) = (all.matches(":\"x\"").count(), all.matches(":\"d\"").count());
        assert_eq!((kept, set), (every_third.len(), 20_000 - every_third.len()));
    }

    #[test]
    fn every_kind_of_absence_counts() {
        let inner =
            || structure("x.v1.Inner", vec![field("a", string()).keep(), field("b", Shape::Int32).fill("7")]);
        let ty = structure(
            "x.v1.Outer",
            vec![
                field("list", list(string())).fill("[\"x\"]"),
                field("kept", list(string())).keep().fill("[]"),
                field("name", string()).default("\"\""),
                field("service", string()).pointer().default("\"\""),
                field("number", Shape::Int32).fill("3"),
                field("truth", Shape::Bool).pointer().fill("false"),
                field("set", Shape::Struct(inner())).pointer().fill("{}"),
                field("unset", Shape::Struct(inner())).pointer(),
                field("plain", Shape::Struct(inner())).fill("{\"a\":\"y\"}"),
                field("map", map(Shape::Struct(inner()))),
                field("quoted", string()).fill("\"a\\\"b\""),
                field("nullable", string()).pointer().nullable().fill("\"z\""),
            ],
        );
        let all =
            r#""kept":[],"service":"","number":3,"truth":false,"set":{"a":"","b":7},"plain":{"a":"y","b":7}"#;
        for (body, want) in [
            ("{}", format!(r#"{{"list":["x"],{all},"quoted":"a\"b","nullable":"z"}}"#)),
            (
                r#"{"list":[],"number":0,"quoted":"","nullable":null,"map":{"k":null,"l":{"b":1}}}"#,
                format!(
                    r#"{{"list":["x"],{all},"map":{{"k":{{"a":"","b":7}},"l":{{"a":"","b":1}}}},"quoted":"a\"b","nullable":null}}"#
                ),
            ),
        ] {
            assert_eq!(defaulted(&ty, body), want);
        }
    }
}
