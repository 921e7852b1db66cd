//! Who asks.

use std::time::Instant;

use apiwright_auth::authentication::{Authentication, Unknown};
use apiwright_chain::{Peer, Request, Response, respond};
use apiwright_meta::Status;
use http::header::WARNING;
use tracing::warn;

use crate::metrics::Metrics;
use crate::metrics::access::Authentication as Counted;

/// Finds the user, or answers 401. A client that is nobody, or nobody we know, does not get to
/// keep an HTTP/2 connection: it is too cheap a way to keep a server busy.
pub(crate) async fn identify(
    authentication: &Authentication,
    request: &mut Request,
    peer: &Peer,
    metrics: &Metrics,
) -> Result<Option<http::HeaderValue>, Box<Response>> {
    let begun = Instant::now();
    match authentication.authenticate(&mut request.head.headers, peer, &request.info.path).await {
        Ok(identity) => {
            metrics.authenticated(Counted::Success, Some(&identity.user), begun);
            if peer.is_http2 && identity.user.is_anonymous() {
                peer.close_when_idle();
            }
            request.user = identity.user;
            Ok(identity.warning.and_then(respond::warning_header))
        }
        Err(why) => {
            let result = if why == Unknown::Nobody { Counted::Failure } else { Counted::Error };
            metrics.authenticated(result, None, begun);
            warn!(audit_id = request.audit_id, %why, "unable to authenticate the request");
            if peer.is_http2 {
                peer.close_when_idle();
            }
            Err(Box::new(respond::failure(&request.head, &Status::unauthorized())))
        }
    }
}

/// Adds what the authenticators have to say.
pub(crate) fn warn_on(response: &mut Response, warning: Option<http::HeaderValue>) {
    if let Some(warning) = warning {
        response.headers_mut().append(WARNING, warning);
    }
}
