//! A line in the log for each request, for whoever debugs.

use std::time::Instant;

use apiwright_chain::{Peer, Response};
use http::{Method, Uri};
use tracing::{Level, debug, enabled};

/// What the line says of the question.
pub(crate) struct Line {
    method: Method,
    uri: Uri,
    user_agent: String,
    begun: Instant,
}

/// Notes the question, if anybody reads the line.
pub(crate) fn begin<B>(request: &http::Request<B>) -> Option<Line> {
    enabled!(Level::DEBUG).then(|| {
        let agent = request.headers().get(http::header::USER_AGENT);
        Line {
            method: request.method().clone(),
            uri: request.uri().clone(),
            user_agent: agent
                .map(|agent| String::from_utf8_lossy(agent.as_bytes()).into_owned())
                .unwrap_or_default(),
            begun: Instant::now(),
        }
    })
}

impl Line {
    /// Writes the line.
    pub(crate) fn end(self, response: &Response, audit_id: &str, peer: &Peer) {
        debug!(
            method = %self.method,
            uri = %self.uri,
            code = response.status().as_u16(),
            latency_ms = self.begun.elapsed().as_secs_f64() * 1e3,
            user_agent = self.user_agent,
            remote = %peer.remote,
            audit_id,
            "request"
        );
    }
}
