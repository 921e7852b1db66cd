//! One fixed document at a path, as go-restful serves `/version`: other methods and formats are
//! refused in its words, and what lies below is not there.

use apiwright_meta::Status;
use apiwright_meta::status::Reason;
use http::Method;

use crate::body::Response;
use crate::negotiate::accept;
use crate::request::Request;
use crate::respond;

/// The answer to a request for `path` or below; `None` for other paths.
pub fn answer(
    request: &Request,
    path: &str,
    mime: &'static str,
    document: impl FnOnce() -> Vec<u8>,
) -> Option<Response> {
    let rest = request.info.path.strip_prefix(path)?;
    let head = &request.head;
    Some(match rest {
        "" | "/" if head.method != Method::GET => respond::failure(head, &Status::method_not_allowed()),
        "" | "/" if !accepts(accept(head), mime) => respond::failure(head, &not_acceptable(mime)),
        "" | "/" => respond::bytes(200, mime, document()),
        _ if rest.starts_with('/') => respond::failure(head, &Status::no_such_resource()),
        _ => return None,
    })
}

fn not_acceptable(mime: &str) -> Status {
    let message = format!("406: Not Acceptable\n\nAvailable representations: {mime}");
    let status = Status::failure(406, Reason::NotAcceptable, message);
    Status { details: Some(Box::default()), ..*status }
}

fn accepts(header: &str, mime: &str) -> bool {
    let without_parameters = |one: &str| one.split(';').next().unwrap_or_default().trim().to_owned();
    header.is_empty() || header.split(',').map(without_parameters).any(|one| one == "*/*" || one == mime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RequestInfo;
    use crate::request::RequestBody;

    #[test]
    fn answers() {
        for (method, path, accept, expected) in [
            ("GET", "/version", "", Some(200)),
            ("GET", "/version/", "application/json;q=0.9", Some(200)),
            ("GET", "/version", "text/html, */*", Some(200)),
            ("GET", "/version", "application/*", Some(406)),
            ("GET", "/version", "application/yaml", Some(406)),
            ("POST", "/version", "", Some(405)),
            ("GET", "/version/more", "", Some(404)),
            ("GET", "/versions", "", None),
        ] {
            let request = http::Request::builder().method(method).uri(path).header("accept", accept);
            let (head, ()) = request.body(()).unwrap().into_parts();
            let info = RequestInfo::parse(&head.method, path, "").unwrap();
            let request = Request {
                head,
                body: RequestBody::Full(bytes::Bytes::new()),
                info,
                user: std::sync::Arc::default(),
                audit_id: String::new(),
                deadline: None,
                trail: None,
                remote: None,
            };
            let found = answer(&request, "/version", "application/json", Vec::new);
            assert_eq!(
                found.map(|response| response.status().as_u16()),
                expected,
                "{method} {path} {accept}"
            );
        }
    }
}
