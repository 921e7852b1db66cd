//! etcd's keys and values as ours.

use std::borrow::Cow;
use std::sync::Arc;

use apiwright_storage::{Annex, Entry, Error, Key, Result, Revision};
use bytes::Bytes;
use etcd_client::{KeyValue, ResponseHeader};

use crate::options::Root;

/// The names of keys on both sides.
#[derive(Clone, Debug)]
pub(crate) struct Names(pub(crate) Option<Root>);

impl Names {
    /// An entry; its value is not copied.
    pub(crate) fn entry(&self, pair: KeyValue) -> Result<Arc<Entry>> {
        let (create_revision, mod_revision, version) =
            (pair.create_revision(), pair.mod_revision(), pair.version());
        let (key, value) = pair.into_key_value();
        Ok(Arc::new(Entry {
            key: self.ours(&key)?,
            value: Bytes::from(value),
            create_revision: create_revision as Revision,
            mod_revision: mod_revision as Revision,
            version: version as u64,
            annex: Annex::default(),
        }))
    }

    /// A key's name in the cluster; of a prefix, what all its keys begin with there.
    pub(crate) fn theirs<'a>(&self, key: &'a str) -> Cow<'a, str> {
        let Some(root) = &self.0 else { return key.into() };
        match key.strip_prefix(&*root.ours) {
            Some(rest) => [&*root.theirs, rest].concat().into(),
            None => key.into(),
        }
    }

    /// A key's name here. Whatever shares the cluster with us need not use text for its keys.
    pub(crate) fn ours(&self, bytes: &[u8]) -> Result<Key> {
        let Ok(key) = std::str::from_utf8(bytes) else {
            return Err(Error::Corrupt(format!("the key {} is not UTF-8", bytes.escape_ascii())));
        };
        let Some(root) = &self.0 else { return Ok(key.into()) };
        Ok(key
            .strip_prefix(&*root.theirs)
            .map_or_else(|| key.into(), |rest| [&*root.ours, rest].concat().into()))
    }
}

/// The revision of an answer.
pub(crate) fn revision(header: Option<&ResponseHeader>) -> Revision {
    header.map_or(0, |header| header.revision() as Revision)
}

/// The first key of a range, for etcd, whose empty key means something else.
pub(crate) fn start(prefix: &str, after: Option<&str>) -> Vec<u8> {
    match after {
        Some(after) if after >= prefix => [after.as_bytes(), &[0]].concat(),
        _ if prefix.is_empty() => vec![0],
        _ => prefix.into(),
    }
}

/// The key behind all keys with a prefix; a zero byte means that there is none.
pub(crate) fn end(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    while let Some(last) = end.pop() {
        if last < u8::MAX {
            end.push(last + 1);
            return end;
        }
    }
    vec![0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change_at_the_root() {
        let names = Names(Some(Root { ours: "/registry/".into(), theirs: "/blue/".into() }));
        for (ours, theirs) in
            [("/registry/pods/a", "/blue/pods/a"), ("/registry/", "/blue/"), ("/other", "/other")]
        {
            assert_eq!(names.theirs(ours), theirs);
            assert_eq!(&*names.ours(theirs.as_bytes()).unwrap(), ours);
            assert_eq!(Names(None).theirs(ours), ours);
            assert_eq!(&*Names(None).ours(ours.as_bytes()).unwrap(), ours);
        }
    }

    #[test]
    fn ranges_start_and_end() {
        for (prefix, after, want_start, want_end) in [
            ("/a/", None, "/a/", "/a0"),
            ("/a/", Some("/a/b"), "/a/b\0", "/a0"),
            ("/a/", Some("/"), "/a/", "/a0"),
            ("", None, "\0", "\0"),
            ("", Some("/z"), "/z\0", "\0"),
        ] {
            assert_eq!(start(prefix, after), want_start.as_bytes(), "{prefix} {after:?}");
            assert_eq!(end(prefix), want_end.as_bytes(), "{prefix}");
        }
    }
}
