//! LeaseCandidates.

use apiwright_json::Value;
use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path, names, object};
use apiwright_registry::Hooks;
use apiwright_registry::hooks::WriteContext;

use super::OLDEST;

const NO_VERSION: &str = "must be a valid semantic version";

/// The hooks of LeaseCandidates.
#[derive(Debug)]
pub struct LeaseCandidate;

impl Hooks for LeaseCandidate {
    fn validate_create(&self, _context: WriteContext<'_>, object: &Value, errors: &mut ErrorList) {
        let name = object::name(object);
        errors.invalid_each(&Path::new("metadata").child("name"), name, names::config_map_key(name));
        spec_faults(object, errors);
    }

    fn validate_update(
        &self,
        _context: WriteContext<'_>,
        object: &Value,
        old: &Value,
        errors: &mut ErrorList,
    ) {
        spec_faults(object, errors);
        let lease = object.text_at(&["spec", "leaseName"]);
        if lease != old.text_at(&["spec", "leaseName"]) {
            errors.invalid(Path::new("spec").child("leaseName"), quoted(lease), "field is immutable");
        }
    }
}

fn spec_faults(candidate: &Value, errors: &mut ErrorList) {
    let path = Path::new("spec");
    let text = |member: &str| candidate.text_at(&["spec", member]);
    if text("leaseName").is_empty() {
        errors.required(path.child("leaseName"), "");
    }
    let emulated = version(text("emulationVersion"));
    if !text("emulationVersion").is_empty() && emulated.is_none() {
        errors.invalid(path.child("emulationVersion"), quoted(text("emulationVersion")), NO_VERSION);
    }
    let (binary, at) = (version(text("binaryVersion")), path.child("binaryVersion"));
    match text("binaryVersion") {
        "" => errors.required(at.clone(), ""),
        wrong if binary.is_none() => errors.invalid(at.clone(), quoted(wrong), NO_VERSION),
        _ => {}
    }
    let is_older = binary.unwrap_or_default() < emulated.unwrap_or_default();
    if !text("binaryVersion").is_empty() && !text("emulationVersion").is_empty() && is_older {
        let why = "must be greater than or equal to `emulationVersion`";
        errors.invalid(at, quoted(text("binaryVersion")), why);
    }
    match text("strategy") {
        "" => errors.required(path.child("strategy"), ""),
        strategy => {
            if strategy == OLDEST && emulated.unwrap_or_default() == [0; 3] {
                let why = "must be specified when `strategy` is 'OldestEmulationVersion'";
                errors.required(path.child("emulationVersion"), why);
            }
            super::strategy_faults(strategy, &path.child("strategy"), errors);
        }
    }
}

/// The numbers of a semantic version; what is behind a dash or a plus does not count.
fn version(text: &str) -> Option<[u64; 3]> {
    let numbers = text.split(['-', '+']).next()?;
    let mut parts = numbers.split('.').map(|part| {
        let is_number =
            part.bytes().all(|byte| byte.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
        is_number.then(|| part.parse().ok())?
    });
    let version = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let table = [
            ("1.36.0", Some([1, 36, 0])),
            ("1.36.0-rc.1+x", Some([1, 36, 0])),
            ("1.36", None),
            ("1.036.0", None),
            ("", None),
        ];
        for (text, expected) in table {
            assert_eq!(version(text), expected, "{text}");
        }
    }

    #[test]
    fn faults_of_candidates() {
        let spec = r#"{"leaseName":"l","binaryVersion":"1.35.0","emulationVersion":"1.36.0","strategy":"OldestEmulationVersion"}"#;
        let table = [
            (
                spec,
                "spec.binaryVersion: Invalid value: \"1.35.0\": must be greater than or equal to `emulationVersion`",
            ),
            (
                "{}",
                "[spec.leaseName: Required value, spec.binaryVersion: Required value, spec.strategy: Required value]",
            ),
        ];
        for (spec, expected) in table {
            let candidate = apiwright_json::decode(format!(r#"{{"spec":{spec}}}"#).as_bytes()).unwrap().0;
            let mut errors = ErrorList::new();
            spec_faults(&candidate, &mut errors);
            assert_eq!(errors.aggregate(), expected, "{spec}");
        }
    }
}
