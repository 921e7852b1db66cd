//! Requests that are over go, after a while.

use std::sync::Arc;
use std::time::Duration;

use apiwright_controllers::{Next, Result, Writer};
use apiwright_meta::status::Reason;
use apiwright_meta::time::Time;
use apiwright_registry::Store;
use apiwright_registry::store::DeleteOptions;

use super::{Stage, authority, certificate, condition, stage};
use crate::controllers::look_up;
use crate::generated::controllers::certificatesigningrequest_cleaner_controller::{
    Controller, Facts, Request as State,
};
use crate::generated::typed::certificates_v1::CertificateSigningRequest;

const DECIDED_SECONDS: i64 = 3600;
const PENDING_SECONDS: i64 = 24 * 3600;

/// Deletes.
pub(in crate::controllers) struct Cleaner {
    pub(in crate::controllers) requests: Arc<Store>,
    pub(in crate::controllers) writer: Writer,
}

impl Controller for Cleaner {
    /// How long it is kept.
    type Observed = Option<Duration>;

    async fn observe(&self, key: &str) -> Result<(Facts, Option<Duration>)> {
        let Some(value) = look_up::typed(&self.requests, "", key).await? else {
            return Ok((Facts { request: State::Absent }, None));
        };
        let left = deadline(&value).map(|moment| moment - Time::now().seconds);
        Ok(match left {
            Some(left) if left <= 0 => (Facts { request: State::Overdue }, None),
            Some(left) => {
                (Facts { request: State::Kept }, Some(Duration::from_secs(u64::try_from(left).unwrap_or(1))))
            }
            None => (Facts { request: State::Kept }, None),
        })
    }

    async fn wait(&self, _key: &str, left: Option<Duration>) -> Result<Next> {
        Ok(left.map_or(Next::Done, Next::After))
    }

    async fn delete(&self, key: &str, _left: Option<Duration>) -> Result<Next> {
        let deleted = self.writer.delete(&self.requests, ("", key), &DeleteOptions::default()).await;
        look_up::unless(deleted, Reason::NotFound).map(|()| Next::Done)
    }
}

/// When a request is over; `None` while it waits for its signer.
fn deadline(request: &CertificateSigningRequest) -> Option<i64> {
    let decided = |kind: &str| Some(condition(request, kind)?.last_update_time?.0.seconds + DECIDED_SECONDS);
    match stage(request) {
        Stage::Denied => decided("Denied"),
        Stage::Failed => decided("Failed"),
        Stage::Approved => None,
        Stage::Issued => {
            [decided("Approved"), authority::end_of(certificate(request))].into_iter().flatten().min()
        }
        Stage::Pending => Some(request.metadata.creation_timestamp?.0.seconds + PENDING_SECONDS),
    }
}

#[cfg(test)]
mod tests {
    use apiwright_registry::typed;

    use super::*;

    #[test]
    fn when_requests_are_over() {
        for (status, want) in [
            ("{}", Some(1_000 + PENDING_SECONDS)),
            (r#"{"conditions":[{"type":"Approved","lastUpdateTime":"1970-01-01T00:33:20Z"}]}"#, None),
            (
                r#"{"conditions":[{"type":"Denied","lastUpdateTime":"1970-01-01T00:33:20Z"}]}"#,
                Some(2_000 + DECIDED_SECONDS),
            ),
            (
                r#"{"certificate":"eA==","conditions":[{"type":"Approved","lastUpdateTime":"1970-01-01T00:33:20Z"}]}"#,
                Some(2_000 + DECIDED_SECONDS),
            ),
        ] {
            let text =
                format!(r#"{{"metadata":{{"creationTimestamp":"1970-01-01T00:16:40Z"}},"status":{status}}}"#);
            let request = typed::read(&apiwright_json::decode(text.as_bytes()).unwrap().0).unwrap();
            assert_eq!(deadline(&request), want, "{status}");
        }
    }
}
