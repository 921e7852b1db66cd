//! Issuers of tokens besides this server, and who may be anonymous: `--oidc-*`, or a file that may change.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use apiwright_auth::configuration::AuthenticationConfiguration;
use apiwright_auth::configuration::authentication::Anonymous;
use apiwright_auth::jwt::{ALGORITHMS, JwtOptions, Mapping};
use apiwright_auth::{JwtAuthenticator, JwtAuthenticators};
use apiwright_chain::Drain;
use tokio::sync::mpsc;
use tracing::{error, info};

use super::watched::watch;
use crate::flags::{Flags, Oidc};

/// How long a changed file's issuers may take to say where their keys are.
const PATIENCE: Duration = Duration::from_mins(1);
/// The only algorithm that every issuer has.
const ALGORITHM: &str = "RS256";

/// The issuers that were asked for.
pub struct Issuers {
    options: Vec<JwtOptions>,
    /// Where they are from, if not from flags.
    file: Option<PathBuf>,
    /// Who issues the server's own tokens.
    own: Vec<String>,
}

impl Issuers {
    /// Those that flags or the file say, and who may be anonymous.
    ///
    /// # Errors
    /// What is wrong with either.
    pub fn choose(flags: &Flags) -> Result<(Self, Anonymous), String> {
        let own = flags.service_account_issuer.clone();
        let by_flag = || Anonymous { enabled: flags.anonymous_auth.unwrap_or(true), paths: Vec::new() };
        let Some(file) = &flags.authentication_config else {
            let options = by_flags(&flags.oidc, &own)?;
            return Ok((Self { options, file: None, own }, by_flag()));
        };
        if flags.oidc.is_set() {
            return Err("authentication-config file and oidc-* flags are mutually exclusive".into());
        }
        let read = AuthenticationConfiguration::load(file, &own)?;
        if read.anonymous.is_some() && flags.anonymous_auth.is_some() {
            return Err("--anonymous-auth flag cannot be set when anonymous field is configured in \
                        authentication configuration file"
                .into());
        }
        let issuers = Self { options: read.issuers, file: Some(file.clone()), own };
        issuers.authenticators()?;
        Ok((issuers, read.anonymous.unwrap_or_else(by_flag)))
    }

    fn authenticators(&self) -> Result<Vec<JwtAuthenticator>, String> {
        self.options.iter().map(JwtAuthenticator::new).collect()
    }

    /// What knows their tokens, which are for these audiences; `None` where there are none and will be none.
    ///
    /// # Errors
    /// What is wrong with one.
    pub fn start(&self, audiences: Vec<String>) -> Result<Option<Arc<JwtAuthenticators>>, String> {
        if self.options.is_empty() && self.file.is_none() {
            return Ok(None);
        }
        Ok(Some(Arc::new(JwtAuthenticators::start(self.authenticators()?, audiences))))
    }

    /// Takes the file's changes until the drain begins; one with faults changes nothing. Who may be anonymous is
    /// settled at the start.
    pub async fn follow(&self, authenticators: Arc<JwtAuthenticators>, drain: Drain) {
        let Some(file) = &self.file else { return };
        let (sender, mut changes) = mpsc::unbounded_channel();
        let watching = watch(file.clone(), drain, move |text| drop(sender.send(text.to_vec())));
        let taking = async {
            while let Some(text) = changes.recv().await {
                match self.take(&text, &authenticators).await {
                    Ok(()) => info!("authentication configuration reloaded"),
                    Err(why) => error!(%why, "a changed authentication configuration is not taken"),
                }
            }
        };
        tokio::join!(watching, taking);
    }

    async fn take(&self, text: &[u8], authenticators: &JwtAuthenticators) -> Result<(), String> {
        let read = AuthenticationConfiguration::read(text, &self.own)?;
        let new = read.issuers.iter().map(JwtAuthenticator::new).collect::<Result<_, String>>()?;
        authenticators.replace(new, PATIENCE).await
    }
}

fn by_flags(oidc: &Oidc, own: &[String]) -> Result<Vec<JwtOptions>, String> {
    let (Some(issuer), Some(client)) = (&oidc.oidc_issuer_url, &oidc.oidc_client_id) else {
        if oidc.is_set() {
            return Err(
                "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set"
                    .into(),
            );
        }
        return Ok(Vec::new());
    };
    let algorithms = match oidc.oidc_signing_algs.as_slice() {
        [] => vec![ALGORITHM.to_owned()],
        given => given.to_vec(),
    };
    if let Some(unknown) = algorithms.iter().find(|one| !ALGORITHMS.contains(&one.as_str())) {
        return Err(format!("oidc: unsupported signing alg: {unknown:?}"));
    }
    let authority = match &oidc.oidc_ca_file {
        None => String::new(),
        Some(file) => std::fs::read_to_string(file)
            .map_err(|error| format!("--oidc-ca-file: cannot read {}: {error}", file.display()))?,
    };
    let claim = oidc.oidc_username_claim.clone().unwrap_or_else(|| "sub".into());
    let prefix = match oidc.oidc_username_prefix.as_deref() {
        // Names of several issuers must not clash; addresses do not.
        None | Some("") if claim != "email" => format!("{issuer}#"),
        None | Some("" | "-") => String::new(),
        Some(given) => given.to_owned(),
    };
    let options = JwtOptions {
        issuer: issuer.clone(),
        authority,
        audiences: vec![client.clone()],
        algorithms,
        required_claims: oidc.oidc_required_claim.clone(),
        username: Mapping::Claim { claim, prefix },
        groups: match &oidc.oidc_groups_claim {
            None => Mapping::Nothing,
            Some(claim) => Mapping::Claim {
                claim: claim.clone(),
                prefix: oidc.oidc_groups_prefix.clone().unwrap_or_default(),
            },
        },
        ..JwtOptions::default()
    };
    AuthenticationConfiguration::check_flags(&options, own)?;
    Ok(vec![options])
}
