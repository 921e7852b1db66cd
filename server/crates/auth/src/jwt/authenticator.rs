//! Who may be told by an issuer's token.

use std::sync::Arc;
use std::time::Duration;

use apiwright_chain::User;
use apiwright_json::Value;
use apiwright_meta::time::Time;
use arc_swap::ArcSwap;
use futures::future::BoxFuture;

use super::claims::Claims;
use super::issuer::Issuer;
use super::options::JwtOptions;
use super::token::Token;
use crate::authentication::{Known, TokenAuthenticator, authenticated};
use crate::service_account::now;

/// How far clocks may differ about when a token begins to count.
const CLOCK_SKEW_SECONDS: f64 = 60.0;
/// How often it is looked whether issuers have said what is needed.
const READY_INTERVAL: Duration = Duration::from_millis(100);

/// Knows one issuer's tokens.
pub struct JwtAuthenticator {
    url: String,
    audiences: Vec<String>,
    algorithms: Vec<String>,
    claims: Claims,
    issuer: Arc<Issuer>,
}

/// Those of several issuers; which they are may change.
pub struct JwtAuthenticators {
    all: ArcSwap<Vec<JwtAuthenticator>>,
    /// Whom the server's tokens are for: these tokens are for the server.
    audiences: Vec<String>,
}

impl JwtAuthenticator {
    /// Knows tokens as it is told to.
    ///
    /// # Errors
    /// Where an expression or the authority cannot be used.
    pub fn new(options: &JwtOptions) -> Result<Self, String> {
        Ok(Self {
            url: options.issuer.clone(),
            audiences: options.audiences.clone(),
            algorithms: options.algorithms.clone(),
            claims: Claims::new(options)?,
            issuer: Arc::new(Issuer::new(&options.issuer, &options.discovery_url, &options.authority)?),
        })
    }

    /// Whose token this is; `None` where it is not of this issuer.
    async fn user(&self, token: &str) -> Result<Option<User>, String> {
        let Some(parsed) = Token::parse(token) else { return Ok(None) };
        let Some(claims) = parsed.claims() else { return Ok(None) };
        // Google's tokens once named their issuer without a scheme.
        let issuer = match claims.text_at(&["iss"]) {
            "accounts.google.com" => "https://accounts.google.com",
            issuer => issuer,
        };
        if issuer != self.url {
            return Ok(None);
        }
        if !self.issuer.is_ready() {
            return Err("oidc: authenticator not initialized".into());
        }
        self.verify(&parsed, &claims).await.map_err(|why| format!("oidc: verify token: {why}"))?;
        self.claims.user(&claims).map(Some)
    }

    async fn verify(&self, token: &Token<'_>, claims: &Value) -> Result<(), String> {
        let audiences = match claims.get("aud") {
            Some(Value::String(one)) => vec![one.to_string()],
            Some(Value::Array(items)) => {
                items.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        if !audiences.iter().any(|audience| self.audiences.contains(audience)) {
            return Err(match self.audiences.as_slice() {
                [one] => format!("oidc: expected audience {one:?} got {audiences:?}"),
                several => format!("oidc: expected audience in {several:?} got {audiences:?}"),
            });
        }
        let seconds = |claim: &str| match claims.get(claim) {
            Some(Value::Int(seconds)) => Some(*seconds as f64),
            Some(Value::Float(seconds)) => Some(*seconds),
            _ => None,
        };
        let now = now() as f64;
        let expires = seconds("exp").unwrap_or_default();
        if now > expires {
            let expires = Time::from_unix(expires as i64).to_rfc3339();
            return Err(format!("oidc: token is expired (Token Expiry: {expires})"));
        }
        if seconds("nbf").is_some_and(|begins| now + CLOCK_SKEW_SECONDS < begins) {
            return Err("oidc: current time before the nbf (not before) time".into());
        }
        let signature = token.signature()?;
        if !self.algorithms.contains(&signature.algorithm) {
            return Err(format!(
                "oidc: id token signed with unsupported algorithm, expected {:?} got {:?}",
                self.algorithms, signature.algorithm
            ));
        }
        self.issuer.verify(&token.signed(), &signature).await
    }
}

impl JwtAuthenticators {
    /// These. Each asks its issuer for its keys from now on.
    pub fn start(all: Vec<JwtAuthenticator>, audiences: Vec<String>) -> Self {
        all.iter().for_each(JwtAuthenticator::begin);
        Self { all: ArcSwap::from_pointee(all), audiences }
    }

    /// Others, once all of their issuers have said where their keys are.
    ///
    /// # Errors
    /// Where one has not in time: nothing changes.
    pub async fn replace(&self, all: Vec<JwtAuthenticator>, patience: Duration) -> Result<(), String> {
        all.iter().for_each(JwtAuthenticator::begin);
        let ready = async {
            while !all.iter().all(|one| one.issuer.is_ready()) {
                tokio::time::sleep(READY_INTERVAL).await;
            }
        };
        if tokio::time::timeout(patience, ready).await.is_err() {
            let late: Vec<&str> =
                all.iter().filter(|one| !one.issuer.is_ready()).map(|one| one.url.as_str()).collect();
            return Err(format!("no keys of {}", late.join(", ")));
        }
        self.all.store(Arc::new(all));
        Ok(())
    }

    async fn known(&self, token: &str, audiences: &[String]) -> Result<Option<Known>, String> {
        let matching: Vec<String> =
            audiences.iter().filter(|one| self.audiences.contains(one)).cloned().collect();
        if !audiences.is_empty() && matching.is_empty() {
            return Ok(None);
        }
        for one in self.all.load_full().iter() {
            if let Some(user) = one.user(token).await? {
                return Ok(Some(Known { user: Arc::new(authenticated(user)), audiences: matching }));
            }
        }
        Ok(None)
    }
}

impl JwtAuthenticator {
    fn begin(&self) {
        tokio::spawn(Issuer::discover(Arc::downgrade(&self.issuer)));
    }
}

impl TokenAuthenticator for JwtAuthenticators {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Known>, String>> {
        Box::pin(self.known(token, audiences))
    }
}
