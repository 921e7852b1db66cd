//! What makes a Status: one constructor a reason, with upstream's code, words and details.

use super::{Details, Reason, Status};
use crate::field::{Cause, ErrorList, quoted};
use crate::gvk::{GroupKind, GroupResource};

impl Status {
    /// A failure without details.
    pub fn failure(code: u16, reason: Reason, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            code,
            reason: Some(reason),
            message: message.into(),
            details: None,
            ..Self::default()
        })
    }

    /// 404: `pods "x" not found`.
    pub fn not_found(resource: &GroupResource, name: &str) -> Box<Self> {
        Box::new(Self {
            code: 404,
            reason: Some(Reason::NotFound),
            message: format!("{resource} \"{name}\" not found"),
            details: Some(Box::new(about(resource, name))),
            ..Self::default()
        })
    }

    /// 404 of an address that no resource has: `the server could not find the requested resource`.
    pub fn no_such_resource() -> Box<Self> {
        Box::new(Self {
            code: 404,
            reason: Some(Reason::NotFound),
            message: "the server could not find the requested resource".into(),
            details: Some(Box::default()),
            ..Self::default()
        })
    }

    /// 409: `pods "x" already exists`.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Box<Self> {
        Box::new(Self {
            code: 409,
            reason: Some(Reason::AlreadyExists),
            message: format!("{resource} \"{name}\" already exists"),
            details: Some(Box::new(about(resource, name))),
            ..Self::default()
        })
    }

    /// 409: `Operation cannot be fulfilled on pods "x": …`.
    pub fn conflict(resource: &GroupResource, name: &str, why: impl std::fmt::Display) -> Box<Self> {
        Box::new(Self {
            code: 409,
            reason: Some(Reason::Conflict),
            message: format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}"),
            details: Some(Box::new(about(resource, name))),
            ..Self::default()
        })
    }

    /// 403: `pods "x" is forbidden: …`.
    pub fn forbidden(resource: &GroupResource, name: &str, why: impl std::fmt::Display) -> Box<Self> {
        let message = match (resource.resource.is_empty(), name.is_empty()) {
            (true, _) => format!("forbidden: {why}"),
            (false, true) => format!("{resource} is forbidden: {why}"),
            (false, false) => format!("{resource} \"{name}\" is forbidden: {why}"),
        };
        Box::new(Self {
            code: 403,
            reason: Some(Reason::Forbidden),
            message,
            details: Some(Box::new(about(resource, name))),
            ..Self::default()
        })
    }

    /// 422: `Pod "x" is invalid: …`, each fault a cause.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &ErrorList) -> Box<Self> {
        let mut details = Details {
            name: name.into(),
            group: kind.group.to_string(),
            kind: kind.kind.to_string(),
            ..Details::default()
        };
        details.causes = errors.causes();
        let message = if errors.is_empty() {
            format!("{kind} \"{name}\" is invalid")
        } else {
            format!("{kind} \"{name}\" is invalid: {}", errors.aggregate())
        };
        Box::new(Self {
            code: 422,
            reason: Some(Reason::Invalid),
            message,
            details: Some(Box::new(details)),
            ..Self::default()
        })
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Box<Self> {
        Self::failure(400, Reason::BadRequest, message)
    }

    /// 401.
    pub fn unauthorized() -> Box<Self> {
        Self::failure(401, Reason::Unauthorized, "Unauthorized")
    }

    /// 405 of a resource: `the server does not allow this method on the requested resource`.
    pub fn method_not_allowed() -> Box<Self> {
        Box::new(Self {
            code: 405,
            reason: Some(Reason::MethodNotAllowed),
            message: "the server does not allow this method on the requested resource".into(),
            details: Some(Box::default()),
            ..Self::default()
        })
    }

    /// 500: `Internal error occurred: …`, with the text as a cause.
    pub fn internal(why: impl std::fmt::Display) -> Box<Self> {
        Box::new(Self {
            code: 500,
            reason: Some(Reason::InternalError),
            message: format!("Internal error occurred: {why}"),
            details: Some(Box::new(Details {
                causes: vec![Cause::text(why.to_string())],
                ..Details::default()
            })),
            ..Self::default()
        })
    }

    /// 500 without a reason: what upstream answers where an error has no Status of its own.
    pub fn unclassified(message: impl Into<String>) -> Box<Self> {
        Box::new(Self { code: 500, reason: None, message: message.into(), details: None, ..Self::default() })
    }

    /// 410: the revision asked for is gone.
    pub fn expired(message: impl Into<String>) -> Box<Self> {
        Self::failure(410, Reason::Expired, message)
    }

    /// 410: the object is gone for good.
    pub fn gone(message: impl Into<String>) -> Box<Self> {
        Self::failure(410, Reason::Gone, message)
    }

    /// 409: `pods "x" already exists, the server was not able to generate a unique name for the object`.
    pub fn generate_name_conflict(
        resource: &GroupResource,
        name: &str,
        retry_after_seconds: u32,
    ) -> Box<Self> {
        let mut status = Self::already_exists(resource, name);
        status.message.push_str(", the server was not able to generate a unique name for the object");
        status.with_retry_after(retry_after_seconds)
    }

    /// 409 of server-side apply: each field that another manager owns is a cause.
    pub fn apply_conflict(causes: Vec<Cause>, message: impl Into<String>) -> Box<Self> {
        let mut status = Self::failure(409, Reason::Conflict, message);
        status.details = Some(Box::new(Details { causes, ..Details::default() }));
        status
    }

    /// 405: `delete is not supported on resources of kind "pods"`.
    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Box<Self> {
        let message = format!("{action} is not supported on resources of kind \"{resource}\"");
        let mut status = Self::failure(405, Reason::MethodNotAllowed, message);
        status.details = Some(Box::new(about(resource, "")));
        status
    }

    /// 406, naming what could be sent.
    pub fn not_acceptable(accepted: &[&str]) -> Box<Self> {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Self::failure(406, Reason::NotAcceptable, message)
    }

    /// 415, naming what can be read.
    pub fn unsupported_media_type(accepted: &[&str]) -> Box<Self> {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Self::failure(415, Reason::UnsupportedMediaType, message)
    }

    /// 413: `Request entity too large: …`.
    pub fn request_entity_too_large(why: impl std::fmt::Display) -> Box<Self> {
        Self::failure(413, Reason::RequestEntityTooLarge, format!("Request entity too large: {why}"))
    }

    /// 429, with the message as it is.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Box<Self> {
        let mut status = Self::failure(429, Reason::TooManyRequests, message);
        status.details = Some(Box::default());
        status.with_retry_after(retry_after_seconds)
    }

    /// 500: `The create operation against pods could not be completed at this time, please try again.`
    pub fn server_timeout(resource: &GroupResource, operation: &str, retry_after_seconds: u32) -> Box<Self> {
        let message = format!(
            "The {operation} operation against {resource} could not be completed at this time, please try again."
        );
        let mut status = Self::failure(500, Reason::ServerTimeout, message);
        status.details = Some(Box::new(about(resource, operation)));
        status.with_retry_after(retry_after_seconds)
    }

    /// 503.
    pub fn service_unavailable(message: impl Into<String>) -> Box<Self> {
        Self::failure(503, Reason::ServiceUnavailable, message)
    }

    /// 504: `Timeout: …`.
    pub fn timeout(why: impl std::fmt::Display, retry_after_seconds: u32) -> Box<Self> {
        let mut status = Self::failure(504, Reason::Timeout, format!("Timeout: {why}"));
        status.details = Some(Box::default());
        status.with_retry_after(retry_after_seconds)
    }

    /// 504: a revision that has not happened yet.
    pub fn too_large_resource_version(
        requested: impl std::fmt::Display,
        current: impl std::fmt::Display,
        retry_after_seconds: u32,
    ) -> Box<Self> {
        let message = "Too large resource version";
        let why = format!("{message}: {requested}, current: {current}");
        let mut status = Self::timeout(why, retry_after_seconds);
        status.details_mut().causes.push(Cause {
            reason: "ResourceVersionTooLarge".into(),
            message: message.into(),
            field: String::new(),
        });
        status
    }

    /// What a client makes of an answer that is no Status: each code has its words. `server_message` is the text
    /// that came; with `unexpected` it becomes a cause.
    pub fn generic(
        code: u16,
        verb: &str,
        resource: &GroupResource,
        name: &str,
        server_message: &str,
        unexpected: bool,
    ) -> Box<Self> {
        let (reason, mut message) = generic_words(code, verb, server_message);
        if !(resource.group.is_empty() && resource.resource.is_empty()) {
            let space = if name.is_empty() { "" } else { " " };
            message.push_str(&format!(" ({} {resource}{space}{name})", verb.to_lowercase()));
        }
        let mut status = Box::new(Self {
            code,
            reason,
            message,
            details: Some(Box::new(about(resource, name))),
            ..Self::default()
        });
        if unexpected {
            status.details_mut().causes.push(Cause {
                reason: "UnexpectedServerResponse".into(),
                message: server_message.into(),
                field: String::new(),
            });
        }
        status
    }

    /// The answer to a deletion that is done: what is gone, no code.
    pub fn deleted(resource: &GroupResource, name: &str, uid: &str) -> Box<Self> {
        let mut status = Box::new(Self { details: Some(Box::new(about(resource, name))), ..Self::default() });
        status.details_mut().uid = uid.into();
        status
    }

    /// A success of this code: what creating connects and bindings is answered with.
    pub fn success(code: u16) -> Box<Self> {
        Box::new(Self { code, ..Self::default() })
    }

    /// The same, to be tried again after some seconds.
    #[must_use]
    pub fn with_retry_after(mut self: Box<Self>, seconds: u32) -> Box<Self> {
        self.details_mut().retry_after_seconds = seconds;
        self
    }

    /// The details, made where there are none.
    pub fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }
}

