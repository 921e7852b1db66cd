//! `TokenReview`: whose token this is.

use std::sync::Arc;

use apiwright_auth::Authentication;
use apiwright_json::{Object, Value};
use apiwright_meta::Status;
use apiwright_meta::status::Result;

use super::{Act, Acting, Answer, BoxFuture, list, texts, user_info};

/// Reviews tokens.
pub(super) struct TokenReview {
    pub(super) authentication: Arc<Authentication>,
}

impl Act for TokenReview {
    fn act<'a>(&'a self, acting: Acting<'a>) -> BoxFuture<'a, Result<Answer>> {
        Box::pin(async move { review(&self.authentication, acting.object).await.map(Answer::Object) })
    }
}

async fn review(authentication: &Authentication, mut review: Value) -> Result<Value> {
    let token = review.text_at(&["spec", "token"]).to_owned();
    if token.is_empty() {
        return Err(Status::bad_request("token is required for TokenReview in authentication"));
    }
    let asked = list(review.at(&["spec", "audiences"]));
    let audiences = if asked.is_empty() { &authentication.audiences } else { &asked };
    let outcome = authentication.known(&token, audiences).await;
    // What the caller wrote into the status stays where the outcome says nothing of it.
    let user = review.at(&["status", "user"]).cloned().unwrap_or_else(|| Object::new().into());
    let mut status = Object::new();
    match outcome {
        Ok(known) => {
            status.push("authenticated", true);
            status.push("user", user_info(&known.user));
            if !known.audiences.is_empty() {
                status.push("audiences", texts(&known.audiences));
            }
        }
        Err(why) => {
            status.push("user", user);
            status.push("error", why);
        }
    }
    if let Some(members) = review.as_object_mut() {
        members.insert("status", status);
    }
    Ok(review)
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_auth::TokenFile;
    use apiwright_json::{decode, to_string};

    #[tokio::test]
    async fn answers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("tokens.csv");
        std::fs::write(&path, "alicetoken,alice,uid,devs\n").unwrap();
        let audiences = vec!["https://us".to_owned()];
        let authentication = Authentication {
            tokens: vec![Arc::new(TokenFile::load(&path, audiences.clone()).unwrap())],
            audiences,
            ..Authentication::default()
        };
        #[rustfmt::skip]
        let table = [
            (r#"{"token":"alicetoken"}"#, Ok(r#"{"authenticated":true,"user":{"username":"alice","uid":"uid","groups":["devs","system:authenticated"]},"audiences":["https://us"]}"#)),
            (r#"{"token":"nonsense"}"#, Ok(r#"{"user":{"username":"root"},"error":"invalid bearer token"}"#)),
            (r#"{"token":"alicetoken","audiences":["vault"]}"#, Ok(r#"{"user":{"username":"root"},"error":"invalid bearer token"}"#)),
            ("{}", Err("token is required for TokenReview in authentication")),
        ];
        for (spec, expected) in table {
            let text = format!(
                r#"{{"spec":{spec},"status":{{"authenticated":true,"user":{{"username":"root"}}}}}}"#
            );
            let (object, _) = decode(text.as_bytes()).unwrap();
            let found = review(&authentication, object).await;
            let found =
                found.map(|review| to_string(review.get("status").unwrap())).map_err(|status| status.message);
            assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{spec}");
        }
    }
}
