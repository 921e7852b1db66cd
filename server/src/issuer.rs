//! What others need to verify service accounts' tokens: `OpenID` Connect's discovery documents.

use std::sync::Arc;

use apiwright_auth::ServiceAccounts;
use apiwright_chain::{Pages, Request, Response, document};
use apiwright_json::{Object, Value, to_string};
use futures::future::BoxFuture;
use http::HeaderValue;
use http::header::CACHE_CONTROL;

const CONFIGURATION: &str = "/.well-known/openid-configuration";
/// Where the keys are.
pub const KEYS: &str = "/openid/v1/jwks";

/// The issuer's documents.
pub struct IssuerPages {
    accounts: Arc<ServiceAccounts>,
    /// Where others are told to find the keys.
    keys_uri: String,
}

impl IssuerPages {
    /// The documents of these accounts' issuer.
    pub fn new(accounts: Arc<ServiceAccounts>, keys_uri: String) -> Self {
        Self { accounts, keys_uri }
    }

    fn configuration(&self) -> Value {
        let list = |texts: &[&str]| texts.iter().map(|&text| Value::from(text)).collect::<Vec<_>>();
        let mut configuration = Object::new();
        configuration.push("issuer", self.accounts.issuer());
        configuration.push("jwks_uri", self.keys_uri.as_str());
        configuration.push("response_types_supported", list(&["id_token"]));
        configuration.push("subject_types_supported", list(&["public"]));
        configuration.push("id_token_signing_alg_values_supported", list(&self.accounts.algorithms()));
        configuration.into()
    }

    fn find(&self, request: &Request) -> Option<Response> {
        let configuration = || to_string(&self.configuration()).into_bytes();
        let keys = || to_string(&self.accounts.key_set()).into_bytes();
        let mut response = document::answer(request, CONFIGURATION, "application/json", configuration)
            .or_else(|| document::answer(request, KEYS, "application/jwk-set+json", keys))?;
        if response.status().is_success() {
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        }
        Some(response)
    }
}

impl Pages for IssuerPages {
    fn answer<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Option<Response>> {
        Box::pin(std::future::ready(self.find(request)))
    }

    fn paths(&self) -> Vec<String> {
        vec![CONFIGURATION.into(), format!("{KEYS}/")]
    }
}
