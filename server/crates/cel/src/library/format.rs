//! Named formats.

use apiwright_meta::names;
use apiwright_meta::time::Time;
use base64::Engine as _;

use super::url::Url;
use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "validate",
        price: Price::Format,
        native: validate,
        signatures: &["format-validate: format.(string) -> optional(list(string))"],
    },
    Entry {
        name: "format.named",
        price: Price::One,
        native: named,
        signatures: &["format-named: (string) -> optional(format)"],
    },
    constant("format.dns1123Label", |_| constant_of("dns1123Label"), &["format.dns1123Label: () -> format"]),
    constant(
        "format.dns1123Subdomain",
        |_| constant_of("dns1123Subdomain"),
        &["format.dns1123Subdomain: () -> format"],
    ),
    constant("format.dns1035Label", |_| constant_of("dns1035Label"), &["format.dns1035Label: () -> format"]),
    constant(
        "format.qualifiedName",
        |_| constant_of("qualifiedName"),
        &["format.qualifiedName: () -> format"],
    ),
    constant(
        "format.dns1123LabelPrefix",
        |_| constant_of("dns1123LabelPrefix"),
        &["format.dns1123LabelPrefix: () -> format"],
    ),
    constant(
        "format.dns1123SubdomainPrefix",
        |_| constant_of("dns1123SubdomainPrefix"),
        &["format.dns1123SubdomainPrefix: () -> format"],
    ),
    constant(
        "format.dns1035LabelPrefix",
        |_| constant_of("dns1035LabelPrefix"),
        &["format.dns1035LabelPrefix: () -> format"],
    ),
    constant("format.labelValue", |_| constant_of("labelValue"), &["format.labelValue: () -> format"]),
    constant("format.uri", |_| constant_of("uri"), &["format.uri: () -> format"]),
    constant("format.uuid", |_| constant_of("uuid"), &["format.uuid: () -> format"]),
    constant("format.byte", |_| constant_of("byte"), &["format.byte: () -> format"]),
    constant("format.date", |_| constant_of("date"), &["format.date: () -> format"]),
    constant("format.datetime", |_| constant_of("datetime"), &["format.datetime: () -> format"]),
];

const fn constant(
    name: &'static str,
    native: crate::functions::Native,
    signatures: &'static [&'static str],
) -> Entry {
    Entry { name, price: Price::One, native, signatures }
}

/// A format.
#[derive(Debug)]
pub struct Format {
    /// How it is called in expressions.
    pub name: &'static str,
    /// The length of the expression that checking it is priced as.
    pub(crate) regex_size: u64,
    check: fn(&str) -> Vec<String>,
}

const FORMATS: &[Format] = &[
    Format { name: "dns1123Label", regex_size: 30, check: |text| names::name_is_dns_label(text, false) },
    Format {
        name: "dns1123Subdomain",
        regex_size: 60,
        check: |text| names::name_is_dns_subdomain(text, false),
    },
    Format { name: "dns1035Label", regex_size: 30, check: |text| names::name_is_dns1035_label(text, false) },
    Format { name: "qualifiedName", regex_size: 60, check: names::qualified_name },
    Format { name: "dns1123LabelPrefix", regex_size: 30, check: |text| names::name_is_dns_label(text, true) },
    Format {
        name: "dns1123SubdomainPrefix",
        regex_size: 60,
        check: |text| names::name_is_dns_subdomain(text, true),
    },
    Format {
        name: "dns1035LabelPrefix",
        regex_size: 30,
        check: |text| names::name_is_dns1035_label(text, true),
    },
    Format { name: "labelValue", regex_size: 40, check: names::label_value },
    Format { name: "uri", regex_size: 1103, check: |text| Url::parse(text).err().into_iter().collect() },
    Format {
        name: "uuid",
        regex_size: 95,
        check: |text| unless(is_uuid(text), "does not match the UUID format"),
    },
    Format {
        name: "byte",
        regex_size: 84,
        check: |text| {
            let valid = base64::engine::general_purpose::STANDARD.decode(text).is_ok();
            unless(valid, "invalid base64")
        },
    },
    Format { name: "date", regex_size: 121, check: |text| unless(is_date(text), "invalid date") },
    Format {
        name: "datetime",
        regex_size: 121,
        check: |text| unless(Time::parse(text).is_ok(), "invalid datetime"),
    },
];

fn unless(valid: bool, why: &str) -> Vec<String> {
    if valid { Vec::new() } else { vec![why.to_owned()] }
}

fn is_uuid(text: &str) -> bool {
    let digits: String = text.chars().filter(|sign| *sign != '-').collect();
    digits.len() == 32
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && (text.len() == 32 || text.match_indices('-').map(|(at, _)| at).eq([8, 13, 18, 23]))
}

fn is_date(text: &str) -> bool {
    text.len() == 10 && Time::parse(&format!("{text}T00:00:00Z")).is_ok()
}

fn constant_of<'a>(name: &str) -> Result<Val<'a>, EvalError> {
    FORMATS.iter().find(|format| format.name == name).map(Val::Format).ok_or(EvalError::NO_OVERLOAD)
}

fn named<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::String(name)] = args else { return Err(EvalError::NO_OVERLOAD) };
    Ok(constant_of(name).map_or(Val::Optional(None), Val::some))
}

fn validate<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Format(format), Val::String(text)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let faults = (format.check)(text);
    if faults.is_empty() {
        return Ok(Val::Optional(None));
    }
    Ok(Val::some(Val::list(faults.into_iter().map(Val::text).collect())))
}
