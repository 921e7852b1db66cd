//! Levels, versions and the labels that name them.

use apiwright_meta::field::quoted;
use apiwright_meta::{ErrorList, Path};

/// A Pod Security Standard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    #[default]
    Privileged,
    Baseline,
    Restricted,
}

/// The release whose standard it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Version {
    #[default]
    Latest,
    /// `v1.<minor>`
    Minor(u32),
}

/// A standard of a release.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Standard {
    pub(crate) level: Level,
    pub(crate) version: Version,
}

/// What a namespace asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Policy {
    /// What pods must keep to.
    pub(crate) enforce: Standard,
    /// What audits note.
    pub(crate) audit: Standard,
    /// What writers are warned about.
    pub(crate) warn: Standard,
}

impl Policy {
    /// Of a namespace's labels, and what is wrong with them.
    pub(crate) fn of<'a>(label: impl Fn(&str) -> Option<&'a str>) -> (Self, ErrorList) {
        let mut errors = ErrorList::new();
        let mut standard = |mode: &str| {
            let key = |suffix: &str| format!("pod-security.kubernetes.io/{mode}{suffix}");
            let mut standard = Standard::default();
            let level = label(&key(""));
            if let Some(text) = level {
                standard.level = Level::parse(text).unwrap_or_else(|| {
                    let why = "must be one of privileged, baseline, restricted";
                    errors.invalid(path(&key("")), quoted(text), why);
                    Level::Restricted
                });
            }
            if let Some(text) = label(&key("-version")) {
                standard.version = Version::parse(text).unwrap_or_else(|| {
                    errors.invalid(path(&key("-version")), quoted(text), "must be \"latest\" or \"v1.x\"");
                    Version::Latest
                });
            }
            (standard, level.is_some())
        };
        let (enforce, enforced) = standard("enforce");
        let (audit, _) = standard("audit");
        let (mut warn, warned) = standard("warn");
        if enforced && !warned && enforce.level > warn.level {
            warn = enforce;
        }
        (Self { enforce, audit, warn }, errors)
    }

    /// Whether nothing is asked for.
    pub(crate) fn is_privileged(&self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|standard| standard.level == Level::Privileged)
    }
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let minor = text.strip_prefix("v1.")?;
        let plain =
            minor == "0" || (!minor.starts_with('0') && minor.bytes().all(|byte| byte.is_ascii_digit()));
        plain.then(|| minor.parse().ok()).flatten().map(Self::Minor)
    }

    /// Whether it is this minor release or a later one.
    pub(crate) fn has(self, minor: u32) -> bool {
        match self {
            Self::Latest => true,
            Self::Minor(own) => own >= minor,
        }
    }
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        [Self::Privileged, Self::Baseline, Self::Restricted].into_iter().find(|level| level.as_str() == text)
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        }
    }
}

/// `restricted:latest`
impl std::fmt::Display for Standard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.version {
            Version::Latest => write!(f, "{}:latest", self.level.as_str()),
            Version::Minor(minor) => write!(f, "{}:v1.{minor}", self.level.as_str()),
        }
    }
}

fn path(label: &str) -> Path {
    Path::new("metadata").child("labels").key(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_name_standards() {
        for (labels, enforce, warn, faults) in [
            (&[][..], "privileged:latest", "privileged:latest", ""),
            (&[("enforce", "baseline")], "baseline:latest", "baseline:latest", ""),
            (&[("enforce", "baseline"), ("warn", "privileged")], "baseline:latest", "privileged:latest", ""),
            (
                &[("enforce", "restricted"), ("enforce-version", "v1.24")],
                "restricted:v1.24",
                "restricted:v1.24",
                "",
            ),
            (
                &[("enforce", "strict")],
                "restricted:latest",
                "restricted:latest",
                "metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: \"strict\": must be one of privileged, baseline, restricted",
            ),
            (
                &[("warn-version", "1.24")],
                "privileged:latest",
                "privileged:latest",
                "metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: \"1.24\": must be \"latest\" or \"v1.x\"",
            ),
        ] {
            let label = |key: &str| {
                let mode = key.strip_prefix("pod-security.kubernetes.io/")?;
                labels.iter().find(|(name, _)| *name == mode).map(|(_, value)| *value)
            };
            let (policy, errors) = Policy::of(label);
            assert_eq!((policy.enforce.to_string(), policy.warn.to_string()), (enforce.into(), warn.into()));
            let faulty = if errors.is_empty() { String::new() } else { errors.aggregate() };
            assert_eq!(faulty, faults);
        }
    }
}
