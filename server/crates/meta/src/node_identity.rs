//! Who is a node: users of the group of nodes, whose names tell which.

/// The group of all nodes.
pub const NODES: &str = "system:nodes";

/// The node that a user is; an empty name where the user is a node and does not say which.
pub fn node_of<'a>(user: &'a str, groups: &[String]) -> Option<&'a str> {
    user.strip_prefix("system:node:").filter(|_| groups.iter().any(|group| group == NODES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_known_by_group_and_name() {
        for (user, groups, expected) in [
            ("system:node:n", &["system:nodes"][..], Some("n")),
            ("system:node:", &["system:nodes"], Some("")),
            ("system:node:n", &["system:authenticated"], None),
            ("n", &["system:nodes"], None),
        ] {
            let groups: Vec<String> = groups.iter().map(|&group| group.to_owned()).collect();
            assert_eq!(node_of(user, &groups), expected, "{user} {groups:?}");
        }
    }
}
