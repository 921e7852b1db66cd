//! Cross-origin requests of web pages (`--cors-allowed-origins`).

use apiwright_chain::{Body, Response};
use http::header::{
    ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, ORIGIN,
};
use http::request::Parts;
use http::{HeaderValue, Method, StatusCode};
use regex::Regex;

const METHODS: HeaderValue = HeaderValue::from_static("POST, GET, OPTIONS, PUT, DELETE, PATCH");
const HEADERS: HeaderValue = HeaderValue::from_static(
    "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since",
);

/// The origins that may call.
#[derive(Clone, Debug)]
pub struct Cors(Vec<Regex>);

/// An origin that may.
pub(crate) struct AllowedOrigin(HeaderValue);

impl Cors {
    /// Origins that match one of these regular expressions.
    ///
    /// # Errors
    /// When one is no regular expression.
    pub fn new<S: AsRef<str>>(patterns: impl IntoIterator<Item = S>) -> Result<Self, String> {
        let compile = |pattern: S| {
            Regex::new(pattern.as_ref())
                .map_err(|_| format!("{:?} is not a regular expression", pattern.as_ref()))
        };
        patterns.into_iter().map(compile).collect::<Result<_, _>>().map(Self)
    }

    /// The origin of a request if it may call; the answer if the request only asks that.
    pub(crate) fn check(&self, head: &Parts) -> Result<Option<AllowedOrigin>, Box<Response>> {
        let Some(origin) = head.headers.get(ORIGIN) else { return Ok(None) };
        let allowed = origin.to_str().is_ok_and(|text| self.0.iter().any(|pattern| pattern.is_match(text)));
        if !allowed {
            return Ok(None);
        }
        let origin = AllowedOrigin(origin.clone());
        if head.method != Method::OPTIONS {
            return Ok(Some(origin));
        }
        let mut response = Response::new(Body::Empty);
        *response.status_mut() = StatusCode::NO_CONTENT;
        origin.put_on(&mut response);
        Err(Box::new(response))
    }
}

impl AllowedOrigin {
    /// Tells the browser.
    pub(crate) fn put_on(self, response: &mut Response) {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, self.0);
        headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
        headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Date"));
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins() {
        let cors = Cors::new(["//good\\.example(:|$)"]).unwrap();
        for (method, origin, expected) in [
            ("GET", Some("https://good.example"), Some(false)),
            ("OPTIONS", Some("https://good.example:8443"), Some(true)),
            ("GET", Some("https://bad.example"), None),
            ("OPTIONS", None, None),
        ] {
            let mut request = http::Request::builder().method(method).uri("/api");
            if let Some(origin) = origin {
                request = request.header(ORIGIN, origin);
            }
            let head = request.body(()).unwrap().into_parts().0;
            let found = match cors.check(&head) {
                Ok(None) => None,
                Ok(Some(_)) => Some(false),
                Err(answered) => {
                    assert_eq!(answered.status(), 204);
                    assert_eq!(answered.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], origin.unwrap());
                    Some(true)
                }
            };
            assert_eq!(found, expected, "{method} {origin:?}");
        }
        assert!(Cors::new(["("]).is_err());
    }
}
