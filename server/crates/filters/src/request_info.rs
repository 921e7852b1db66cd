//! What the request is about.

use crate::authorization;
use apiwright_chain::{RequestInfo, Response, respond};

/// Reads the address, or answers that it says nothing.
pub(crate) fn read<B>(request: &http::Request<B>) -> Result<RequestInfo, Box<Response>> {
    let uri = request.uri();
    RequestInfo::parse(request.method(), uri.path(), uri.query().unwrap_or_default()).map_err(|why| {
        let address = uri.path_and_query().map_or(uri.path(), |address| address.as_str());
        let message = format!("Internal Server Error: {address:?}: failed to create RequestInfo: {why}");
        Box::new(respond::text_error(500, &authorization::without_markup(&message)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn legacy_prefixes_alone_say_nothing() {
        let request = http::Request::get("/api/v1/watch?a=b&c").body(()).unwrap();
        let response = read(&request).unwrap_err();
        assert_eq!(response.status(), 500);
        let apiwright_chain::Body::Full(body) = response.into_body() else { panic!("not at once") };
        assert_eq!(
            bytes::Bytes::from(body),
            "Internal Server Error: \"/api/v1/watch?a=b&amp;c\": failed to create RequestInfo: \
             unable to determine kind and namespace from url, /api/v1/watch?a=b&amp;c\n"
        );
    }
}
