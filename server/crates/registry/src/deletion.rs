//! What a deletion does to an object before it is gone: grace periods, finalizers, marks.
//! Pure: no storage, no clock of its own.

use apiwright_json::{Str, Value};
use apiwright_meta::status::Result;
use apiwright_meta::time::Time;
use apiwright_meta::{Status, object};

use crate::hooks::Hooks;
use crate::resource::Resource;
use crate::store::{DeleteOptions, Propagation};

/// The garbage collector's finalizers.
pub(crate) const ORPHAN: &str = "orphan";
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// How a deletion begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// It has a grace period of so many seconds, which the object now says.
    Graceful(i64),
    /// A grace period is running that the request does not shorten.
    Pending,
    /// It has none.
    Immediate,
}

/// Checks the preconditions of a deletion.
pub(crate) fn check_preconditions(
    resource: &Resource,
    object: &Value,
    options: &DeleteOptions,
) -> Result<()> {
    // Upstream names the kind here, where everything else names the resource.
    let kind =
        apiwright_meta::GroupResource { group: (*resource.group).into(), resource: (*resource.kind).into() };
    let name = object::name(object);
    let uid = object::uid(object);
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        let why = format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). \
             The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(&kind, name, why));
    }
    let version = object::resource_version(object);
    if let Some(wanted) = options.resource_version.as_deref().filter(|wanted| *wanted != version) {
        let why = format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record \
             ({version}). The object might have been modified"
        );
        return Err(Status::conflict(&kind, name, why));
    }
    Ok(())
}

/// Begins the deletion of an object, or shortens the grace period of one that is under way.
pub(crate) fn begin(
    graceful: bool,
    hooks: &dyn Hooks,
    object: &mut Value,
    options: &DeleteOptions,
    now: i64,
) -> Begin {
    let requested = options.grace_period_seconds.map(|seconds| if seconds < 0 { 1 } else { seconds });
    if !graceful {
        return Begin::Immediate;
    }
    let deletion = deletion_seconds(object);
    let Some(deletion) = deletion else {
        let seconds = hooks.grace_period(object, requested);
        mark(object, now.saturating_add(seconds), seconds);
        bump_generation(object);
        return Begin::Graceful(seconds);
    };
    let running = object::deletion_grace_period_seconds(object).unwrap_or_default();
    let running = if running < 0 { 1 } else { running };
    if running == 0 {
        return Begin::Immediate;
    }
    let Some(mut seconds) = requested.filter(|seconds| *seconds < running) else { return Begin::Pending };
    let mut end = deletion - running + seconds;
    if end < now {
        // A grace period that is over is not taken back: whoever waits for it still has a second.
        end = now;
        seconds = seconds.min(1);
    }
    mark(object, end, seconds);
    Begin::Graceful(seconds)
}

/// Marks an object without a grace period that finalizers hold.
pub(crate) fn mark_as_deleting(object: &mut Value, now: i64) {
    let deletion = deletion_seconds(object);
    if deletion.is_none() {
        bump_generation(object);
    }
    mark(object, deletion.map_or(now, |deletion| deletion.min(now)), 0);
}

/// The finalizers that an object has once the garbage collector's are as the options want them;
/// `None` where they already are.
pub(crate) fn finalizers_for(
    hooks: &dyn Hooks,
    object: &Value,
    propagation: Option<Propagation>,
) -> Option<Vec<Str>> {
    let has = |which: &str| object::finalizers(object).any(|one| one == which);
    let (orphan, foreground) = match propagation {
        Some(Propagation::Orphan) => (true, false),
        Some(Propagation::Foreground) => (false, true),
        Some(Propagation::Background) => (false, false),
        // Without a word, what was said before holds; the first of the two finalizers wins.
        None => match object::finalizers(object).find(|one| [ORPHAN, FOREGROUND].contains(one)) {
            Some(ORPHAN) => (true, false),
            Some(_) => (false, true),
            None => (hooks.orphans_by_default(), false),
        },
    };
    if (orphan, foreground) == (has(ORPHAN), has(FOREGROUND)) {
        return None;
    }
    let own = object::finalizers(object).filter(|one| ![ORPHAN, FOREGROUND].contains(one));
    let collector = [(orphan, ORPHAN), (foreground, FOREGROUND)].into_iter().filter(|(set, _)| *set);
    Some(own.chain(collector.map(|(_, name)| name)).map(Str::from).collect())
}

