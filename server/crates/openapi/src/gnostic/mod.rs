//! Documents as protobuf: the messages of gnostic's `openapi_v2.proto` and `openapi_v3.proto`, which some
//! clients ask for.
//!
//! Only the parts that a server's documents have are written. What extends OpenAPI is carried as YAML, of which
//! JSON is a part.

mod v2;
mod v3;

use apiwright_json::{Object, Value, to_string};

pub use v2::encode as v2;
pub use v3::encode as v3;

/// A message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push((number & 0x7f) as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn bytes(&mut self, number: u64, bytes: &[u8]) {
        self.varint(number << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, number: u64, text: &str) {
        if !text.is_empty() {
            self.bytes(number, text.as_bytes());
        }
    }

    fn texts(&mut self, number: u64, list: &Value) {
        for text in items(Some(list)).iter().filter_map(Value::as_str) {
            self.bytes(number, text.as_bytes());
        }
    }

    fn message(&mut self, number: u64, message: &Self) {
        self.bytes(number, &message.0);
    }

    fn truth(&mut self, number: u64, value: Option<&Value>) {
        if value.and_then(Value::as_bool) == Some(true) {
            self.varint(number << 3);
            self.0.push(1);
        }
    }

    /// A truth that is said either way.
    fn flag(&mut self, number: u64, truth: bool) {
        self.varint(number << 3);
        self.0.push(u8::from(truth));
    }

    fn integer(&mut self, number: u64, value: Option<&Value>) {
        if let Some(value) = value.and_then(Value::as_i64).filter(|value| *value != 0) {
            self.varint(number << 3);
            self.varint(value as u64);
        }
    }

    fn double(&mut self, number: u64, value: Option<&Value>) {
        let value = match value {
            Some(Value::Int(value)) => *value as f64,
            Some(Value::Float(value)) => *value,
            _ => return,
        };
        self.varint(number << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    /// What extends OpenAPI.
    fn extensions(&mut self, number: u64, holder: &Value) {
        for (name, value) in members(Some(holder)).filter(|(name, _)| name.starts_with("x-")) {
            self.message(number, &named(name, &any(value)));
        }
    }
}

/// `NamedX { name, value }`
fn named(name: &str, value: &Message) -> Message {
    let mut out = Message::default();
    out.text(1, name);
    out.message(2, value);
    out
}

/// One of several: a message with this one member.
fn within(number: u64, value: &Message) -> Message {
    let mut out = Message::default();
    out.message(number, value);
    out
}

fn any(value: &Value) -> Message {
    let mut out = Message::default();
    out.text(2, &format!("{}\n", to_string(value)));
    out
}

fn members(holder: Option<&Value>) -> impl Iterator<Item = (&str, &Value)> {
    let members = holder.and_then(Value::as_object).into_iter().flat_map(Object::iter);
    members.map(|(name, value)| (name.as_str(), value))
}

fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod testing {
    //! Reading what was written.

    /// The members of a message: number and bytes, numbers as varints.
    pub(super) fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let mut number = 0;
            for at in 0.. {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                number |= u64::from(byte & 0x7f) << (7 * at);
                if byte < 0x80 {
                    break;
                }
            }
            number
        }
        let mut found = Vec::new();
        while !bytes.is_empty() {
            let tag = varint(&mut bytes);
            let length = match tag & 7 {
                0 => {
                    let number = varint(&mut bytes);
                    found.push((tag >> 3, number.to_le_bytes().to_vec()));
                    continue;
                }
                1 => 8,
                _ => varint(&mut bytes) as usize,
            };
            found.push((tag >> 3, bytes[..length].to_vec()));
            bytes = &bytes[length..];
        }
        found
    }

    pub(super) fn within_all(bytes: &[u8], path: &[u64]) -> Vec<u8> {
        path.iter().fold(bytes.to_vec(), |bytes, number| {
            fields(&bytes).into_iter().find(|(found, _)| found == number).expect("a member").1
        })
    }
}
