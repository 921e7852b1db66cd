//! The authenticators in upstream's order: front proxy, client certificate, bearer token, nobody.

use std::fmt;
use std::sync::Arc;

use apiwright_chain::{Peer, User};
use futures::future::BoxFuture;
use http::HeaderMap;

use crate::authority::Authority;
use crate::bearer::{self, Bearer};
use crate::client_certificate;
use crate::configuration::authentication::Anonymous;
use crate::request_header::RequestHeader;

/// Knows some bearer tokens.
pub trait TokenAuthenticator: Send + Sync + 'static {
    /// Whose token this is, if it is for one of the audiences; `None` where it is not one of this
    /// authenticator's.
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Known>, String>>;
}

/// A token that is known.
#[derive(Clone, Debug)]
pub struct Known {
    /// Whose it is.
    pub user: Arc<User>,
    /// Those of the audiences that were asked for that it is for.
    pub audiences: Vec<String>,
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The user, with its groups.
    pub user: Arc<User>,
    /// A text for a Warning header.
    pub warning: Option<&'static str>,
}

/// Why nobody knows who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// There are no credentials, and anonymous requests are refused.
    Nobody,
    /// There are credentials, and they are wrong.
    Wrong(String),
}

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nobody => f.write_str("no credentials"),
            Self::Wrong(why) => f.write_str(why),
        }
    }
}

/// Everything that can tell who asks.
#[derive(Clone, Default)]
pub struct Authentication {
    /// A front proxy's word, where one is configured.
    pub request_header: Option<RequestHeader>,
    /// Signs client certificates.
    pub client_authority: Option<Arc<Authority>>,
    /// Know tokens; the first that knows one counts.
    pub tokens: Vec<Arc<dyn TokenAuthenticator>>,
    /// Whom tokens must be for.
    pub audiences: Vec<String>,
    /// Whether, and where, requests without credentials are `system:anonymous`'s.
    pub anonymous: Anonymous,
}

impl Authentication {
    /// Who sent these headers over this connection, asking for a path. What served to tell is taken from the
    /// headers.
    ///
    /// # Errors
    /// When credentials are wrong, or there are none and anonymous requests are refused. The
    /// reason is for the log.
    pub async fn authenticate(
        &self,
        headers: &mut HeaderMap,
        peer: &Peer,
        path: &str,
    ) -> Result<Identity, Unknown> {
        let found = self.find(headers, peer, path).await;
        headers.remove(http::header::AUTHORIZATION);
        RequestHeader::clear_standard(headers);
        if let Some(proxy) = &self.request_header {
            proxy.clear(headers);
        }
        found
    }

    /// An authenticator's error counts only where no other knows the client.
    async fn find(&self, headers: &mut HeaderMap, peer: &Peer, path: &str) -> Result<Identity, Unknown> {
        let mut errors = Vec::new();
        if let Some(proxy) = &self.request_header {
            match proxy.authenticate(headers, peer) {
                Ok(Some(user)) => return Ok(Identity { user: Arc::new(user), warning: None }),
                Ok(None) => {}
                Err(why) => errors.push(why),
            }
        }
        if let Some(authority) = &self.client_authority {
            match client_certificate::authenticate(authority, peer) {
                Ok(Some(user)) => return Ok(Identity { user, warning: None }),
                Ok(None) => {}
                Err(why) => errors.push(why),
            }
        }
        let mut warning = None;
        match bearer::find(headers) {
            Ok(Bearer::Token(token)) => match self.known(&token, &self.audiences).await {
                Ok(known) => return Ok(Identity { user: known.user, warning: None }),
                Err(why) => errors.push(why),
            },
            Ok(Bearer::Ignored(text)) => warning = Some(text),
            Ok(Bearer::None) => {}
            Err(why) => errors.push(why.into()),
        }
        if !errors.is_empty() {
            return Err(Unknown::Wrong(errors.join("; ")));
        }
        if self.anonymous.admits(path) {
            return Ok(Identity { user: Arc::new(User::anonymous()), warning });
        }
        Err(Unknown::Nobody)
    }

