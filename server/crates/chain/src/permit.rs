//! Permits: the type-level proof that an authorizer said yes.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::info::RequestInfo;
use crate::request::Request;
use crate::user::User;

/// What an authorizer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Yes; why, where the authorizer has words for it.
    Allow(Option<Arc<str>>),
    /// No, whatever the others say; why.
    Deny(String),
    /// Nothing; why not yes.
    NoOpinion(String),
    /// Not yes, because somebody could not tell.
    Failed(Box<Failure>),
}

/// Why nobody could tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    /// Whether that is a no whatever the others say.
    pub denies: bool,
    /// What others had to say.
    pub reason: String,
    /// What went wrong.
    pub error: String,
}

impl Decision {
    /// What there is to say about it.
    pub fn reason(&self) -> &str {
        match self {
            Self::Allow(why) => why.as_deref().unwrap_or_default(),
            Self::Deny(why) | Self::NoOpinion(why) => why,
            Self::Failed(failure) => &failure.reason,
        }
    }
}

/// Why a request gets no permit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Somebody said no; what they said.
    Denied(String),
    /// Nobody said yes; what they said.
    NoOpinion(String),
    /// Somebody could not tell; what went wrong.
    Failed(String),
}

/// Decides whether a user may do what a request asks.
pub trait Authorizer: Send + Sync + 'static {
    /// The decision.
    fn authorize<'a>(&'a self, user: &'a User, what: &'a RequestInfo) -> BoxFuture<'a, Decision>;
}

/// Something that was allowed. Only [`Authorized::ask`] makes one.
pub struct Authorized<T>(T);

impl Authorized<Request> {
    /// Asks the authorizer; gives the permit, or the request back with the reason.
    ///
    /// # Errors
    /// The request and why it was refused.
    pub async fn ask(request: Request, authorizer: &dyn Authorizer) -> Result<Self, (Box<Request>, Refused)> {
        let note = |decision: &str, why: &str| {
            if let Some(trail) = &request.trail {
                trail.annotate("authorization.k8s.io/decision", decision);
                trail.annotate("authorization.k8s.io/reason", why);
            }
        };
        match authorizer.authorize(&request.user, &request.info).await {
            Decision::Allow(why) => {
                note("allow", why.as_deref().unwrap_or_default());
                Ok(Self(request))
            }
            Decision::Deny(why) => {
                note("forbid", &why);
                Err((Box::new(request), Refused::Denied(why)))
            }
            Decision::NoOpinion(why) => {
                note("forbid", &why);
                Err((Box::new(request), Refused::NoOpinion(why)))
            }
            Decision::Failed(failure) => {
                note_failure(&request);
                Err((Box::new(request), Refused::Failed(failure.error)))
            }
        }
    }
}

/// What went wrong is nobody's business but the log's.
fn note_failure(request: &Request) {
    if let Some(trail) = &request.trail {
        trail.annotate("authorization.k8s.io/reason", "internal error");
    }
}

impl<T> Authorized<T> {
    /// What was allowed.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T> std::ops::Deref for Authorized<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}
