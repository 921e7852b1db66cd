//! One call of one webhook, up to its answer.

use std::time::{Duration, Instant};

use apiwright_admission::Attributes;
use apiwright_admission::matching::Matched;
use apiwright_meta::Status;
use tracing::warn;

use crate::answer::{Answer, Fault};
use crate::client::{Failure, quoted};
use crate::hook::Hook;
use crate::review::{self, Objects};

/// Why a request does not get past a webhook.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// It could not be asked, or gave no proper answer: its failure policy says what that means.
    Unanswered(String),
    /// This, whatever its policy.
    Refused(Box<Status>),
}

/// Asks a webhook. Its warnings go to the request; whether it allows is for the caller to see.
///
/// # Errors
/// Where there is no proper answer.
pub(crate) async fn ask(
    hook: &Hook,
    request: &Attributes<'_>,
    matched: Matched<'_>,
    objects: Objects<'_>,
    mutating: bool,
) -> Result<Answer, Refusal> {
    if request.dry_run && !hook.is_harmless {
        let why = format!("admission webhook {} does not support dry run", quoted(&hook.name));
        return Err(Refusal::Refused(Status::bad_request(why)));
    }
    let Some(version) = hook.review else {
        let why = "webhook does not accept known AdmissionReview versions (v1, v1beta1)";
        return Err(Refusal::Unanswered(format!("could not create admission objects: {why}")));
    };
    let uid = uuid::Uuid::new_v4().to_string();
    let review = review::write(version, &uid, request, matched, objects);
    let called = hook.client.post(review, time_left(hook, request)).await;
    let answer = called.map_err(|failure| {
        Refusal::Unanswered(match failure {
            Failure::Client(why) => format!("could not get REST client: {why}"),
            Failure::Call(why) => format!("failed to call webhook: {why}"),
        })
    })?;
    let answer = Answer::read(version, &uid, mutating, &answer).map_err(|fault| {
        Refusal::Unanswered(match fault {
            Fault::Unreadable(why) => format!("failed to call webhook: {why}"),
            Fault::Invalid(why) => format!("received invalid webhook response: {why}"),
        })
    })?;
    answer.warnings.iter().for_each(|text| request.warnings.add(text.as_str()));
    for (key, value) in &answer.annotations {
        request.annotations.add(format!("{}/{key}", hook.name), || value.clone());
    }
    Ok(answer)
}

/// What a refusal means: the request's refusal, or nothing where the webhook may be out of reach.
/// `place` is the key under which audits note that it was.
pub(crate) fn decide(
    hook: &Hook,
    request: &Attributes<'_>,
    refusal: Refusal,
    place: &str,
) -> Result<(), Box<Status>> {
    let why = match refusal {
        Refusal::Refused(status) => return Err(status),
        Refusal::Unanswered(why) => format!("failed calling webhook {}: {why}", quoted(&hook.name)),
    };
    if !hook.ignores_failures {
        return Err(Status::internal(why));
    }
    warn!(hook = hook.name, why, "a webhook failed; its policy is to go on without it");
    request.annotations.add(place, || hook.name.clone());
    match request.deadline {
        Some(deadline) if deadline <= Instant::now() => {
            Err(Status::timeout("request did not complete within requested timeout", 0))
        }
        _ => Ok(()),
    }
}

/// The time that a webhook has, and no more than the request has.
fn time_left(hook: &Hook, request: &Attributes<'_>) -> Duration {
    let left = request.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    left.map_or(hook.timeout, |left| left.min(hook.timeout))
}