fn deletion_seconds(object: &Value) -> Option<i64> {
    Time::parse(object::deletion_timestamp(object)?).ok().map(|time| time.seconds)
}

fn mark(object: &mut Value, end: i64, grace_seconds: i64) {
    object::set_deletion(object, Some(&Time::from_unix(end).to_rfc3339()), Some(grace_seconds));
}

fn bump_generation(object: &mut Value) {
    let generation = object::generation(object);
    if generation > 0 {
        object::set_generation(object, generation + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::NoHooks;

    fn parsed(json: &str) -> Value {
        apiwright_json::decode(json.as_bytes()).unwrap().0
    }

    #[test]
    fn collector_finalizers() {
        for (have, propagation, want) in [
            ("[]", None, None),
            ("[\"orphan\"]", None, None),
            ("[]", Some(Propagation::Background), None),
            ("[\"a/b\"]", Some(Propagation::Foreground), Some("a/b,foregroundDeletion")),
            ("[\"orphan\",\"a/b\"]", Some(Propagation::Background), Some("a/b")),
            ("[\"foregroundDeletion\"]", Some(Propagation::Orphan), Some("orphan")),
        ] {
            let object = parsed(&format!("{{\"metadata\":{{\"finalizers\":{have}}}}}"));
            let got = finalizers_for(&NoHooks, &object, propagation);
            let got = got.map(|list| list.join(","));
            assert_eq!(got.as_deref(), want, "{have} {propagation:?}");
        }
    }

    #[test]
    fn grace_periods() {
        let scheduled = r#""spec":{"nodeName":"n","terminationGracePeriodSeconds":20}"#;
        let deleting =
            r#""metadata":{"deletionTimestamp":"1970-01-01T00:01:40Z","deletionGracePeriodSeconds":20}"#;
        for (json, requested, now, want, end) in [
            (format!("{{{scheduled}}}"), None, 100, Begin::Graceful(20), "1970-01-01T00:02:00Z"),
            (format!("{{{scheduled}}}"), Some(-5), 100, Begin::Graceful(1), "1970-01-01T00:01:41Z"),
            ("{\"spec\":{}}".to_owned(), Some(30), 100, Begin::Graceful(0), "1970-01-01T00:01:40Z"),
            (
                format!("{{{scheduled},\"status\":{{\"phase\":\"Failed\"}}}}"),
                None,
                0,
                Begin::Graceful(0),
                "1970-01-01T00:00:00Z",
            ),
            (format!("{{{scheduled},{deleting}}}"), None, 90, Begin::Pending, "1970-01-01T00:01:40Z"),
            (format!("{{{scheduled},{deleting}}}"), Some(60), 90, Begin::Pending, "1970-01-01T00:01:40Z"),
            (format!("{{{scheduled},{deleting}}}"), Some(5), 82, Begin::Graceful(5), "1970-01-01T00:01:25Z"),
            (format!("{{{scheduled},{deleting}}}"), Some(5), 99, Begin::Graceful(1), "1970-01-01T00:01:39Z"),
            (format!("{{{scheduled},{deleting}}}"), Some(0), 99, Begin::Graceful(0), "1970-01-01T00:01:39Z"),
        ] {
            let mut object = parsed(&json);
            let options = DeleteOptions { grace_period_seconds: requested, ..DeleteOptions::default() };
            assert_eq!(begin(true, &NoHooks, &mut object, &options, now), want, "{json} {requested:?}");
            assert_eq!(object::deletion_timestamp(&object).unwrap_or_default(), end, "{json} {requested:?}");
        }
    }
}
