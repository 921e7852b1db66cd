//! The names that generated Rust uses.

use crate::check::index::Home;

/// `core_v1`, `rbac_authorization_v1`: the group and the version.
pub(super) fn module(home: Home<'_>) -> String {
    format!("{}_{}", group(&home.group.folder), identifier(&home.version.name))
}

/// A group as an identifier, `rbac_authorization_k8s_io`.
pub(super) fn group(folder: &str) -> String {
    identifier(folder.strip_suffix(".k8s.io").unwrap_or(folder))
}

/// `POD_SPEC` of `PodSpec`, `CSI_DRIVER` of `CSIDriver`.
pub(super) fn constant(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut constant = String::new();
    for (at, letter) in letters.iter().enumerate() {
        let starts_word = letter.is_ascii_uppercase()
            && at > 0
            && (!letters[at - 1].is_ascii_uppercase()
                || letters.get(at + 1).is_some_and(char::is_ascii_lowercase));
        if starts_word {
            constant.push('_');
        }
        constant.push(letter.to_ascii_uppercase());
    }
    identifier(&constant)
}

fn identifier(text: &str) -> String {
    let text: String = text.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect();
    if text.starts_with(|first: char| first.is_ascii_digit()) { format!("_{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_keep_abbreviations_together() {
        for (name, expected) in [
            ("PodSpec", "POD_SPEC"),
            ("CSIDriver", "CSI_DRIVER"),
            ("HTTPGetAction", "HTTP_GET_ACTION"),
            ("AWSElasticBlockStoreVolumeSource", "AWS_ELASTIC_BLOCK_STORE_VOLUME_SOURCE"),
            ("IPBlock", "IP_BLOCK"),
            ("Pod", "POD"),
            ("horizontalpodautoscalers", "HORIZONTALPODAUTOSCALERS"),
        ] {
            assert_eq!(constant(name), expected);
        }
    }
}
