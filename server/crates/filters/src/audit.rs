//! Tells the audit each stage of a request.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use apiwright_audit::{Audit, Ended, Event, Orders, Stage};
use apiwright_chain::respond::Answered;
use apiwright_chain::trail::Depth;
use apiwright_chain::{Body, Piece, Pieces, Request, Response, Trail, respond};
use apiwright_meta::Status;
use bytes::{Buf, BufMut, BytesMut};
use futures::Stream;
use http::header::{ACCEPT_ENCODING, CONTENT_TYPE};

/// The longest answer that an event repeats.
const RESPONSE_BYTES_MAX: usize = 64 << 20;

/// A request that is audited. Ended when its answer is out, or when it is given up.
pub(crate) struct Audited {
    audit: Arc<Audit>,
    orders: Orders,
    trail: Arc<Trail>,
    head: apiwright_audit::Head,
    is_long_running: bool,
    ended: Option<Ended>,
    is_over: bool,
}

/// Begins to audit a request whose user is known, if the policy wants that.
///
/// # Errors
/// The answer, where the request must not go on unaudited.
pub(crate) fn begin(audit: &Arc<Audit>, request: &mut Request) -> Result<Option<Audited>, Box<Response>> {
    let orders = audit.policy().orders(&request.user, &request.info);
    audit.count(orders.depth);
    let Some(depth) = orders.depth else { return Ok(None) };
    let trail = Arc::new(Trail::new(depth));
    if depth == Depth::RequestResponse {
        // The answer is repeated in the event, so it must be readable.
        request.head.headers.remove(ACCEPT_ENCODING);
    }
    request.trail = Some(Arc::clone(&trail));
    let mut audited = Audited {
        audit: Arc::clone(audit),
        orders,
        trail,
        head: apiwright_audit::Head::of(request),
        is_long_running: request.info.is_long_running(),
        ended: None,
        is_over: false,
    };
    if audited.tell(Stage::RequestReceived).is_err() {
        audited.is_over = true;
        let status = Status::internal("failed to store audit event");
        return Err(Box::new(respond::failure(&request.head, &status)));
    }
    Ok(Some(audited))
}

/// Tells of a request whose user could not be found.
pub(crate) fn unauthenticated(audit: &Arc<Audit>, request: &mut Request, response: &Response) {
    if let Ok(Some(mut audited)) = begin(audit, request) {
        audited.ended = Some(ended(response));
        let _ = audited.tell(Stage::ResponseStarted);
        audited.is_over = true;
    }
}

impl Audited {
    /// The answer; its body is followed to its end.
    pub(crate) fn end(mut self, mut response: Response) -> Response {
        self.ended = Some(ended(&response));
        if self.is_long_running {
            let _ = self.tell(Stage::ResponseStarted);
        }
        let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|mime| mime == "application/json");
        let keep = is_json && self.trail.depth == Depth::RequestResponse && !self.is_long_running;
        match response.body_mut() {
            Body::Empty => {}
            Body::Full(piece) => {
                if keep {
                    let bytes = piece.clone();
                    self.trail.response_object(|| whole(bytes));
                }
            }
            Body::Stream(stream) => {
                let stream = std::mem::replace(stream, Box::pin(futures::stream::empty()));
                let kept = keep.then(BytesMut::new);
                *response.body_mut() = Body::Stream(Box::pin(Followed { stream, kept, audited: self }));
            }
        }
        response
    }

    fn tell(&self, stage: Stage) -> Result<(), apiwright_audit::Lost> {
        let event = Event { orders: self.orders, trail: &self.trail, head: &self.head };
        self.audit.tell(&event, stage, self.ended.as_ref())
    }
}

impl Drop for Audited {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        self.is_over = true;
        let status = |code, message: &str| {
            Some(Box::new(Status { code, message: message.into(), ..Status::default() }))
        };
        if std::thread::panicking() {
            self.ended = Some(Ended { code: 500, status: status(500, "APIServer panic'd") });
            let _ = self.tell(Stage::Panic);
            return;
        }
        // Whoever asked has gone before there was an answer.
        self.ended.get_or_insert_with(|| Ended { code: 200, status: status(200, "Connection closed early") });
        let _ = self.tell(Stage::ResponseComplete);
    }
}

fn whole(mut piece: Piece) -> bytes::Bytes {
    piece.copy_to_bytes(piece.remaining())
}

fn ended(response: &Response) -> Ended {
    let status = response.extensions().get::<Answered>().map(|answered| Box::new((*answered.0).clone()));
    Ended { code: response.status().as_u16(), status }
}

/// A body on its way, with the audit that waits for its end.
struct Followed {
    stream: Pieces,
    kept: Option<BytesMut>,
    audited: Audited,
}

impl Stream for Followed {
    type Item = std::io::Result<Piece>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.stream.as_mut().poll_next(cx);
        if let (Some(kept), Poll::Ready(Some(Ok(piece)))) = (&mut self.kept, &next) {
            kept.put(piece.clone());
            if kept.len() > RESPONSE_BYTES_MAX {
                self.kept = None;
            }
        }
        if let Poll::Ready(None) = next
            && let Some(kept) = self.kept.take()
        {
            self.audited.trail.response_object(|| kept.freeze());
        }
        next
    }
}
