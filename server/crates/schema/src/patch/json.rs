//! JSON patch (RFC 6902) with the leniencies of the library that kube-apiserver uses: negative
//! indices count from the end, an absent member can be replaced, tested and copied as null, and
//! the first character of a path is not looked at.

use apiwright_json::decode::DEPTH_MAX;
use apiwright_json::{Duplicates, Object, Value};

use super::Error;
use crate::decode::{self, Source};
use crate::table::{Plan, Unknown};
use crate::{Field, List, ListKind, Node, Ref, Shape, Struct};

/// How many operations a patch may have.
pub const OPERATIONS_MAX: usize = 10_000;
/// How much JSON a patch's copies may add: each may hold those before it, so that few make gigabytes.
pub const COPIED_BYTES_MAX: usize = 3 * 1024 * 1024;

/// One operation, as far as it was given.
#[derive(Clone, Debug)]
pub struct Operation {
    op: Option<Value>,
    path: Option<Value>,
    from: Option<Value>,
    value: Option<Value>,
}

/// Reads a patch; what a strict decoder minds comes along when it is `checked`.
pub(super) fn read(
    patch: Value,
    duplicates: &Duplicates,
    checked: bool,
) -> Result<(Vec<Operation>, Vec<String>), Error> {
    let strict = if checked { check(patch.clone(), duplicates)? } else { Vec::new() };
    let unfit = |value: &Value, ty: &str| {
        let found = value.go_kind();
        Error::BadRequest(format!("json: cannot unmarshal {found} into Go value of type {ty}"))
    };
    let items = match patch {
        Value::Array(items) => items,
        Value::Null => Vec::new(),
        other => return Err(unfit(&other, "jsonpatch.Patch")),
    };
    if items.len() > OPERATIONS_MAX {
        return Err(Error::TooLarge(items.len()));
    }
    let mut operations = Vec::with_capacity(items.len());
    for item in items {
        let mut object = match item {
            Value::Object(object) => object,
            Value::Null => Object::new(),
            other => return Err(unfit(&other, "jsonpatch.Operation")),
        };
        let [op, path, from, value] = ["op", "path", "from", "value"].map(|name| object.remove(name));
        operations.push(Operation { op, path, from, value });
    }
    Ok((operations, strict))
}

/// The document with the operations applied, one after the other.
///
/// # Errors
/// When one does not apply, with the library's text.
pub fn apply(operations: &[Operation], mut document: Value) -> Result<Value, String> {
    let mut copied = 0;
    for operation in operations {
        match operation.kind() {
            "add" => {
                let path =
                    operation.path().map_err(|_| "add operation failed to decode path: missing value")?;
                let (parent, key) = find(&mut document, path).ok_or_else(|| {
                    format!("add operation does not apply: doc is missing path: \"{path}\": missing value")
                })?;
                let value = operation.value();
                fits(path, &value)?;
                add(parent, &key, value)
                    .map_err(|fault| format!("error in add for path: '{path}': {fault}"))?;
            }
            "remove" => {
                let path =
                    operation.path().map_err(|_| "remove operation failed to decode path: missing value")?;
                let (parent, key) = find(&mut document, path).ok_or_else(|| {
                    format!("remove operation does not apply: doc is missing path: \"{path}\": missing value")
                })?;
                remove(parent, &key)
                    .map_err(|fault| format!("error in remove for path: '{path}': {fault}"))?;
            }
            "replace" => replace(&mut document, operation)?,
            "move" => relocate(&mut document, operation)?,
            "test" => test(&mut document, operation)?,
            "copy" => duplicate(&mut document, operation, &mut copied)?,
            other => return Err(format!("Unexpected kind: {other}")),
        }
    }
    Ok(document)
}

/// Refuses what would nest deeper than JSON may once it is at the end of its path: it could be
/// neither read again nor walked.
fn fits(path: &str, value: &Value) -> Result<(), String> {
    let depth = path.bytes().filter(|byte| *byte == b'/').count() + value.depth();
    if depth > DEPTH_MAX { Err("exceeded max depth".into()) } else { Ok(()) }
}