fn about(resource: &GroupResource, name: &str) -> Details {
    Details {
        name: name.into(),
        group: resource.group.to_string(),
        kind: resource.resource.to_string(),
        ..Details::default()
    }
}

/// The reason and the words for a code that came without any.
fn generic_words(code: u16, verb: &str, server_message: &str) -> (Option<Reason>, String) {
    let (reason, message) = match code {
        409 if verb.eq_ignore_ascii_case("POST") => (Reason::AlreadyExists, "the server reported a conflict"),
        409 => (Reason::Conflict, "the server reported a conflict"),
        404 => (Reason::NotFound, "the server could not find the requested resource"),
        400 => (Reason::BadRequest, "the server rejected our request for an unknown reason"),
        401 => (Reason::Unauthorized, "the server has asked for the client to provide credentials"),
        403 => (Reason::Forbidden, server_message),
        406 if matches!(server_message, "" | "unknown") => (
            Reason::NotAcceptable,
            "the server was unable to respond with a content type that the client supports",
        ),
        406 => (Reason::NotAcceptable, server_message),
        415 => (Reason::UnsupportedMediaType, server_message),
        405 => (Reason::MethodNotAllowed, "the server does not allow this method on the requested resource"),
        422 => (Reason::Invalid, "the server rejected our request due to an error in our request"),
        503 => (Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
        504 => (
            Reason::Timeout,
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
        429 => (
            Reason::TooManyRequests,
            "the server has received too many requests and has asked us to try again later",
        ),
        500.. => {
            let message = format!(
                "an error on the server ({}) has prevented the request from succeeding",
                quoted(server_message)
            );
            return (Some(Reason::InternalError), message);
        }
        _ => {
            let message = format!(
                "the server responded with the status code {code} but did not return more information"
            );
            return (None, message);
        }
    };
    (Some(reason), message.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_json::to_string;

    #[test]
    fn on_the_wire() {
        let pods = GroupResource { group: "".into(), resource: "pods".into() };
        let jobs = GroupResource { group: "batch".into(), resource: "jobs".into() };
        let nothing = GroupResource::default();
        let failure = |rest: &str| {
            format!(r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure",{rest}}}"#)
        };
        let success = |rest: &str| {
            format!(r#"{{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Success",{rest}}}"#)
        };
        let mut errors = ErrorList::new();
        errors.required(crate::Path::new("spec"), "");
        let job = GroupKind { group: "batch".into(), kind: "Job".into() };
        let table = [
            (
                Status::not_found(&pods, "x"),
                failure(
                    r#""message":"pods \"x\" not found","reason":"NotFound","details":{"name":"x","kind":"pods"},"code":404"#,
                ),
            ),
            (
                Status::no_such_resource(),
                failure(
                    r#""message":"the server could not find the requested resource","reason":"NotFound","details":{},"code":404"#,
                ),
            ),
            (
                Status::generate_name_conflict(&jobs, "x", 1),
                failure(
                    r#""message":"jobs.batch \"x\" already exists, the server was not able to generate a unique name for the object","reason":"AlreadyExists","details":{"name":"x","group":"batch","kind":"jobs","retryAfterSeconds":1},"code":409"#,
                ),
            ),
            (
                Status::invalid(&job, "x", &errors),
                failure(
                    r#""message":"Job.batch \"x\" is invalid: spec: Required value","reason":"Invalid","details":{"name":"x","group":"batch","kind":"Job","causes":[{"reason":"FieldValueRequired","message":"Required value","field":"spec"}]},"code":422"#,
                ),
            ),
            (
                Status::internal("why"),
                failure(
                    r#""message":"Internal error occurred: why","reason":"InternalError","details":{"causes":[{"message":"why"}]},"code":500"#,
                ),
            ),
            (
                Status::too_large_resource_version(9, 5, 1),
                failure(
                    r#""message":"Timeout: Too large resource version: 9, current: 5","reason":"Timeout","details":{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1},"code":504"#,
                ),
            ),
            (
                Status::method_not_supported(&jobs, "delete"),
                failure(
                    r#""message":"delete is not supported on resources of kind \"jobs.batch\"","reason":"MethodNotAllowed","details":{"group":"batch","kind":"jobs"},"code":405"#,
                ),
            ),
            (
                Status::generic(415, "patch", &nothing, "", "415: Unsupported Media Type", false),
                failure(
                    r#""message":"415: Unsupported Media Type","reason":"UnsupportedMediaType","details":{},"code":415"#,
                ),
            ),
            (
                Status::generic(500, "get", &pods, "x", "oops", true),
                failure(
                    r#""message":"an error on the server (\"oops\") has prevented the request from succeeding (get pods x)","reason":"InternalError","details":{"name":"x","kind":"pods","causes":[{"reason":"UnexpectedServerResponse","message":"oops"}]},"code":500"#,
                ),
            ),
            (Status::unclassified("why"), failure(r#""message":"why","code":500"#)),
            (Status::deleted(&pods, "x", "u"), success(r#""details":{"name":"x","kind":"pods","uid":"u"}"#)),
            (Status::success(201), success(r#""code":201"#)),
        ];
        for (status, expected) in table {
            let value = status.to_value();
            assert_eq!(to_string(&value), expected);
            assert_eq!(Status::from_value(&value), Some(status));
        }
    }
}
