//! What holds for every object and patch, tried on random ones.

use apiwright_json::{Duplicates, Object, Value, to_string};
use apiwright_meta::{ErrorList, Path};
use proptest::prelude::*;

use crate::decode::{Decoded, ObjectKind, Source, arrange, decode, normalise};
use crate::defaults::apply_defaults;
use crate::patch::{FieldValidation, Format, Patch, merge, strategic};
use crate::testing::{deployment, node, secret};
use crate::validate::{custom, repeated, validate};
use crate::{Node, Ref, Shape, Struct};

const KIND: ObjectKind<'_> = ObjectKind { api_version: "v1", kind: "Thing" };

/// Makes objects of a type, more or less: some members are missing, null, unknown or of another
/// type, the more the higher `faults` is.
struct Maker {
    state: u64,
    faults: u64,
}

impl Maker {
    fn below(&mut self, bound: u64) -> u64 {
        // xorshift*, which is random enough for this.
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        (self.state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound
    }

    fn pick<'a>(&mut self, texts: &[&'a str]) -> &'a str {
        texts[self.below(texts.len() as u64) as usize]
    }

    fn object(&mut self, ty: &Struct) -> Value {
        let mut object = Object::new();
        for _ in 0..self.below(2 * ty.fields.len() as u64) {
            let field = &ty.fields[self.below(ty.fields.len() as u64) as usize];
            let value = self.value(&field.node);
            object.insert(&*field.name, value);
        }
        if self.below(100) < self.faults {
            object.insert(self.pick(&["unknown", "$patch", "$retainKeys", "name"]), self.odd());
        }
        Value::Object(object)
    }

    fn value(&mut self, node: &Node) -> Value {
        if self.below(100) < self.faults {
            return self.odd();
        }
        if self.below(8) == 0 {
            return Value::Null;
        }
        let count = self.below(4);
        match &node.shape {
            Shape::Bool => Value::Bool(self.below(2) == 0),
            Shape::Int32 | Shape::Int64 => Value::Int(self.below(4) as i64 - 1),
            Shape::Double => Value::Float(self.below(4) as f64 / 2.0),
            Shape::String(_) => self.pick(&["", "a", "b", "one", "Recreate"]).into(),
            Shape::Bytes => self.pick(&["", "YQ==", "YR==", "YWJj\n"]).into(),
            Shape::Time => self.pick(&["2024-01-01T00:00:00Z", "2024-01-01T02:00:00+02:00"]).into(),
            Shape::MicroTime => "2024-01-01T00:00:00.000001Z".into(),
            Shape::Duration => self.pick(&["90s", "1h"]).into(),
            Shape::Quantity => self.pick(&["100m", "0.1", "1024Ki", "1e3", "0"]).into(),
            Shape::IntOrString => self.pick(&["25%", "http"]).into(),
            Shape::Any(_) | Shape::RawObject | Shape::FieldsV1 => self.odd(),
            Shape::List(list) => Value::Array((0..count).map(|_| self.value(&list.item)).collect()),
            // Null is a value of maps of bytes, and one that merge patches cannot say.
            Shape::Map(map) => (0..count)
                .map(|_| (self.pick(&["z", "a", "b/c", "m"]), self.value(&map.value)))
                .filter(|(_, value)| !value.is_null())
                .collect::<Object>()
                .into(),
            Shape::Struct(ty) => self.object(ty),
        }
    }

    fn odd(&mut self) -> Value {
        match self.below(8) {
            0 => Value::Null,
            1 => Value::Bool(true),
            2 => Value::Int(i64::MAX),
            3 => Value::Float(1.5),
            4 => self.pick(&["", "replace", "delete", "x"]).into(),
            5 => Value::Array(vec![self.odd()]),
            6 => Value::Array(vec![]),
            _ => {
                let name = self.pick(&["name", "$patch", "a"]);
                Object::from_iter([(name, self.odd())]).into()
            }
        }
    }
}