    /// Whose token this is, if it is for one of the audiences: what `TokenReview`s ask, too.
    ///
    /// # Errors
    /// When nobody knows it.
    pub async fn known(&self, token: &str, audiences: &[String]) -> Result<Known, String> {
        let mut errors = Vec::new();
        for authenticator in &self.tokens {
            match authenticator.authenticate(token, audiences).await {
                Ok(Some(known)) => return Ok(known),
                Ok(None) => {}
                Err(why) => errors.push(why),
            }
        }
        Err(if errors.is_empty() { "invalid bearer token".into() } else { errors.join("; ") })
    }
}

/// Adds the group of everybody who is somebody.
pub(crate) fn authenticated(mut user: User) -> User {
    if !user.is_anonymous() && !user.in_group("system:authenticated") {
        user.groups.push("system:authenticated".into());
    }
    user
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    struct One;

    impl TokenAuthenticator for One {
        fn authenticate<'a>(
            &'a self,
            token: &'a str,
            _: &'a [String],
        ) -> BoxFuture<'a, Result<Option<Known>, String>> {
            let user = User { name: "admin".into(), ..User::default() };
            let known = Known { user: Arc::new(authenticated(user)), audiences: Vec::new() };
            Box::pin(std::future::ready(Ok((token == "admintoken").then_some(known))))
        }
    }

    #[tokio::test]
    async fn wrong_credentials_are_refused_and_none_are_anonymous() {
        let authentication = Authentication {
            tokens: vec![Arc::new(One)],
            anonymous: anonymous(&[]),
            ..Authentication::default()
        };
        let peer = Peer::new(([127, 0, 0, 1], 1).into());
        for (authorization, expected) in [
            (None, Some("system:anonymous")),
            (Some("Bearer admintoken"), Some("admin")),
            (Some("bearer admintoken"), Some("admin")),
            (Some("Bearer admintoken more"), Some("admin")),
            (Some("Bearer wrong"), None),
            (Some("Bearer "), Some("system:anonymous")),
            (Some("Bearer  admintoken"), Some("system:anonymous")),
            (Some("Basic YWRtaW46YWRtaW4="), Some("system:anonymous")),
            (Some("admintoken"), Some("system:anonymous")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert("x-remote-user", HeaderValue::from_static("root"));
            if let Some(value) = authorization {
                headers.insert("authorization", HeaderValue::from_static(value));
            }
            let found = authentication.authenticate(&mut headers, &peer, "/api").await;
            assert_eq!(
                found.as_ref().ok().map(|found| found.user.name.as_str()),
                expected,
                "{authorization:?}"
            );
            assert!(headers.is_empty(), "{authorization:?}");
            let warned = found.is_ok_and(|found| found.warning.is_some());
            assert_eq!(warned, authorization == Some("Bearer  admintoken"), "{authorization:?}");
        }
        let closed = Authentication { tokens: vec![Arc::new(One)], ..Authentication::default() };
        assert!(closed.authenticate(&mut HeaderMap::new(), &peer, "/api").await.is_err());
    }

    fn anonymous(paths: &[&str]) -> Anonymous {
        Anonymous { enabled: true, paths: paths.iter().map(|&path| path.to_owned()).collect() }
    }

    #[tokio::test]
    async fn nobody_may_be_allowed_some_paths_only() {
        let peer = Peer::new(([127, 0, 0, 1], 1).into());
        let authentication =
            Authentication { anonymous: anonymous(&["/livez"]), ..Authentication::default() };
        for (path, expected) in
            [("/livez", true), ("/livez/", false), ("/api", false), ("/livez/../api", false)]
        {
            let found = authentication.authenticate(&mut HeaderMap::new(), &peer, path).await;
            assert_eq!(found.is_ok(), expected, "{path}");
        }
    }
}
