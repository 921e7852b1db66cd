//! The static token file: `token,user,uid,"group1,group2"` a line.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use apiwright_chain::User;
use futures::future::BoxFuture;
use tracing::warn;

use crate::authentication::{Known, TokenAuthenticator, authenticated};
use crate::csv;

/// Tokens that an operator wrote down.
pub struct TokenFile {
    users: HashMap<String, Arc<User>>,
    audiences: Vec<String>,
}

impl TokenFile {
    /// Reads a file of tokens for these audiences, once: changes need a restart, as with kube-apiserver.
    ///
    /// # Errors
    /// When it cannot be read, is not CSV, or has a line of fewer than three columns.
    pub fn load(path: &Path, audiences: Vec<String>) -> Result<Self, String> {
        let name = path.display();
        let text = std::fs::read_to_string(path)
            .map_err(|error| format!("cannot read the token file {name}: {error}"))?;
        Ok(Self { audiences, ..Self::parse(&text, &name.to_string())? })
    }

    fn parse(text: &str, name: &str) -> Result<Self, String> {
        let mut users = HashMap::new();
        let records = csv::parse(text).map_err(|why| format!("cannot read the token file {name}: {why}"))?;
        for (number, record) in (1..).zip(records) {
            let [token, user, uid, more @ ..] = record.as_slice() else {
                return Err(format!(
                    "token file '{name}' must have at least 3 columns (token, user name, user uid), found {}",
                    record.len()
                ));
            };
            if token.is_empty() {
                warn!(file = name, record = number, "empty token in the token file");
                continue;
            }
            let groups =
                more.first().map(|groups| groups.split(',').map(str::to_owned).collect()).unwrap_or_default();
            let user = User { name: user.clone(), uid: uid.clone(), groups, extra: Vec::new() };
            if users.insert(token.clone(), Arc::new(authenticated(user))).is_some() {
                warn!(file = name, record = number, "duplicate token in the token file; the last one counts");
            }
        }
        Ok(Self { users, audiences: Vec::new() })
    }
}

impl TokenAuthenticator for TokenFile {
    fn authenticate<'a>(
        &'a self,
        token: &'a str,
        audiences: &'a [String],
    ) -> BoxFuture<'a, Result<Option<Known>, String>> {
        // These tokens are for this server: somebody else's audience is not theirs.
        let matching: Vec<String> =
            self.audiences.iter().filter(|own| audiences.contains(own)).cloned().collect();
        let for_us = self.audiences.is_empty() || !matching.is_empty();
        let user = self.users.get(token).filter(|_| for_us).cloned();
        Box::pin(std::future::ready(Ok(user.map(|user| Known { user, audiences: matching }))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_and_groups() {
        let text = "admintoken,admin,admin-uid,\"system:masters\"\nalicetoken,alice,alice-uid,\"devs,ops\"\n\
                    bobtoken,bob,bob-uid\n,nobody,x\nbobtoken,bobby,uid2,\n";
        let file = TokenFile::parse(text, "tokens.csv").unwrap();
        for (token, name, uid, groups) in [
            ("admintoken", "admin", "admin-uid", &["system:masters", "system:authenticated"][..]),
            ("alicetoken", "alice", "alice-uid", &["devs", "ops", "system:authenticated"]),
            ("bobtoken", "bobby", "uid2", &["", "system:authenticated"]),
        ] {
            let user = &file.users[token];
            assert_eq!((user.name.as_str(), user.uid.as_str()), (name, uid));
            assert_eq!(user.groups, groups);
        }
        assert_eq!(file.users.len(), 3);
    }

    #[test]
    fn faults() {
        for (text, expected) in [
            ("a,b\n", "token file 't' must have at least 3 columns (token, user name, user uid), found 2"),
            (
                "a,b\"\n",
                "cannot read the token file t: parse error on line 1, column 4: bare \" in non-quoted-field",
            ),
        ] {
            assert_eq!(TokenFile::parse(text, "t").err().as_deref(), Some(expected));
        }
    }
}
