//! One request, as handlers see it: the address, who asks, what to tell them besides the answer.

use std::sync::Arc;
use std::time::Instant;

use apiwright_chain::request::RequestBody;
use apiwright_chain::respond::Warnings;
use apiwright_chain::{Query, Request, RequestInfo, Trail, User};
use apiwright_registry::Writer;
use apiwright_registry::hooks::Notes;
use http::header::USER_AGENT;
use http::request::Parts;

/// A request without its body, which is read once.
pub struct Call {
    /// Method, URI and headers.
    pub head: Parts,
    /// What the address says.
    pub info: RequestInfo,
    /// The query's parameters.
    pub query: Query,
    /// Who asks.
    pub user: Arc<User>,
    /// `Audit-ID`.
    pub audit_id: String,
    /// When it must be answered.
    pub deadline: Option<Instant>,
    /// Where notes for an audit go.
    pub trail: Option<Arc<Trail>>,
    /// Texts for Warning headers, whatever the answer.
    pub warnings: Warnings,
    /// What validation warns of, whatever comes of it.
    pub(crate) notes: Notes,
}

impl Call {
    /// Splits a request.
    pub(crate) fn of(request: Request) -> (Self, RequestBody) {
        let query = Query::parse(request.query());
        let call = Self {
            head: request.head,
            info: request.info,
            query,
            user: request.user,
            audit_id: request.audit_id,
            deadline: request.deadline,
            trail: request.trail,
            warnings: Warnings::default(),
            notes: Notes::default(),
        };
        (call, request.body)
    }

    /// Who asks, as the registry knows writers.
    pub fn writer(&self) -> Writer {
        let User { name, uid, groups, extra } = User::clone(&self.user);
        Writer { name, uid, groups, extra }
    }

    /// The User-Agent header's text.
    pub(crate) fn user_agent(&self) -> &str {
        self.head.headers.get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}
