//! Servers outside that know tokens, or decide about requests: `TokenReview`s and `SubjectAccessReview`s are sent to
//! them.
//!
//! Invariant: whoever is out of reach allows nothing and knows nobody. Answers are remembered for a while, so that
//! most requests wait for nobody.

mod authorizer;
mod review;
mod tokens;

pub use authorizer::{FailurePolicy, WebhookAuthorizer, WebhookOptions};
pub use tokens::WebhookTokens;

/// A version of a review.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ReviewVersion {
    V1,
    /// What the flags mean that do not say.
    #[default]
    V1Beta1,
}

impl ReviewVersion {
    /// As flags and files name it.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::V1 => "v1",
            Self::V1Beta1 => "v1beta1",
        }
    }
}
