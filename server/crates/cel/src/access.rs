//! What expressions may ask the authorizer.

use std::fmt;

use crate::types::{self, Type};

/// Answers for a user, or for a service account.
pub trait Authorize: Sync {
    /// Whether the user may use a verb on a path.
    fn path(&self, who: &Who, path: &str, verb: &str) -> Decision;
    /// Whether the user may use a verb on a resource.
    fn resource(&self, who: &Who, question: &Question, verb: &str) -> Decision;
}

/// Whom a question is about.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Who {
    /// Whoever made the request.
    #[default]
    Requester,
    /// A service account: namespace and name.
    ServiceAccount(String, String),
}

/// What is asked of a resource.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Question {
    /// The API group.
    pub group: String,
    /// The resource.
    pub resource: String,
    /// The subresource, or nothing.
    pub subresource: String,
    /// The namespace, or nothing.
    pub namespace: String,
    /// The name, or nothing.
    pub name: String,
    /// A field selector, or nothing.
    pub field_selector: String,
    /// A label selector, or nothing.
    pub label_selector: String,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// Whether it is a yes.
    pub allowed: bool,
    /// Why.
    pub reason: String,
    /// What went wrong, where there is no answer.
    pub error: Option<String>,
}

/// Somebody who asks.
#[derive(Clone)]
pub struct Asker<'a> {
    authorizer: &'a dyn Authorize,
    who: Who,
}

/// A value of the library.
#[derive(Clone, Debug, PartialEq)]
pub enum Access<'a> {
    /// `authorizer`
    Authorizer(Asker<'a>),
    /// `authorizer.path('/')`
    Path(Asker<'a>, String),
    /// `authorizer.group('')`
    Group(Asker<'a>, String),
    /// `authorizer.group('').resource('pods')`
    Resource(Asker<'a>, Question),
    /// What `check` gives.
    Decision(Decision),
}

impl<'a> Asker<'a> {
    /// One who asks for the requester.
    pub fn new(authorizer: &'a dyn Authorize) -> Self {
        Self { authorizer, who: Who::Requester }
    }

    pub(crate) fn as_service_account(&self, namespace: &str, name: &str) -> Self {
        let who = Who::ServiceAccount(namespace.to_owned(), name.to_owned());
        Self { authorizer: self.authorizer, who }
    }

    pub(crate) fn check_path(&self, path: &str, verb: &str) -> Decision {
        self.authorizer.path(&self.who, path, verb)
    }

    pub(crate) fn check_resource(&self, question: &Question, verb: &str) -> Decision {
        self.authorizer.resource(&self.who, question, verb)
    }
}

/// Askers for the same user are equal.
impl PartialEq for Asker<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.who == other.who
    }
}

impl fmt::Debug for Asker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Asker").field(&self.who).finish()
    }
}

impl Access<'_> {
    /// Its type.
    pub fn ty(&self) -> Type {
        match self {
            Self::Authorizer(_) => types::AUTHORIZER,
            Self::Path(..) => types::PATH_CHECK,
            Self::Group(..) => types::GROUP_CHECK,
            Self::Resource(..) => types::RESOURCE_CHECK,
            Self::Decision(_) => types::DECISION,
        }
    }
}
