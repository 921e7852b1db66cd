//! `meta.k8s.io/v1 Status`: what every failed request is answered with, and the constructors
//! that give each reason its code and words (API conventions, "Response Status Kind").

use crate::field::{Cause, ErrorList};
use crate::gvk::{GroupKind, GroupResource};

/// The answer to a request that failed, or the thin answer to one that succeeded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// The machine-readable reason; `None` where upstream leaves it out.
    pub reason: Option<Reason>,
    /// The text for people.
    pub message: String,
    /// What it is about.
    pub details: Option<Box<Details>>,
    /// `metadata.continue`: a list's token that goes on where the one that was sent has expired.
    pub continue_token: String,
}

/// `status.details`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The object's name.
    pub name: String,
    /// The API group.
    pub group: String,
    /// The resource, or the kind where it is the body that is wrong.
    pub kind: String,
    /// The object's uid.
    pub uid: String,
    /// Each fault.
    pub causes: Vec<Cause>,
    /// Seconds after which to try again; also sent as Retry-After.
    pub retry_after_seconds: u32,
}

/// The reasons of the API conventions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Reason {
    Unauthorized,
    Forbidden,
    NotFound,
    AlreadyExists,
    Conflict,
    Gone,
    Invalid,
    ServerTimeout,
    Timeout,
    TooManyRequests,
    BadRequest,
    MethodNotAllowed,
    NotAcceptable,
    RequestEntityTooLarge,
    UnsupportedMediaType,
    InternalError,
    Expired,
    ServiceUnavailable,
    StoreReadError,
}

impl Reason {
    /// As it is on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Invalid => "Invalid",
            Self::ServerTimeout => "ServerTimeout",
            Self::Timeout => "Timeout",
            Self::TooManyRequests => "TooManyRequests",
            Self::BadRequest => "BadRequest",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::InternalError => "InternalError",
            Self::Expired => "Expired",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::StoreReadError => "StoreReadError",
        }
    }
}

/// What a fallible step of a request gives: the object, or the Status to answer with.
pub type Result<T, E = Box<Status>> = std::result::Result<T, E>;

fn about(resource: &GroupResource, name: &str) -> Option<Box<Details>> {
    Some(Box::new(Details {
        name: name.into(),
        group: resource.group.to_string(),
        kind: resource.resource.to_string(),
        ..Details::default()
    }))
}

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
            details: about(resource, name),
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
            details: about(resource, name),
            ..Self::default()
        })
    }

    /// 409: `Operation cannot be fulfilled on pods "x": …`.
    pub fn conflict(resource: &GroupResource, name: &str, why: impl std::fmt::Display) -> Box<Self> {
        Box::new(Self {
            code: 409,
            reason: Some(Reason::Conflict),
            message: format!("Operation cannot be fulfilled on {resource} \"{name}\": {why}"),
            details: about(resource, name),
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
            details: about(resource, name),
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
        Box::new(Self {
            code: 422,
            reason: Some(Reason::Invalid),
            message: format!("{kind} \"{name}\" is invalid: {}", errors.aggregate()),
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
}
