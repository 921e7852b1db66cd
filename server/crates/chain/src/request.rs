//! What travels down the chain.

use std::sync::Arc;
use std::time::Instant;

use crate::info::RequestInfo;
use crate::trail::Trail;
use crate::upload::Upload;
use crate::user::User;

/// One request, as the filters left it.
pub struct Request {
    /// Method, URI and headers as they came, without the credentials.
    pub head: http::request::Parts,
    /// The body, not read yet.
    pub body: RequestBody,
    /// What the address says.
    pub info: RequestInfo,
    /// Who asks.
    pub user: Arc<User>,
    /// `Audit-ID`.
    pub audit_id: String,
    /// When it must be answered; watches have none.
    pub deadline: Option<Instant>,
    /// Where it came from.
    pub remote: Option<std::net::SocketAddr>,
    /// Where handlers note what an audit wants to know; `None` where none does.
    pub trail: Option<Arc<Trail>>,
}

/// A request body: from the wire, or given by this process.
pub enum RequestBody {
    /// From the wire.
    Incoming(Upload),
    /// Given.
    Full(bytes::Bytes),
}

impl Request {
    /// The raw query string, without the question mark.
    pub fn query(&self) -> &str {
        self.head.uri.query().unwrap_or_default()
    }

    /// A header's text.
    pub fn header(&self, name: http::header::HeaderName) -> Option<&str> {
        self.head.headers.get(name)?.to_str().ok()
    }
}
