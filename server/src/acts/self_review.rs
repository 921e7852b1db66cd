//! `SelfSubjectReview`: who the server takes the caller for.

use apiwright_chain::User;
use apiwright_json::{Object, Value};
use apiwright_meta::object;
use apiwright_meta::status::Result;
use apiwright_meta::time;

use super::{Act, Acting, Answer, BoxFuture, ready, user_info};

/// Tells.
pub(super) struct SelfReview;

impl Act for SelfReview {
    fn act<'a>(&'a self, acting: Acting<'a>) -> BoxFuture<'a, Result<Answer>> {
        ready(Ok(review(&acting.call.user, object::api_version(&acting.object))))
    }
}

/// The answer is an object of its own: nothing of the question is kept.
fn review(user: &User, api_version: &str) -> Value {
    let mut metadata = Object::new();
    metadata.push("creationTimestamp", time::now());
    let mut status = Object::new();
    status.push("userInfo", user_info(user));
    let mut answer = Object::new();
    answer.push("kind", "SelfSubjectReview");
    answer.push("apiVersion", api_version);
    answer.push("metadata", metadata);
    answer.push("status", status);
    answer.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_json::to_string;

    #[test]
    fn what_is_known_of_the_caller() {
        let user = User {
            name: "u".into(),
            uid: "i".into(),
            groups: vec!["g".into()],
            extra: vec![("b".into(), vec!["2".into()]), ("a".into(), vec!["1".into()])],
        };
        for (user, expected) in [
            (user, r#"{"userInfo":{"username":"u","uid":"i","groups":["g"],"extra":{"a":["1"],"b":["2"]}}}"#),
            (User::default(), r#"{"userInfo":{}}"#),
        ] {
            let answer = review(&user, "authentication.k8s.io/v1");
            assert_eq!(to_string(answer.get("status").unwrap()), expected);
        }
    }
}
