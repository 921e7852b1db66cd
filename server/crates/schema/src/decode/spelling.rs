//! The canonical spellings of scalars that have several.

use apiwright_meta::quantity::Quantity;
use apiwright_meta::time::{Duration, Time};

/// A quantity as it is printed.
pub(super) fn quantity(text: &str) -> Result<String, String> {
    Quantity::parse(text.trim()).map(|quantity| quantity.to_string()).map_err(|fault| fault.to_string())
}

/// A time in UTC with seconds; empty for the one that counts as none.
pub(super) fn time(text: &str) -> Result<String, String> {
    let time = Time::parse(text)?;
    Ok(if time.is_zero() { String::new() } else { time.to_rfc3339() })
}

/// A time in UTC with microseconds; empty for the one that counts as none.
pub(super) fn micro_time(text: &str) -> Result<String, String> {
    let time = Time::parse_micro(text)?;
    Ok(if time.is_zero() { String::new() } else { time.to_rfc3339_micro() })
}

/// A duration as Go prints it.
pub(super) fn duration(text: &str) -> Result<String, String> {
    Duration::parse(text).map(|duration| duration.to_string())
}