fn replace(document: &mut Value, operation: &Operation) -> Result<(), String> {
    let path =
        operation.path().map_err(|fault| format!("replace operation failed to decode path: {fault}"))?;
    if path.is_empty() {
        // The library means to refuse anything else, and passes over it instead.
        if let value @ (Value::Object(_) | Value::Array(_)) = operation.value() {
            *document = value;
        }
        return Ok(());
    }
    let (parent, key) = find(document, path).ok_or_else(|| {
        format!("replace operation does not apply: doc is missing path: {path}: missing value")
    })?;
    let value = operation.value();
    fits(path, &value)?;
    match parent {
        Value::Object(object) => {
            object.insert(key, value);
        }
        Value::Array(items) => {
            let at = index(&key, items.len()).map_err(|_| {
                format!("replace operation does not apply: doc is missing key: {path}: missing value")
            })?;
            items[at] = value;
        }
        _ => {}
    }
    Ok(())
}

fn relocate(document: &mut Value, operation: &Operation) -> Result<(), String> {
    let from = operation.from().map_err(|fault| format!("move operation failed to decode from: {fault}"))?;
    let (parent, key) = find(document, from).ok_or_else(|| {
        format!("move operation does not apply: doc is missing from path: {from}: missing value")
    })?;
    let value = remove(parent, &key).map_err(|fault| format!("error in move for path: '{key}': {fault}"))?;
    let path = operation.path().map_err(|fault| format!("move operation failed to decode path: {fault}"))?;
    let (parent, key) = find(document, path).ok_or_else(|| {
        format!("move operation does not apply: doc is missing destination path: {path}: missing value")
    })?;
    fits(path, &value)?;
    add(parent, &key, value).map_err(|fault| format!("error in move for path: '{path}': {fault}"))
}

/// `copied` is how much the copies before it added.
fn duplicate(document: &mut Value, operation: &Operation, copied: &mut usize) -> Result<(), String> {
    let from = operation.from().map_err(|fault| format!("copy operation failed to decode from: {fault}"))?;
    let (parent, key) = find(document, from).ok_or_else(|| {
        format!("copy operation does not apply: doc is missing from path: {from}: missing value")
    })?;
    let value = get(parent, &key).map_err(|fault| format!("error in copy for from: '{from}': {fault}"))?;
    *copied += apiwright_json::to_string(value).len();
    let value = (*copied <= COPIED_BYTES_MAX).then(|| value.clone());
    let path = operation.path().map_err(|_| "copy operation failed to decode path: missing value")?;
    let (parent, key) = find(document, path).ok_or_else(|| {
        format!("copy operation does not apply: doc is missing destination path: {path}: missing value")
    })?;
    let value = value.ok_or_else(|| {
        format!(
            "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit {COPIED_BYTES_MAX}"
        )
    })?;
    fits(path, &value)?;
    add(parent, &key, value).map_err(|fault| format!("error while adding value during copy: {fault}"))
}

fn test(document: &mut Value, operation: &Operation) -> Result<(), String> {
    let path = operation.path().map_err(|fault| format!("test operation failed to decode path: {fault}"))?;
    let wanted = operation.value.as_ref().unwrap_or(&Value::Null);
    let found = if path.is_empty() {
        &*document
    } else {
        let (parent, key) = find(document, path).ok_or_else(|| {
            format!("test operation does not apply: is missing path: {path}: missing value")
        })?;
        get(parent, &key).map_err(|fault| format!("error in test for path: '{path}': {fault}"))?
    };
    if found == wanted { Ok(()) } else { Err(format!("testing value {path} failed: test failed")) }
}

impl Operation {
    fn kind(&self) -> &str {
        self.op.as_ref().and_then(Value::as_str).unwrap_or("unknown")
    }

    fn path(&self) -> Result<&str, String> {
        text(self.path.as_ref(), "operation missing path field: missing value")
    }

    fn from(&self) -> Result<&str, String> {
        text(self.from.as_ref(), "operation, missing from field: missing value")
    }

    /// The value; null where none is given.
    fn value(&self) -> Value {
        self.value.clone().unwrap_or_default()
    }
}

fn text<'a>(member: Option<&'a Value>, missing: &str) -> Result<&'a str, String> {
    match member {
        None | Some(Value::Null) => Err(missing.into()),
        Some(Value::String(text)) => Ok(text),
        Some(other) => {
            Err(format!("json: cannot unmarshal {} into Go value of type string", other.go_kind()))
        }
    }
}

