//! `meta.k8s.io/v1 Status`: what every failed request is answered with, and the constructors
//! that give each reason its code and words (API conventions, "Response Status Kind").

mod constructors;
mod wire;

use crate::field::Cause;

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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    /// What a webhook or a backend calls it.
    Other(Box<str>),
}

impl Reason {
    /// As it is on the wire.
    pub fn as_str(&self) -> &str {
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
            Self::Other(text) => text,
        }
    }

    /// From the wire; `None` where there is none.
    pub fn from_wire(text: &str) -> Option<Self> {
        Some(match text {
            "" | "Unknown" => return None,
            "Unauthorized" => Self::Unauthorized,
            "Forbidden" => Self::Forbidden,
            "NotFound" => Self::NotFound,
            "AlreadyExists" => Self::AlreadyExists,
            "Conflict" => Self::Conflict,
            "Gone" => Self::Gone,
            "Invalid" => Self::Invalid,
            "ServerTimeout" => Self::ServerTimeout,
            "Timeout" => Self::Timeout,
            "TooManyRequests" => Self::TooManyRequests,
            "BadRequest" => Self::BadRequest,
            "MethodNotAllowed" => Self::MethodNotAllowed,
            "NotAcceptable" => Self::NotAcceptable,
            "RequestEntityTooLarge" => Self::RequestEntityTooLarge,
            "UnsupportedMediaType" => Self::UnsupportedMediaType,
            "InternalError" => Self::InternalError,
            "Expired" => Self::Expired,
            "ServiceUnavailable" => Self::ServiceUnavailable,
            "StoreReadError" => Self::StoreReadError,
            other => Self::Other(other.into()),
        })
    }
}

/// What a fallible step of a request gives: the object, or the Status to answer with.
pub type Result<T, E = Box<Status>> = std::result::Result<T, E>;

impl Status {
    /// The first cause of a kind, for instance `NamespaceTerminating`.
    pub fn cause(&self, reason: &str) -> Option<&Cause> {
        self.details.as_ref()?.causes.iter().find(|cause| cause.reason == reason)
    }

    /// Whether the reason is this one.
    pub fn is(&self, reason: &Reason) -> bool {
        self.reason.as_ref() == Some(reason)
    }
}

impl std::fmt::Display for Status {
    /// The message, as Go's errors show.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}
