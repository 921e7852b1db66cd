//! All filters in the order in which a request passes them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use apiwright_audit::Audit;
use apiwright_auth::Authentication;
use apiwright_chain::request::RequestBody;
use apiwright_chain::{Authorizer, Delegate, Drain, Peer, Request, Response, Upload, respond};
use hyper::body::Incoming;

use crate::impersonation::Impersonation;
use crate::in_flight::InFlight;
use crate::{
    Cors, Flows, Metrics, access_log, audit, audit_id, authentication, authorization, cache_control,
    deadline, drain, flow, head_method, malformed_path, panic_recovery, request_info, write,
};

/// What the filters need to know.
pub struct Config {
    /// Tells who asks.
    pub authentication: Arc<Authentication>,
    /// Tells whether they may.
    pub authorizer: Arc<dyn Authorizer>,
    /// Tells which flow a request is of, and shares the seats among them.
    pub flows: Arc<Flows>,
    /// Whether [`Config::flows`] decides who waits; the two limits do otherwise.
    pub fairness: bool,
    /// Counts.
    pub metrics: Arc<Metrics>,
    /// Web pages from elsewhere that may call.
    pub cors: Option<Cors>,
    /// What a request may take that does not say.
    pub request_timeout: Duration,
    /// How many reads may be under way; 0 for any number.
    pub reads_in_flight_max: usize,
    /// How many writes may be under way; 0 for any number.
    pub writes_in_flight_max: usize,
    /// Wants to know of requests.
    pub audit: Option<Arc<Audit>>,
    /// Ends watches.
    pub drain: Drain,
}

/// The filters, and the chain behind them.
pub struct Stack {
    config: Config,
    in_flight: InFlight,
    impersonation: Impersonation,
    head: Arc<dyn Delegate>,
}

/// What comes over the wire, and from whom.
struct Arrival {
    request: http::Request<Incoming>,
    peer: Arc<Peer>,
    audit_id: String,
    at: Instant,
}

impl Stack {
    /// Puts the filters before a chain's head.
    pub fn new(config: Config, head: Arc<dyn Delegate>) -> Arc<Self> {
        let in_flight = InFlight::new(config.reads_in_flight_max, config.writes_in_flight_max);
        Arc::new(Self { config, in_flight, impersonation: Impersonation::default(), head })
    }

    /// Answers one request: first what holds for every answer, outermost first.
    pub async fn handle(self: Arc<Self>, request: http::Request<Incoming>, peer: Arc<Peer>) -> Response {
        // What is no path at all is answered as Go's HTTP server does, before anything else looks.
        if let Some(refused) = malformed_path::refuse(request.uri()) {
            return refused;
        }
        // Clients and logs find each other by it, so it is there whatever happens next.
        let audit_id = audit_id::of(request.headers());
        // Whoever debugs wants to see what was asked.
        let line = access_log::begin(&request);
        let head_only = request.method() == http::Method::HEAD;
        let arrival =
            Arrival { request, peer: Arc::clone(&peer), audit_id: audit_id.clone(), at: Instant::now() };
        // A bug costs the request that met it, not the server.
        let mut response = panic_recovery::guard(&audit_id, Box::pin(self.filter(arrival))).await;
        audit_id::put_on(&mut response, &audit_id);
        // HTTP/2 does not know that the answer to HEAD has no body.
        if head_only {
            head_method::without_body(&mut response);
        }
        if let Some(line) = line {
            line.end(&response, &audit_id, &peer);
        }
        response
    }

