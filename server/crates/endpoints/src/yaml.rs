//! YAML until the json crate reads it.
pub(crate) struct Error {
    pub(crate) message: String,
}
pub(crate) fn decode(bytes: &[u8]) -> Result<(apiwright_json::Value, Vec<String>), Error> {
    apiwright_json::decode(bytes)
        .map(|(value, _)| (value, Vec::new()))
        .map_err(|error| Error { message: error.message })
}
