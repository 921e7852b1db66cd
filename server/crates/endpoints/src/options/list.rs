//! `ListOptions` and `GetOptions`.

use apiwright_chain::Query;
use apiwright_meta::fields::FieldSelector;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Path, Status};
use apiwright_registry::{Freshness, Paging, WatchOptions};

use super::{number, parse_revision, refuse, text, truth};

/// What a list, a watch or a deletion of a collection asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ListOptions {
    /// `labelSelector`
    pub(crate) labels: LabelSelector,
    /// `fieldSelector`, as it came: which fields there are is the resource's matter.
    pub(crate) fields: FieldSelector,
    /// `watch`
    pub(crate) watch: bool,
    /// `allowWatchBookmarks`
    pub(crate) bookmarks: bool,
    /// `timeoutSeconds`
    pub(crate) timeout_seconds: Option<i64>,
    resource_version: String,
    version_match: String,
    limit: i64,
    token: String,
    initial_events: Option<bool>,
}

impl ListOptions {
    /// Reads and checks. `watching` is for the legacy watch paths: it says what the path does.
    pub(crate) fn read(query: &Query) -> Result<Self> {
        let mut options = Self {
            watch: truth(query, "watch").unwrap_or_default(),
            bookmarks: truth(query, "allowWatchBookmarks").unwrap_or_default(),
            resource_version: text(query, "resourceVersion"),
            version_match: text(query, "resourceVersionMatch"),
            timeout_seconds: number(query, "timeoutSeconds")?,
            limit: number(query, "limit")?.unwrap_or_default(),
            token: text(query, "continue"),
            initial_events: truth(query, "sendInitialEvents"),
            labels: LabelSelector::parse(query.get("labelSelector").unwrap_or_default())
                .map_err(Status::bad_request)?,
            fields: FieldSelector::parse(query.get("fieldSelector").unwrap_or_default())
                .map_err(Status::bad_request)?,
        };
        options.default();
        options.check()?;
        Ok(options)
    }

