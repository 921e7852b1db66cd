//! Objects of a type, made up.

use apiwright_json::{Object, Value};
use apiwright_schema::{Shape, Struct};

/// Makes objects of a type, the same ones for the same seed.
pub struct Maker {
    pub seed: u64,
    /// Whether the objects have only what protobuf has numbers for.
    pub numbered: bool,
}

impl Maker {
    pub fn below(&mut self, bound: usize) -> usize {
        // xorshift*, which is random enough for this.
        self.seed ^= self.seed >> 12;
        self.seed ^= self.seed << 25;
        self.seed ^= self.seed >> 27;
        ((self.seed.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % bound as u64) as usize
    }

    fn pick<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len())]
    }

    pub fn object(&mut self, ty: &Struct, depth: usize) -> Value {
        let mut object = Object::new();
        for field in ty.fields.iter() {
            // The deeper, the fewer: types may contain themselves.
            if self.below(10) >= 4 + depth && (field.proto.is_some() || !self.numbered) {
                object.insert(&*field.name, self.value(&field.node.shape, depth));
            }
        }
        object.into()
    }

    fn value(&mut self, shape: &Shape, depth: usize) -> Value {
        match shape {
            Shape::Bool => self.pick(&[true, false]).into(),
            Shape::Int32 => Value::Int(self.pick(&[0, 1, -1, 127, 128, i32::MAX.into()])),
            Shape::Int64 => Value::Int(self.pick(&[0, 3, i64::MAX, i64::MIN])),
            Shape::Double => Value::Float(self.pick(&[0.5, 2.0, -1e30])),
            Shape::String(_) => {
                self.pick(&["", "a", "b<c>\n\"d\"", "ünï\u{2028}", "a text of some length"]).into()
            }
            Shape::Bytes => self.pick(&["", "YQ==", "YWJj"]).into(),
            Shape::Time => self.pick(&["2024-01-01T00:00:00Z", "1969-12-31T23:59:59Z"]).into(),
            Shape::MicroTime => "2024-01-01T00:00:00.000001Z".into(),
            Shape::Duration => self.pick(&["0s", "1h0m0.5s"]).into(),
            Shape::Quantity => self.pick(&["100m", "1Gi", "0"]).into(),
            Shape::IntOrString if self.below(2) == 0 => Value::Int(80),
            Shape::IntOrString => self.pick(&["25%", "\"", ""]).into(),
            // Unions of which only some JSON is a form, and what has to be an object.
            Shape::Any(_) | Shape::RawObject | Shape::FieldsV1 => {
                Object::from_iter([("f:a", Value::from(vec![Value::Int(1), "]}\"".into()]))]).into()
            }
            Shape::List(list) => {
                (0..self.below(4)).map(|_| self.value(&list.item.shape, depth + 1)).collect::<Vec<_>>().into()
            }
            Shape::Map(map) => {
                let mut object = Object::new();
                for key in ["a", "b/c", "z"].into_iter().take(self.below(4)) {
                    object.push(key, self.value(&map.value.shape, depth + 1));
                }
                object.into()
            }
            Shape::Struct(ty) => self.object(ty, depth + 1),
        }
    }
}