/// The container that a path leads to, and the last key of the path.
fn find<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (_, rest) = path.split_once('/')?;
    let (parents, key) = rest.rsplit_once('/').map_or((None, rest), |(parents, key)| (Some(parents), key));
    let mut at = document;
    for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
        let part = unescape(part);
        at = match at {
            Value::Object(object) => object.get_mut(&part)?,
            Value::Array(items) => {
                let at = index(&part, items.len()).ok()?;
                &mut items[at]
            }
            _ => return None,
        };
    }
    matches!(at, Value::Object(_) | Value::Array(_)).then(|| (at, unescape(key)))
}

/// `~1` is a slash, `~0` a tilde; each character is looked at once.
fn unescape(key: &str) -> String {
    let mut out = String::with_capacity(key.len());
    let mut rest = key;
    while let Some(at) = rest.find('~') {
        out.push_str(&rest[..at]);
        (out, rest) = match rest.as_bytes().get(at + 1) {
            Some(b'1') => (out + "/", &rest[at + 2..]),
            Some(b'0') => (out + "~", &rest[at + 2..]),
            _ => (out + "~", &rest[at + 1..]),
        };
    }
    out + rest
}

const NULL: Value = Value::Null;

fn get<'a>(parent: &'a Value, key: &str) -> Result<&'a Value, String> {
    match parent {
        Value::Object(object) => Ok(object.get(key).unwrap_or(&NULL)),
        Value::Array(items) => Ok(&items[index(key, items.len())?]),
        _ => Ok(&NULL),
    }
}

