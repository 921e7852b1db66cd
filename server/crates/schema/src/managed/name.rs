//! The manager of a request that does not name one.

/// How many bytes a manager's name may have.
const MANAGER_BYTES_MAX: usize = 128;

/// What the user agent says before its first `/`, without characters that cannot be printed.
pub fn manager_of_user_agent(user_agent: &str) -> String {
    let name = user_agent.split('/').next().unwrap_or_default();
    let mut manager = String::with_capacity(name.len().min(MANAGER_BYTES_MAX));
    for c in name.chars().filter(|c| is_printable(*c)) {
        if manager.len() + c.len_utf8() > MANAGER_BYTES_MAX {
            break;
        }
        manager.push(c);
    }
    manager
}

/// Go's `unicode.IsPrint`, but for characters that Unicode has not assigned.
fn is_printable(c: char) -> bool {
    c == ' '
        || !(c.is_control()
            || c.is_whitespace()
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}'))
}

#[cfg(test)]
mod tests {
    use super::manager_of_user_agent;

    #[test]
    fn the_user_agent_up_to_the_first_slash_names_the_manager() {
        for (user_agent, manager) in [
            ("builder/v2 (linux)", "builder"),
            ("kubectl", "kubectl"),
            ("", ""),
            ("a\u{7}b\tc d/e", "abc d"),
            ("é/1", "é"),
        ] {
            assert_eq!(manager_of_user_agent(user_agent), manager, "{user_agent:?}");
        }
        assert_eq!(manager_of_user_agent(&"ü".repeat(100)).len(), 128);
    }
}
