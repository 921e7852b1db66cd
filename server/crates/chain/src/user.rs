//! Who asks.

/// An authenticated user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct User {
    /// The name, `system:anonymous` for nobody.
    pub name: String,
    /// A unique id, where the authenticator knows one.
    pub uid: String,
    /// Groups, `system:authenticated` or `system:unauthenticated` among them.
    pub groups: Vec<String>,
    /// What else the authenticator tells.
    pub extra: Vec<(String, Vec<String>)>,
}

impl User {
    /// Whoever did not say who they are.
    pub fn anonymous() -> Self {
        Self {
            name: "system:anonymous".into(),
            groups: vec!["system:unauthenticated".into()],
            ..Self::default()
        }
    }

    /// The server itself.
    pub fn loopback() -> Self {
        Self {
            name: "system:apiserver".into(),
            groups: vec!["system:authenticated".into(), "system:masters".into()],
            ..Self::default()
        }
    }

    /// Whether nobody knows who this is.
    pub fn is_anonymous(&self) -> bool {
        self.name == "system:anonymous" || self.in_group("system:unauthenticated")
    }

    /// Whether the user is in a group.
    pub fn in_group(&self, group: &str) -> bool {
        self.groups.iter().any(|one| one == group)
    }
}