fn add(parent: &mut Value, key: &str, value: Value) -> Result<(), String> {
    match parent {
        Value::Object(object) => {
            object.insert(key, value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let at = index(key, items.len() + 1).map_err(|fault| {
                if fault.starts_with("strconv") {
                    format!("value was not a proper array index: '{key}': {fault}")
                } else {
                    fault
                }
            })?;
            items.insert(at, value);
        }
        _ => {}
    }
    Ok(())
}

fn remove(parent: &mut Value, key: &str) -> Result<Value, String> {
    match parent {
        Value::Object(object) => object
            .remove(key)
            .ok_or_else(|| format!("Unable to remove nonexistent key: {key}: missing value")),
        Value::Array(items) => {
            let at = index(key, items.len())?;
            Ok(items.remove(at))
        }
        _ => Ok(Value::Null),
    }
}

/// The place of an item in a list of this length.
fn index(key: &str, length: usize) -> Result<usize, String> {
    let number: i64 = key.parse().map_err(|_| {
        format!("strconv.Atoi: parsing {}: invalid syntax", apiwright_meta::field::quoted(key))
    })?;
    let length = length as i64;
    let at = if number < 0 { number.saturating_add(length) } else { number };
    if (0..length).contains(&at) {
        return Ok(at as usize);
    }
    Err(format!("Unable to access invalid index: {number}: invalid index referenced"))
}

/// What the strict decoder of the patch itself says.
fn check(patch: Value, duplicates: &Duplicates) -> Result<Vec<String>, Error> {
    match decode::decode_at(&OPERATIONS, patch, duplicates, Source::Json) {
        Ok(decoded) => Ok(decoded.strict.iter().map(|fault| format!("json patch {fault}")).collect()),
        Err(fault) => Err(Error::BadRequest(format!("error decoding patch: {fault}"))),
    }
}

static OPERATIONS: Node = node(Shape::List(Ref::Static(&OPERATION_LIST)));
static OPERATION_LIST: List =
    List { item: node(Shape::Struct(Ref::Static(&OPERATION))), kind: ListKind::Atomic };
static OPERATION: Struct = Struct {
    name: Ref::Static("handlers.jsonPatchOp"),
    doc: Ref::Static(""),
    fields: Ref::Static(&OPERATION_FIELDS),
    by_name: Ref::Static(&[2, 0, 1, 3]),
    unknown: Unknown::Drop,
    atomic: false,
    unions: Ref::Static(&[]),
    plan: Plan::new(),
};
static OPERATION_FIELDS: [Field; 4] = [
    member("op", Shape::String(Ref::Static(""))),
    member("path", Shape::String(Ref::Static(""))),
    member("from", Shape::String(Ref::Static(""))),
    member("value", Shape::Any(Ref::Static(""))),
];

const fn node(shape: Shape) -> Node {
    Node { shape, nullable: false, default: None, fill: None, rules: Ref::Static(&[]) }
}

const fn member(name: &'static str, shape: Shape) -> Field {
    Field {
        name: Ref::Static(name),
        doc: Ref::Static(""),
        node: node(shape),
        required: false,
        pointer: false,
        keep: false,
        patch: None,
        proto: None,
    }
}

#[cfg(test)]
mod tests {
    use apiwright_json::{Duplicates, to_string};

    use super::{apply, read};
    use crate::testing::json;

    fn run(document: &str, patch: &str) -> Result<String, String> {
        let (operations, _) =
            read(json(patch), &Duplicates::default(), false).map_err(|fault| fault.to_string())?;
        apply(&operations, json(document)).map(|value| to_string(&value))
    }

    #[test]
    fn operations_apply_or_tell_why_not() {
        let list = r#"{"l":["a","b","c"]}"#;
        for (document, patch, want) in [
            ("{}", "[]", Ok("{}")),
            ("{}", r#"[{"op":"add","path":"/a","value":1}]"#, Ok(r#"{"a":1}"#)),
            ("{}", r#"[{"op":"add","path":"/a"}]"#, Ok(r#"{"a":null}"#)),
            ("{}", r#"[{"op":"add","path":"a/b","value":1}]"#, Ok(r#"{"b":1}"#)),
            (
                "{}",
                r#"[{"op":"add","path":"","value":{}}]"#,
                Err("add operation does not apply: doc is missing path: \"\": missing value"),
            ),
            (
                "{}",
                r#"[{"op":"add","path":"/a/b","value":1}]"#,
                Err("add operation does not apply: doc is missing path: \"/a/b\": missing value"),
            ),
            ("{}", r#"[{"op":"replace","path":"/a","value":1}]"#, Ok(r#"{"a":1}"#)),
            ("{}", r#"[{"op":"replace","path":"","value":{"b":2}}]"#, Ok(r#"{"b":2}"#)),
            (r#"{"a":1}"#, r#"[{"op":"replace","path":"","value":2}]"#, Ok(r#"{"a":1}"#)),
            (
                "{}",
                r#"[{"op":"remove","path":"/a"}]"#,
                Err("error in remove for path: '/a': Unable to remove nonexistent key: a: missing value"),
            ),
            ("{}", r#"[{"op":"copy","from":"/a","path":"/b"}]"#, Ok(r#"{"b":null}"#)),
            (
                "{}",
                r#"[{"op":"move","from":"/a","path":"/b"}]"#,
                Err("error in move for path: 'a': Unable to remove nonexistent key: a: missing value"),
            ),
            (
                "{}",
                r#"[{"op":"test","path":"/a","value":null},{"op":"test","path":""}]"#,
                Err("testing value  failed: test failed"),
            ),
            ("{}", r#"[{"op":"test","path":"/a","value":1}]"#, Err("testing value /a failed: test failed")),
            ("{}", r#"[{"op":"fetch","path":"/a"}]"#, Err("Unexpected kind: fetch")),
            ("{}", "[{}]", Err("Unexpected kind: unknown")),
            ("{}", r#"[{"op":"add"}]"#, Err("add operation failed to decode path: missing value")),
            (
                "{}",
                r#"[{"op":"replace"}]"#,
                Err("replace operation failed to decode path: operation missing path field: missing value"),
            ),
            (
                r#"{"a":{"b":[1,2.0,{"x":null}]}}"#,
                r#"[{"op":"test","path":"/a","value":{"b":[1,2.0,{"x":null}]}}]"#,
                Ok(r#"{"a":{"b":[1,2,{"x":null}]}}"#),
            ),
            (
                r#"{"a/b":1,"c~d":2}"#,
                r#"[{"op":"move","from":"/a~1b","path":"/x"},{"op":"remove","path":"/c~0d"}]"#,
                Ok(r#"{"x":1}"#),
            ),
            (r#"{"~1":1}"#, r#"[{"op":"remove","path":"/~01"}]"#, Ok("{}")),
            (
                list,
                r#"[{"op":"add","path":"/l/-","value":"d"},{"op":"add","path":"/l/0","value":"z"},{"op":"add","path":"/l/5","value":"e"}]"#,
                Ok(r#"{"l":["z","a","b","c","d","e"]}"#),
            ),
            (
                list,
                r#"[{"op":"replace","path":"/l/-1","value":"x"},{"op":"add","path":"/l/-1","value":"y"}]"#,
                Ok(r#"{"l":["a","b","x","y"]}"#),
            ),
            (list, r#"[{"op":"move","from":"/l/0","path":"/l/2"}]"#, Ok(r#"{"l":["b","c","a"]}"#)),
            (
                list,
                r#"[{"op":"add","path":"/l/9","value":"x"}]"#,
                Err(
                    "error in add for path: '/l/9': Unable to access invalid index: 9: invalid index referenced",
                ),
            ),
            (
                list,
                r#"[{"op":"add","path":"/l/-9","value":"x"}]"#,
                Err(
                    "error in add for path: '/l/-9': Unable to access invalid index: -9: invalid index referenced",
                ),
            ),
            (
                list,
                r#"[{"op":"add","path":"/l/x","value":"x"}]"#,
                Err(
                    "error in add for path: '/l/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": invalid syntax",
                ),
            ),
            (
                list,
                r#"[{"op":"replace","path":"/l/3","value":"x"}]"#,
                Err("replace operation does not apply: doc is missing key: /l/3: missing value"),
            ),
            (list, r#"[{"op":"remove","path":"/l/1"},{"op":"remove","path":"/l/1"}]"#, Ok(r#"{"l":["a"]}"#)),
            (
                list,
                r#"[{"op":"replace","path":"/l/7/x","value":"x"}]"#,
                Err("replace operation does not apply: doc is missing path: /l/7/x: missing value"),
            ),
        ] {
            assert_eq!(
                run(document, patch),
                want.map(String::from).map_err(String::from),
                "{document} {patch}"
            );
        }
    }

    #[test]
    fn copies_of_copies_end() {
        let copies = (0..40).map(|at| format!(r#"{{"op":"copy","from":"/a","path":"/a/{at}"}}"#));
        let patch = format!("[{}]", copies.collect::<Vec<_>>().join(","));
        let fault = run(r#"{"a":{"text":"0123456789"}}"#, &patch).expect_err("too much");
        let text = "Unable to complete the copy, the accumulated size increase of copy is ";
        assert!(fault.starts_with(text) && fault.ends_with(", exceeding the limit 3145728"), "{fault}");
    }

    #[test]
    fn nothing_nests_deeper_than_json_may() {
        let deep = |depth: usize| format!("{}{{}}{}", r#"{"a":"#.repeat(depth - 1), "}".repeat(depth - 1));
        let at = |depth: usize| "/a".repeat(depth);
        let too_deep = Err("exceeded max depth".to_owned());
        let (path, value) = (at(3000), deep(3000));
        for (patch, fits) in [
            (format!(r#"[{{"op":"add","path":"{path}","value":{}}}]"#, deep(7000)), true),
            (format!(r#"[{{"op":"add","path":"{path}","value":{}}}]"#, deep(7001)), false),
            (format!(r#"[{{"op":"replace","path":"{path}","value":{}}}]"#, deep(7001)), false),
            (
                format!(
                    r#"[{{"op":"add","path":"/b","value":{}}},{{"op":"move","from":"/b","path":"{path}"}}]"#,
                    deep(7001)
                ),
                false,
            ),
            (
                format!(
                    r#"[{{"op":"add","path":"/b","value":{}}},{{"op":"copy","from":"/b","path":"{path}"}}]"#,
                    deep(7001)
                ),
                false,
            ),
        ] {
            let document = value.clone();
            let run = move || run(&document, &patch).map(|_| ());
            let thread = std::thread::Builder::new().stack_size(apiwright_json::STACK_BYTES).spawn(run);
            let result = thread.expect("a thread").join().expect("no panic");
            assert_eq!(result, if fits { Ok(()) } else { too_deep.clone() });
        }
    }

    #[test]
    fn patches_are_checked_before_they_apply() {
        for (patch, checked, want) in [
            (
                "{}",
                true,
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
            ("{}", false, "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
            (
                "[1]",
                true,
                "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            ),
            (
                r#"[{"op":5}]"#,
                true,
                "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
            ),
        ] {
            let fault = read(json(patch), &Duplicates::default(), checked).expect_err(patch);
            assert_eq!(fault.to_string(), want);
        }
        let (_, strict) = read(json(r#"[{},{"why":1}]"#), &Duplicates(vec!["[1].op".into()]), true)
            .expect("strict errors only");
        assert_eq!(strict, ["json patch unknown field \"[1].why\""]);
        let many = format!("[{}{{}}]", "{},".repeat(10_000));
        let fault = read(json(&many), &Duplicates::default(), true).expect_err("too many");
        assert_eq!(fault, crate::patch::Error::TooLarge(10_001));
    }
}
