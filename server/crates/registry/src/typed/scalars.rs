//! The values of structs that JSON has as text, with what they mean.

use std::fmt::Display;

use apiwright_meta::time::Time;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A quantity as it is written: `100m`.
pub type Quantity = String;
/// A duration as it is written: `1h0m0s`.
pub type Duration = String;
/// What has no schema.
pub type Any = serde_json::Value;

/// A time of whole seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub Time);

/// A time of microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroTimestamp(pub Time);

/// Bytes, in JSON as base64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

/// A number or a text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum IntOrString {
    /// A port's number, a count.
    Int(i32),
    /// A port's name, a percentage.
    String(String),
}

impl Default for IntOrString {
    fn default() -> Self {
        Self::Int(0)
    }
}

/// `null` is what absence is, as in Go.
///
/// # Errors
/// Where the value does not fit.
pub fn null_as_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    from: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(from)?.unwrap_or_default())
}

/// Whether a value is left out when it is written.
pub fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

macro_rules! as_text {
    ($of:ident, $read:expr, $write:expr, $format:literal) => {
        impl<'de> Deserialize<'de> for $of {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                read(&String::deserialize(from)?, $read).map(Self)
            }
        }

        impl Serialize for $of {
            fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(&$write(&self.0))
            }
        }

        #[cfg(feature = "schemars")]
        impl schemars::JsonSchema for $of {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($of).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "format": $format})
            }
        }
    };
}

as_text!(Timestamp, Time::parse, |time: &Time| time.to_rfc3339(), "date-time");
as_text!(MicroTimestamp, Time::parse_micro, |time: &Time| time.to_rfc3339_micro(), "date-time");
as_text!(Bytes, |text| BASE64_STANDARD.decode(text), |bytes: &Vec<u8>| BASE64_STANDARD.encode(bytes), "byte");

fn read<T, F: Display, E: serde::de::Error>(text: &str, read: impl Fn(&str) -> Result<T, F>) -> Result<T, E> {
    read(text).map_err(E::custom)
}

#[cfg(feature = "schemars")]
impl schemars::JsonSchema for IntOrString {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "IntOrString".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "int-or-string"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_read_what_they_write() {
        fn round<T: Serialize + for<'de> Deserialize<'de>>(json: &str) -> String {
            serde_json::from_str::<T>(json)
                .map_or_else(|why| why.to_string(), |value| serde_json::to_string(&value).expect("JSON"))
        }
        for (json, written, round) in [
            (
                r#""2026-01-02T03:04:05Z""#,
                r#""2026-01-02T03:04:05Z""#,
                round::<Timestamp> as fn(&str) -> String,
            ),
            (r#""2026-01-02T03:04:05.000006Z""#, r#""2026-01-02T03:04:05.000006Z""#, round::<MicroTimestamp>),
            (r#""aGk=""#, r#""aGk=""#, round::<Bytes>),
            (r#""*""#, "Invalid symbol 42, offset 0.", round::<Bytes>),
            ("80", "80", round::<IntOrString>),
            (r#""80%""#, r#""80%""#, round::<IntOrString>),
        ] {
            assert_eq!(round(json), written, "{json}");
        }
    }

    #[test]
    fn null_is_absence() {
        #[derive(Debug, Default, PartialEq, Deserialize)]
        #[serde(default)]
        struct Holder {
            #[serde(deserialize_with = "null_as_default")]
            items: Vec<String>,
        }
        for json in [r#"{"items":null}"#, "{}", r#"{"items":[]}"#] {
            assert_eq!(serde_json::from_str::<Holder>(json).expect(json), Holder::default());
        }
    }
}
