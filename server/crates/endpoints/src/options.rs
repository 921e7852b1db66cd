//! The options of requests: what the query, or a deletion's body, says besides the object.
//!
//! Reads as upstream's parameter codec does (the first of repeated values counts, anything but
//! `0` and `false` is true), then checks, reporting all faults at once.

mod delete;
mod list;
mod write;

use apiwright_chain::Query;
use apiwright_meta::field::quoted;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, GroupKind, Path, Status};

pub(crate) use delete::DeleteOptions;
pub(crate) use list::{GetOptions, ListOptions};
pub(crate) use write::{WriteKind, WriteOptions};

/// A parameter's text; empty where it is absent.
fn text(query: &Query, name: &str) -> String {
    query.get(name).unwrap_or_default().to_owned()
}

/// A parameter's truth; `None` where it is absent.
fn truth(query: &Query, name: &str) -> Option<bool> {
    query.get(name).map(truth_of)
}

/// Whether a parameter's text is true: all but a few are.
pub(crate) fn truth_of(text: &str) -> bool {
    text != "0" && !text.eq_ignore_ascii_case("false")
}

/// A parameter's number; `None` where it is absent.
fn number(query: &Query, name: &str) -> Result<Option<i64>> {
    query.get(name).map(|value| parse_int(value).map_err(Status::bad_request)).transpose()
}

/// Go's `strconv.ParseInt`, with its words for what is no number.
pub(crate) fn parse_int(text: &str) -> Result<i64, String> {
    use std::num::IntErrorKind::{NegOverflow, PosOverflow};
    text.parse::<i64>().map_err(|error| {
        let why = match error.kind() {
            PosOverflow | NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.ParseInt: parsing {}: {why}", quoted(text))
    })
}

/// What a resourceVersion says as a number, with Go's words for what is none.
pub(crate) fn parse_revision(text: &str) -> Result<u64, String> {
    let well_formed = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let why = match (text.parse::<u64>(), well_formed) {
        (Ok(revision), true) => return Ok(revision),
        (_, true) => "value out of range",
        (_, false) => "invalid syntax",
    };
    Err(format!("resourceVersion: Invalid value: {0}: strconv.ParseUint: parsing {0}: {why}", quoted(text)))
}

/// 422 for options with faults.
fn refuse(kind: &str, errors: &ErrorList) -> Result<()> {
    if errors.is_empty() {
        return Ok(());
    }
    let kind = GroupKind { group: "meta.k8s.io".into(), kind: kind.into() };
    Err(Status::invalid(&kind, "", errors))
}

/// `dryRun` knows one word.
fn check_dry_run(values: &[String], errors: &mut ErrorList) {
    if values.iter().any(|value| value != "All") {
        let listed: Vec<String> = values.iter().map(|value| quoted(value)).collect();
        errors.not_supported(Path::new("dryRun"), format!("[{}]", listed.join(",")), &["All"]);
    }
}
