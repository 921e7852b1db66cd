//! Groups of Kubernetes' own (`k8s.io`, `kubernetes.io`): defining something in them needs the word of
//! those who review its API, in an annotation.

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::url::Url;

use crate::definition::Decision;

/// The annotation.
pub const ANNOTATION: &str = "api-approved.kubernetes.io";
/// The condition that tells what it says.
pub(crate) const CONDITION: &str = "KubernetesAPIApprovalPolicyConformant";

/// What the annotation of a definition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Approval {
    Missing,
    Invalid,
    /// Somebody knows that nobody approved it.
    Bypassed,
    Approved,
}

impl Approval {
    /// Of a definition, whichever its group; and in words.
    pub fn of(definition: &Value) -> (Self, String) {
        let said = object::annotation(definition, ANNOTATION).unwrap_or_default();
        let must = format!("protected groups must have approval annotation \"{ANNOTATION}\"");
        let see = "see https://github.com/kubernetes/enhancements/pull/1111";
        let is_link = || Url::parse(said).is_ok_and(|url| !url.scheme.is_empty() && !url.host.is_empty());
        if said.is_empty() {
            (Self::Missing, format!("{must}, {see}"))
        } else if said.starts_with("unapproved") {
            (Self::Bypassed, format!("not approved: {said:?}"))
        } else if is_link() {
            (Self::Approved, format!("approved in {said}"))
        } else {
            let words = "with either a URL or a reason starting with \"unapproved\"";
            (Self::Invalid, format!("{must} {words}, {see}"))
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Missing => "MissingAnnotation",
            Self::Invalid => "InvalidAnnotation",
            Self::Bypassed => "UnapprovedAnnotation",
            Self::Approved => "ApprovedAnnotation",
        }
    }
}

/// Whether a group is one of Kubernetes' own.
pub fn is_protected(group: &str) -> bool {
    ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group == *domain || group.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')))
}

/// What the condition is to be; `None` for groups that nobody protects.
pub(crate) fn decide(group: &str, definition: &Value) -> Option<Decision> {
    is_protected(group).then(|| {
        let (approval, message) = Approval::of(definition);
        let status = if approval == Approval::Approved { "True" } else { "False" };
        Decision { status, reason: approval.reason().to_owned(), message }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_annotations_say() {
        for (said, want) in [
            ("", (Approval::Missing, "False")),
            ("maybe", (Approval::Invalid, "False")),
            ("unapproved, for tests", (Approval::Bypassed, "False")),
            ("https://github.com/kubernetes/kubernetes/pull/1111", (Approval::Approved, "True")),
            ("https://", (Approval::Invalid, "False")),
        ] {
            let json = format!(r#"{{"metadata":{{"annotations":{{"{ANNOTATION}":"{said}"}}}}}}"#);
            let definition = apiwright_json::decode(json.as_bytes()).unwrap().0;
            let decided = decide("apps.k8s.io", &definition).unwrap();
            assert_eq!((Approval::of(&definition).0, decided.status), want, "{said}");
            assert_eq!(decide("apps.example.com", &definition), None);
        }
    }
}
