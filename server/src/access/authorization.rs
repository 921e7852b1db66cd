//! Who decides about requests: `--authorization-mode`, or a file that may change.

use std::path::PathBuf;
use std::sync::Arc;

use apiwright_auth::configuration::AuthorizationConfiguration;
use apiwright_auth::configuration::authorization::AuthorizerType;
use apiwright_auth::webhook::{FailurePolicy, ReviewVersion, WebhookOptions};
use apiwright_auth::{Authorization, Mode, NodeAuthorizer, Rbac, WebhookAuthorizer};
use apiwright_chain::Drain;
use apiwright_webhook::caller::TIMEOUT;
use tracing::{error, info};

use super::watched::watch;
use crate::flags::Flags;
use crate::flags::values::AuthorizationMode;

/// The authorizers that were asked for.
pub struct Authorizers {
    configured: Vec<AuthorizerType>,
    /// One for each of [`Authorizers::configured`] that is one.
    webhooks: Vec<Arc<WebhookAuthorizer>>,
    /// Where they are from, if not from flags.
    file: Option<PathBuf>,
}

impl Authorizers {
    /// Those that flags or the file say.
    ///
    /// # Errors
    /// What is wrong with either.
    pub fn choose(flags: &Flags) -> Result<Self, String> {
        let configured = match &flags.authorization_config {
            None => by_flags(flags)?,
            Some(_) if are_set(flags) => {
                return Err("--authorization-config can not be specified when --authorization-mode or \
                            --authorization-webhook-* flags are defined"
                    .into());
            }
            Some(file) => types(AuthorizationConfiguration::load(file)?),
        };
        Self::new(configured, flags.authorization_config.clone())
    }

    fn new(configured: Vec<AuthorizerType>, file: Option<PathBuf>) -> Result<Self, String> {
        let options = configured.iter().filter_map(|one| match one {
            AuthorizerType::Webhook(options) => Some(options),
            _ => None,
        });
        let webhooks = options.map(|options| WebhookAuthorizer::new(options.as_ref().clone()).map(Arc::new));
        Ok(Self { webhooks: webhooks.collect::<Result<_, String>>()?, configured, file })
    }

    /// Whether nodes have their own.
    pub fn include_nodes(&self) -> bool {
        self.configured.contains(&AuthorizerType::Node)
    }

    /// Whether everything is allowed.
    pub fn allow_all(&self) -> bool {
        self.configured.contains(&AuthorizerType::AlwaysAllow)
    }

    /// In order, over what they look at.
    pub fn modes(&self, rbac: &Arc<Rbac>, nodes: &Arc<NodeAuthorizer>) -> Vec<Mode> {
        let mut webhooks = self.webhooks.iter();
        let mode = |one: &AuthorizerType| match one {
            AuthorizerType::AlwaysAllow => Some(Mode::AlwaysAllow),
            AuthorizerType::AlwaysDeny => Some(Mode::AlwaysDeny),
            AuthorizerType::Node => Some(Mode::Node(Arc::clone(nodes))),
            AuthorizerType::Rbac => Some(Mode::Rbac(Arc::clone(rbac))),
            AuthorizerType::Webhook(_) => webhooks.next().map(|webhook| Mode::Webhook(Arc::clone(webhook))),
        };
        self.configured.iter().filter_map(mode).collect()
    }

    /// Takes the file's changes until the drain begins; one with faults changes nothing.
    pub async fn follow(
        &self,
        authorization: Arc<Authorization>,
        rbac: Arc<Rbac>,
        nodes: Arc<NodeAuthorizer>,
        drain: Drain,
    ) {
        let Some(file) = &self.file else { return };
        watch(file.clone(), drain, |text| match self.changed(text) {
            Ok(changed) => {
                authorization.replace(changed.modes(&rbac, &nodes));
                info!("authorization configuration reloaded");
            }
            Err(why) => error!(%why, "a changed authorization configuration is not taken"),
        })
        .await;
    }