    /// How far a list may lag.
    pub(crate) fn freshness(&self) -> Result<Freshness> {
        if self.continues() && !matches!(self.resource_version.as_str(), "" | "0") {
            return Err(Status::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        let freshness = freshness(&self.resource_version)
            .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
        Ok(match freshness {
            // Without a word on how to match, a limited list is of exactly that moment.
            Freshness::NotOlderThan(revision)
                if self.version_match == "Exact" || (self.version_match.is_empty() && self.limit > 0) =>
            {
                Freshness::Exact(revision)
            }
            other => other,
        })
    }

    /// The page that a list asks for. A list from any moment comes at once, whatever the limit.
    pub(crate) fn paging(&self) -> Paging {
        let limit = if self.resource_version == "0" && !self.continues() { 0 } else { self.limit };
        Paging { limit: usize::try_from(limit).unwrap_or_default(), token: self.token.clone() }
    }

    /// Where a watch begins.
    pub(crate) fn watching(&self) -> Result<WatchOptions> {
        let from = match self.resource_version.as_str() {
            "" => None,
            version => Some(parse_revision(version).map_err(Status::unclassified)?),
        };
        Ok(WatchOptions {
            from,
            initial_events: self.initial_events.unwrap_or(matches!(from, None | Some(0))),
            bookmarks: self.bookmarks,
            ..WatchOptions::default()
        })
    }

    fn continues(&self) -> bool {
        !self.token.is_empty()
    }

    /// A watch from nowhere in particular begins with what is at hand.
    fn default(&mut self) {
        let unsaid = self.initial_events.is_none() && self.version_match.is_empty();
        if self.watch && unsaid && matches!(self.resource_version.as_str(), "" | "0") {
            self.initial_events = Some(true);
            "0".clone_into(&mut self.resource_version);
            self.version_match = "NotOlderThan".into();
        }
    }

    fn check(&self) -> Result<()> {
        let mut errors = ErrorList::new();
        if self.watch {
            self.check_watch(&mut errors);
        } else {
            self.check_list(&mut errors);
        }
        refuse("ListOptions", &errors)
    }

    fn check_list(&self, errors: &mut ErrorList) {
        let path = || Path::new("resourceVersionMatch");
        if !self.version_match.is_empty() {
            if self.resource_version.is_empty() {
                errors.forbidden(
                    path(),
                    "resourceVersionMatch is forbidden unless resourceVersion is provided",
                );
            }
            if self.continues() {
                errors.forbidden(path(), "resourceVersionMatch is forbidden when continue is provided");
            }
            if !matches!(self.version_match.as_str(), "Exact" | "NotOlderThan") {
                let value = apiwright_meta::field::quoted(&self.version_match);
                errors.not_supported(path(), value, &["Exact", "NotOlderThan", ""]);
            }
            if self.version_match == "Exact" && self.resource_version == "0" {
                errors.forbidden(
                    path(),
                    "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                );
            }
        }
        if self.initial_events.is_some() {
            errors.forbidden(Path::new("sendInitialEvents"), "sendInitialEvents is forbidden for list");
        }
    }

    fn check_watch(&self, errors: &mut ErrorList) {
        let path = || Path::new("resourceVersionMatch");
        let not_older = self.version_match == "NotOlderThan";
        if self.initial_events.is_some() && !not_older {
            errors
                .forbidden(path(), "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        if self.version_match.is_empty() {
            return;
        }
        if self.initial_events.is_none() {
            errors.forbidden(
                path(),
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        if !not_older {
            let value = apiwright_meta::field::quoted(&self.version_match);
            errors.not_supported(path(), value, &["NotOlderThan"]);
        }
        if self.continues() {
            errors.forbidden(path(), "resourceVersionMatch is forbidden when continue is provided");
        }
    }
}

/// What a get asks for.
pub(crate) struct GetOptions {
    /// How far the answer may lag.
    pub(crate) freshness: Freshness,
}

impl GetOptions {
    /// Reads and checks.
    pub(crate) fn read(query: &Query) -> Result<Self> {
        if truth(query, "export") == Some(true) {
            return Err(Status::bad_request(
                "the export parameter, deprecated since v1.14, is no longer supported",
            ));
        }
        let version = query.get("resourceVersion").unwrap_or_default();
        Ok(Self { freshness: freshness(version).map_err(Status::unclassified)? })
    }
}

fn freshness(resource_version: &str) -> Result<Freshness, String> {
    Ok(match resource_version {
        "" => Freshness::Latest,
        version => match parse_revision(version)? {
            0 => Freshness::Any,
            revision => Freshness::NotOlderThan(revision),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<ListOptions> {
        ListOptions::read(&Query::parse(query))
    }

    #[test]
    fn says_how_far_a_list_may_lag() {
        let cases = [
            ("", Freshness::Latest, 0),
            ("limit=5", Freshness::Latest, 5),
            ("limit=-1", Freshness::Latest, 0),
            ("resourceVersion=0", Freshness::Any, 0),
            ("resourceVersion=0&limit=5", Freshness::Any, 0),
            ("resourceVersion=7", Freshness::NotOlderThan(7), 0),
            ("resourceVersion=7&limit=2", Freshness::Exact(7), 2),
            ("resourceVersion=7&resourceVersionMatch=Exact", Freshness::Exact(7), 0),
            ("resourceVersion=7&resourceVersionMatch=NotOlderThan&limit=2", Freshness::NotOlderThan(7), 2),
        ];
        for (query, freshness, limit) in cases {
            let options = read(query).expect(query);
            assert_eq!(options.freshness().expect(query), freshness, "{query}");
            assert_eq!(options.paging().limit, limit, "{query}");
        }
    }

    #[test]
    fn says_where_a_watch_begins() {
        let cases = [
            ("watch=1", Some(0), true, false),
            ("watch=true&resourceVersion=0", Some(0), true, false),
            ("watch=&resourceVersion=7&allowWatchBookmarks=true", Some(7), false, true),
            ("watch=1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", None, false, false),
            (
                "watch=1&sendInitialEvents=1&resourceVersionMatch=NotOlderThan&resourceVersion=9",
                Some(9),
                true,
                false,
            ),
        ];
        for (query, from, initial, bookmarks) in cases {
            let options = read(query).expect(query);
            assert!(options.watch, "{query}");
            let watching = options.watching().expect(query);
            assert_eq!(
                (watching.from, watching.initial_events, watching.bookmarks),
                (from, initial, bookmarks)
            );
        }
        // Where only the path says that it is a watch, nothing is assumed of how it begins.
        for (query, from, initial) in [
            ("", None, true),
            ("watch=false&resourceVersion=0", Some(0), true),
            ("resourceVersion=7", Some(7), false),
        ] {
            let watching = read(query).and_then(|options| options.watching()).expect(query);
            assert_eq!((watching.from, watching.initial_events), (from, initial), "{query}");
        }
        for query in ["watch=0", "watch=False", ""] {
            assert!(!read(query).expect(query).watch, "{query}");
        }
    }

    #[test]
    fn refuses() {
        let invalid = |what: &str| format!("ListOptions.meta.k8s.io \"\" is invalid: {what}");
        let cases = [
            ("limit=few", 400, "strconv.ParseInt: parsing \"few\": invalid syntax".to_owned()),
            ("limit=", 400, "strconv.ParseInt: parsing \"\": invalid syntax".to_owned()),
            (
                "limit=9223372036854775808",
                400,
                "strconv.ParseInt: parsing \"9223372036854775808\": value out of range".to_owned(),
            ),
            (
                "resourceVersionMatch=Newest",
                422,
                invalid(
                    "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Unsupported value: \"Newest\": supported values: \"Exact\", \"NotOlderThan\", \"\"]",
                ),
            ),
            (
                "resourceVersion=0&resourceVersionMatch=Exact",
                422,
                invalid(
                    "resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"",
                ),
            ),
            (
                "sendInitialEvents=true",
                422,
                invalid("sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"),
            ),
            (
                "watch=1&sendInitialEvents=true",
                422,
                invalid(
                    "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
                ),
            ),
        ];
        for (query, code, message) in cases {
            let status = read(query).expect_err(query);
            assert_eq!((status.code, &status.message), (code, &message), "{query}");
        }
        let status =
            read("resourceVersion=-1").and_then(|options| options.freshness().map(|_| ())).unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (
                400,
                "invalid resource version: resourceVersion: Invalid value: \"-1\": strconv.ParseUint: parsing \"-1\": invalid syntax"
            )
        );
    }
}
