//! An issuer: what it says of itself, and its keys.
//!
//! It need not be there when the server starts: it is asked until it answers. Its keys are asked for again when a
//! token names one that is not known, by one request however many tokens wait.

use std::sync::Arc;
use std::time::Duration;

use apiwright_json::{Value, decode};
use apiwright_remote::{Backend, Trust, Via, empty};
use arc_swap::{ArcSwap, ArcSwapOption};
use http::{Method, Request, Uri};
use tokio::sync::Mutex;

use super::keys::Key;
use super::token::Signature;

const DISCOVERY_PATH: &str = "/.well-known/openid-configuration";
const TIMEOUT: Duration = Duration::from_secs(30);
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// How long after one attempt to find out about an issuer the next comes.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// An issuer.
pub(super) struct Issuer {
    url: String,
    discovery: String,
    backend: Backend,
    /// `None` until it has said where they are.
    keys: ArcSwapOption<Keys>,
}

struct Keys {
    uri: Uri,
    known: ArcSwap<Vec<Key>>,
    fetching: Mutex<()>,
}

impl Issuer {
    /// An issuer at a URL, described at another if one is given, trusted by an authority if one is given.
    ///
    /// # Errors
    /// Where the authority cannot be read.
    pub(super) fn new(url: &str, discovery: &str, authority: &str) -> Result<Self, String> {
        let trust = Trust::of(authority.as_bytes(), false);
        let backend = Backend::new(Via::Address, None, &trust, None).map_err(|error| error.to_string())?;
        let discovery = match discovery {
            "" => format!("{}{DISCOVERY_PATH}", url.trim_end_matches('/')),
            given => given.to_owned(),
        };
        Ok(Self { url: url.into(), discovery, backend, keys: ArcSwapOption::empty() })
    }

    /// Whether it has said where its keys are.
    pub(super) fn is_ready(&self) -> bool {
        self.keys.load().is_some()
    }

    /// Asks the issuer until it has said where its keys are, or nobody wants to know any more.
    pub(super) async fn discover(issuer: std::sync::Weak<Self>) {
        while let Some(issuer) = issuer.upgrade() {
            match issuer.ask().await {
                Ok(uri) => {
                    let (known, fetching) = (ArcSwap::default(), Mutex::default());
                    issuer.keys.store(Some(Arc::new(Keys { uri, known, fetching })));
                    return;
                }
                Err(why) => {
                    tracing::error!(issuer = issuer.url, %why, "cannot find out about an issuer of tokens");
                }
            }
            drop(issuer);
            tokio::time::sleep(RETRY_INTERVAL).await;
        }
    }

    async fn ask(&self) -> Result<Uri, String> {
        let described = self.get(&self.discovery).await?;
        let issuer = described.text_at(&["issuer"]);
        if issuer != self.url {
            return Err(format!(
                "oidc: issuer did not match the issuer returned by provider, expected {:?} got {issuer:?}",
                self.url
            ));
        }
        match described.text_at(&["jwks_uri"]) {
            "" => Err("provider did not return JWKS URL".into()),
            uri => uri.parse().map_err(|error| format!("its jwks_uri {uri:?} is no URL: {error}")),
        }
    }

    /// Whether the issuer signed a text.
    ///
    /// # Errors
    /// Where it did not, or that cannot be found out.
    pub(super) async fn verify(&self, text: &str, signature: &Signature) -> Result<(), String> {
        let keys = self.keys.load_full().ok_or("oidc: authenticator not initialized")?;
        let tried = keys.known.load_full();
        if verifies(&tried, text, signature) {
            return Ok(());
        }
        let turn = keys.fetching.lock().await;
        let mut current = keys.known.load_full();
        // Somebody else may have fetched them meanwhile.
        if Arc::ptr_eq(&tried, &current) {
            let set = self.get(&keys.uri.to_string()).await.map_err(|why| format!("fetching keys {why}"))?;
            current = Arc::new(Key::all(&set));
            keys.known.store(Arc::clone(&current));
        }
        drop(turn);
        if verifies(&current, text, signature) {
            return Ok(());
        }
        Err("failed to verify signature: failed to verify id token signature".into())
    }

    async fn get(&self, address: &str) -> Result<Value, String> {
        let uri: Uri = address.parse().map_err(|error| format!("{address:?} is no URL: {error}"))?;
        if uri.scheme_str() != Some("https") {
            return Err(format!("{address:?} is not asked: only https is spoken"));
        }
        let mut request = Request::new(empty());
        *request.uri_mut() = uri.clone();
        let answer = self.backend.exchange(request, TIMEOUT, ANSWER_BYTES_MAX).await;
        let answer = answer.map_err(|error| error.of_request(&Method::GET, &uri))?;
        if answer.status() != 200 {
            return Err(format!("{}: {}", answer.status(), String::from_utf8_lossy(answer.body())));
        }
        decode(answer.body()).map(|(value, _)| value).map_err(|why| format!("its answer is no JSON: {why}"))
    }
}

fn verifies(keys: &[Key], text: &str, signature: &Signature) -> bool {
    keys.iter()
        .filter(|key| key.may_be(&signature.key_id))
        .any(|key| key.verifies(&signature.algorithm, text.as_bytes(), &signature.bytes))
}