    /// What a changed file says. What is kept in memory for some types is decided at the start.
    fn changed(&self, text: &[u8]) -> Result<Self, String> {
        let configured = types(AuthorizationConfiguration::read(text)?);
        let mut missing: Vec<&str> =
            self.configured.iter().filter(|one| !configured.contains(one)).filter_map(name).collect();
        missing.sort_unstable();
        if !missing.is_empty() {
            return Err(format!("missing required types: [{}]", missing.join(" ")));
        }
        let is_new = |one: &&AuthorizerType| {
            matches!(one, AuthorizerType::Node | AuthorizerType::Rbac) && !self.configured.contains(one)
        };
        if let Some(name) = configured.iter().find(is_new).and_then(name) {
            return Err(format!(
                "authorizer type {name} is not allowed if it was not enabled at initial server startup"
            ));
        }
        Self::new(configured, None)
    }
}

fn types(configuration: AuthorizationConfiguration) -> Vec<AuthorizerType> {
    configuration.authorizers.into_iter().map(|(_, one)| one).collect()
}

/// What a type is called that is there once.
fn name(one: &AuthorizerType) -> Option<&'static str> {
    match one {
        AuthorizerType::AlwaysAllow => Some("AlwaysAllow"),
        AuthorizerType::AlwaysDeny => Some("AlwaysDeny"),
        AuthorizerType::Node => Some("Node"),
        AuthorizerType::Rbac => Some("RBAC"),
        AuthorizerType::Webhook(_) => None,
    }
}

/// Whether any flag says what the file would.
fn are_set(flags: &Flags) -> bool {
    !flags.authorization_mode.is_empty()
        || flags.authorization_webhook_config_file.is_some()
        || flags.authorization_webhook_version.is_some()
        || flags.authorization_webhook_cache_authorized_ttl.is_some()
        || flags.authorization_webhook_cache_unauthorized_ttl.is_some()
}

fn by_flags(flags: &Flags) -> Result<Vec<AuthorizerType>, String> {
    let modes = match flags.authorization_mode.as_slice() {
        [] => &[AuthorizationMode::Rbac][..],
        given => given,
    };
    for (at, mode) in modes.iter().enumerate() {
        if modes[..at].contains(mode) {
            return Err("--authorization-mode has mode specified more than once".into());
        }
    }
    let asks_webhook = modes.contains(&AuthorizationMode::Webhook);
    if flags.authorization_webhook_config_file.is_some() && !asks_webhook {
        return Err("cannot specify --authorization-webhook-config-file without mode Webhook".into());
    }
    modes
        .iter()
        .map(|mode| {
            Ok(match mode {
                AuthorizationMode::AlwaysAllow => AuthorizerType::AlwaysAllow,
                AuthorizationMode::AlwaysDeny => AuthorizerType::AlwaysDeny,
                AuthorizationMode::Node => AuthorizerType::Node,
                AuthorizationMode::Rbac => AuthorizerType::Rbac,
                AuthorizationMode::Webhook => AuthorizerType::Webhook(Box::new(webhook(flags)?)),
            })
        })
        .collect()
}

fn webhook(flags: &Flags) -> Result<WebhookOptions, String> {
    const AUTHORIZED_TTL_SECONDS: u64 = 5 * 60;
    const UNAUTHORIZED_TTL_SECONDS: u64 = 30;
    let file = flags.authorization_webhook_config_file.clone();
    let seconds = std::time::Duration::from_secs;
    Ok(WebhookOptions {
        kubeconfig: file.ok_or("authorization-mode Webhook's authorization config file not passed")?,
        version: version(flags.authorization_webhook_version.as_deref(), "webhook authorizer")?,
        timeout: TIMEOUT,
        authorized_ttl: flags
            .authorization_webhook_cache_authorized_ttl
            .unwrap_or(seconds(AUTHORIZED_TTL_SECONDS)),
        unauthorized_ttl: flags
            .authorization_webhook_cache_unauthorized_ttl
            .unwrap_or(seconds(UNAUTHORIZED_TTL_SECONDS)),
        failure_policy: FailurePolicy::NoOpinion,
        conditions: Vec::new(),
    })
}

/// A version of reviews that a flag says.
pub(super) fn version(given: Option<&str>, of: &str) -> Result<ReviewVersion, String> {
    let Some(given) = given else { return Ok(ReviewVersion::default()) };
    ReviewVersion::parse(given).ok_or_else(|| {
        format!("unsupported {of} version {given:?}, supported versions are \"v1\", \"v1beta1\"")
    })
}
