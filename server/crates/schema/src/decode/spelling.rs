//! The canonical spellings of scalars that have several.

/// A quantity as it is printed.
pub(super) fn quantity(text: &str) -> Result<String, String> {
    Ok(text.into())
}

/// A time in UTC with seconds.
pub(super) fn time(text: &str) -> Result<String, String> {
    Ok(text.into())
}

/// A time in UTC with microseconds.
pub(super) fn micro_time(text: &str) -> Result<String, String> {
    Ok(text.into())
}

/// A duration as Go prints it.
pub(super) fn duration(text: &str) -> Result<String, String> {
    Ok(text.into())
}