fn types() -> [Ref<Struct>; 2] {
    [secret(), deployment()]
}

proptest! {
    #[test]
    fn decoding_gives_a_fixed_point(state in 1u64.., faults in 0u64..4) {
        for ty in types() {
            let body = Maker { state, faults }.object(&ty);
            for source in [Source::Json, Source::Unstructured] {
                let Ok(decoded) = decode(&ty, KIND, body.clone(), &Duplicates::default(), source) else { continue };
                let again = normalise(&ty, KIND, decoded.value.clone(), source);
                prop_assert_eq!(&again, &Ok(Decoded { value: decoded.value.clone(), strict: vec![] }));
                prop_assert_eq!(to_string(&again.expect("checked").value), to_string(&decoded.value));
            }
        }
    }

    #[test]
    fn defaults_keep_the_normal_form_and_apply_once(state in 1u64..) {
        for ty in types() {
            let body = Maker { state, faults: 0 }.object(&ty);
            let mut value = normalise(&ty, KIND, body, Source::Json).expect("fits").value;
            apply_defaults(&ty, &mut value);
            let once = value.clone();
            apply_defaults(&ty, &mut value);
            prop_assert_eq!(to_string(&value), to_string(&once));
            let normal = normalise(&ty, KIND, value.clone(), Source::Json).expect("fits").value;
            prop_assert_eq!(to_string(&normal), to_string(&value));
        }
    }

    #[test]
    fn arranging_brings_back_the_order(state in 1u64..) {
        for ty in types() {
            let body = Maker { state, faults: 0 }.object(&ty);
            let value = normalise(&ty, KIND, body, Source::Json).expect("fits").value;
            let mut mixed = value.clone();
            reverse(&mut mixed);
            arrange(&ty, &mut mixed);
            prop_assert_eq!(to_string(&mixed), to_string(&value));
        }
    }

    #[test]
    fn nothing_panics(state in 1u64.., faults in 0u64..30) {
        for ty in types() {
            let mut maker = Maker { state, faults };
            let (one, other) = (maker.object(&ty), maker.object(&ty));
            let mut errors = ErrorList::new();
            let node = node(Shape::Struct(ty.clone()));
            for old in [Some(&other), None] {
                validate(&ty, &one, old, &Path::default(), &mut errors);
                custom(&node, &one, old, &Path::default(), &mut errors);
            }
            repeated(&node, &one, &mut errors);
            let _ = strategic::apply(&ty, one.clone(), other.clone());
            apply_defaults(&ty, &mut one.clone());
            let text = to_string(&other);
            for format in [Format::Json, Format::Merge, Format::Strategic] {
                let _ = Patch::read(format, text.as_bytes(), FieldValidation::Warn)
                    .and_then(|patch| patch.apply(&ty, KIND, &one));
            }
        }
    }

    #[test]
    fn patching_with_what_is_there_changes_nothing(state in 1u64..) {
        for ty in types() {
            let body = Maker { state, faults: 0 }.object(&ty);
            let value = normalise(&ty, KIND, body, Source::Json).expect("fits").value;
            let none = Value::Object(Object::new());
            prop_assert_eq!(&merge::apply(value.clone(), &none), &value);
            prop_assert_eq!(strategic::apply(&ty, value.clone(), none), Ok(value.clone()));
            let text = to_string(&value);
            let patch = Patch::read(Format::Merge, text.as_bytes(), FieldValidation::Strict).expect("an object");
            prop_assert_eq!(patch.apply(&ty, KIND, &value).map(|decoded| decoded.value), Ok(value));
        }
    }
}

fn reverse(value: &mut Value) {
    match value {
        Value::Object(object) => {
            let mut members: Vec<_> = std::mem::take(object).into_iter().collect();
            members.reverse();
            for (_, value) in &mut members {
                reverse(value);
            }
            *object = members.into_iter().collect();
        }
        Value::Array(items) => items.iter_mut().for_each(reverse),
        _ => {}
    }
}