    /// What needs to know what the request is about.
    async fn filter(self: Arc<Self>, arrival: Arrival) -> Response {
        // Every decision from here on is about a verb and an object.
        let info = match request_info::read(&arrival.request) {
            Ok(info) => info,
            Err(refused) => return *refused,
        };
        let counted =
            self.config.metrics.begin(&info, arrival.request.uri().query().unwrap_or_default(), arrival.at);
        let (head, body) = arrival.request.into_parts();
        let body = RequestBody::Incoming(Upload::new(body));
        let long_running = info.is_long_running();
        // A request that nobody waits for any more is given up; watches are waited for.
        let deadline = match deadline::of(&head, long_running, arrival.at, self.config.request_timeout) {
            Ok(deadline) => deadline,
            Err(status) => {
                let mut response = respond::failure(&head, &status);
                cache_control::put_on(&mut response);
                return counted.end(response);
            }
        };
        let request = Box::new(Request {
            head,
            body,
            info,
            user: Arc::default(),
            audit_id: arrival.audit_id,
            deadline,
            remote: Some(arrival.peer.remote),
            trail: None,
        });
        let drain = self.config.drain.clone();
        let answer = self.admit(request, arrival.peer);
        let mut response = deadline::enforce(deadline, answer).await;
        // Answers depend on who asks: no cache may share them.
        cache_control::put_on(&mut response);
        // A watch would outlive any patience: the drain ends it as if it had run out.
        if long_running {
            drain::end_with(&mut response, drain);
        }
        counted.end(response)
    }

    /// Who asks, how much they ask, whether they may.
    async fn admit(self: Arc<Self>, mut request: Box<Request>, peer: Arc<Peer>) -> Response {
        // Browsers ask first whether they may ask, and carry no credentials when they do.
        let origin = match self.config.cors.as_ref().map(|cors| cors.check(&request.head)) {
            Some(Err(answered)) => return *answered,
            Some(Ok(allowed)) => allowed,
            None => None,
        };
        // Nothing goes on without a user.
        let mut response = match authentication::identify(
            &self.config.authentication,
            &mut request,
            &peer,
            &self.config.metrics,
        )
        .await
        {
            Err(refused) => {
                if let Some(audit) = &self.config.audit {
                    audit::unauthenticated(audit, &mut request, &refused);
                }
                *refused
            }
            Ok(warning) => {
                let mut response = self.audited(request).await;
                authentication::warn_on(&mut response, warning);
                response
            }
        };
        if let Some(origin) = origin {
            origin.put_on(&mut response);
        }
        response
    }

    /// What is asked is told before anything is done, what came of it when the answer is out.
    async fn audited(self: Arc<Self>, mut request: Box<Request>) -> Response {
        let Some(audit) = &self.config.audit else { return self.admit_user(request).await };
        match audit::begin(audit, &mut request) {
            Err(refused) => *refused,
            Ok(None) => self.admit_user(request).await,
            Ok(Some(audited)) => {
                let response = self.admit_user(request).await;
                audited.end(response)
            }
        }
    }

    async fn admit_user(self: Arc<Self>, mut request: Box<Request>) -> Response {
        // From here on a request is that of whom it wants to be, if its caller may.
        if let Err(refused) = self.impersonation.apply(&mut request, self.config.authorizer.as_ref()).await {
            return *refused;
        }
        let (flow, admitted) = if self.config.fairness {
            self.config.flows.admit(&request).await
        } else {
            let flow = self.config.flows.flow(&request.user, &request.info);
            (flow, self.in_flight.admit(&request.info, &request.user))
        };
        let mut response = match admitted {
            // Whoever asks too much at once is told to come back, before the work is done.
            Err(refused) => *refused,
            Ok(place) => {
                // The last filter: behind it is only what may be done.
                match authorization::ask(*request, self.config.authorizer.as_ref(), &self.config.metrics)
                    .await
                {
                    Err(refused) => *refused,
                    Ok(authorized) => {
                        // A write once begun is finished, even when its client is gone or late.
                        write::finish(Arc::clone(&self.head), authorized, place).await
                    }
                }
            }
        };
        // Which flow it was, for people who wonder why they wait.
        if let Some(flow) = flow {
            flow::put_on(&mut response, flow);
        }
        response
    }
}
