//! `--oidc-*`: one issuer of tokens, said by flags. A file says more.

use std::path::PathBuf;

use clap::{ArgAction, Args};

/// What flags say of an issuer.
#[derive(Clone, Debug, Default, Args)]
pub struct Oidc {
    /// An issuer of OpenID Connect tokens, an https URL.
    #[arg(long, value_name = "URL", help_heading = "Authentication")]
    pub oidc_issuer_url: Option<String>,
    /// Whom its tokens must be for.
    #[arg(long, value_name = "ID", help_heading = "Authentication")]
    pub oidc_client_id: Option<String>,
    /// Signs its certificate, if not one of the system's authorities.
    #[arg(long, value_name = "FILE", help_heading = "Authentication")]
    pub oidc_ca_file: Option<PathBuf>,
    /// The claim that is the user's name [default: sub].
    #[arg(long, value_name = "CLAIM", help_heading = "Authentication")]
    pub oidc_username_claim: Option<String>,
    /// What names begin with; `-` for nothing [default: the issuer and #, except for email].
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true, help_heading = "Authentication")]
    pub oidc_username_prefix: Option<String>,
    /// The claim that is the user's groups.
    #[arg(long, value_name = "CLAIM", help_heading = "Authentication")]
    pub oidc_groups_claim: Option<String>,
    /// What groups begin with.
    #[arg(long, value_name = "PREFIX", help_heading = "Authentication")]
    pub oidc_groups_prefix: Option<String>,
    /// A claim that must be there, and its value: `claim=value`. May be repeated.
    #[arg(long, value_name = "PAIR", value_parser = pair, action = ArgAction::Append, help_heading = "Authentication")]
    pub oidc_required_claim: Vec<(String, String)>,
    /// How tokens may be signed [default: RS256].
    #[arg(long, value_name = "ALGORITHMS", value_delimiter = ',', help_heading = "Authentication")]
    pub oidc_signing_algs: Vec<String>,
}

impl Oidc {
    /// Whether anything is said.
    pub fn is_set(&self) -> bool {
        self.oidc_issuer_url.is_some()
            || self.oidc_client_id.is_some()
            || self.oidc_ca_file.is_some()
            || self.oidc_username_claim.is_some()
            || self.oidc_username_prefix.is_some()
            || self.oidc_groups_claim.is_some()
            || self.oidc_groups_prefix.is_some()
            || !self.oidc_required_claim.is_empty()
            || !self.oidc_signing_algs.is_empty()
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let pair = text.split_once('=').map(|(claim, value)| (claim.to_owned(), value.to_owned()));
    pair.ok_or_else(|| "it is no pair, like hd=example.com".to_owned())
}
