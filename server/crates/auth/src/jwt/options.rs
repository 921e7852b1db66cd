//! What is said of an issuer's tokens.

/// An issuer, and what its tokens say of users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JwtOptions {
    /// Its URL, as tokens name it.
    pub issuer: String,
    /// Where it is described, if not below its URL.
    pub discovery_url: String,
    /// Who signed its certificate, PEM; whom the system trusts where it is empty.
    pub authority: String,
    /// Tokens must be for one of them.
    pub audiences: Vec<String>,
    /// Algorithms that tokens may be signed by.
    pub algorithms: Vec<String>,
    /// Claims that must be there, with these values.
    pub required_claims: Vec<(String, String)>,
    /// Expressions that must hold of the claims.
    pub claim_rules: Vec<ValidationRule>,
    /// The user's name.
    pub username: Mapping,
    /// The user's groups.
    pub groups: Mapping,
    /// The user's unique id.
    pub uid: Mapping,
    /// Other attributes: keys, and expressions of their values.
    pub extra: Vec<(String, String)>,
    /// Expressions that must hold of the user.
    pub user_rules: Vec<ValidationRule>,
}

/// Where an attribute is from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mapping {
    /// It has no value.
    #[default]
    Nothing,
    /// A claim, behind a prefix.
    Claim {
        /// The claim.
        claim: String,
        /// The prefix.
        prefix: String,
    },
    /// An expression about the claims.
    Expression(String),
}

/// An expression that must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValidationRule {
    /// The expression.
    pub expression: String,
    /// What is told where it does not.
    pub message: String,
}
