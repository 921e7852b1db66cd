//! Where a walk is: a list on the stack that costs nothing until an error needs its text.

use apiwright_meta::Path;

use crate::Struct;

/// A step of the way from the root.
#[derive(Clone, Copy)]
pub(crate) struct Trail<'a> {
    up: Option<&'a Trail<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root,
    Field(&'a Struct, &'a str),
    Key(&'a str),
    Index(usize),
}

impl<'a> Trail<'a> {
    /// The object itself.
    pub(crate) const ROOT: Self = Self { up: None, step: Step::Root };

    /// A field of a struct.
    pub(crate) fn field(&'a self, owner: &'a Struct, name: &'a str) -> Self {
        Self { up: Some(self), step: Step::Field(owner, name) }
    }

    /// An entry of a map.
    pub(crate) fn key(&'a self, key: &'a str) -> Self {
        Self { up: Some(self), step: Step::Key(key) }
    }

    /// An item of a list.
    pub(crate) fn index(&'a self, at: usize) -> Self {
        Self { up: Some(self), step: Step::Index(at) }
    }

    /// Whether this is the object itself.
    pub(crate) fn is_root(&self) -> bool {
        self.up.is_none()
    }

    /// Whether the way begins with an entry of a map.
    pub(crate) fn begins_with_key(&self) -> bool {
        match self.up {
            Some(up) if up.is_root() => matches!(self.step, Step::Key(_)),
            Some(up) => up.begins_with_key(),
            None => false,
        }
    }

    /// The path that strict errors show: `spec.ports[0].name`.
    pub(crate) fn path(&self) -> String {
        let mut out = String::new();
        self.write_path(&mut out);
        out
    }

    /// The path that validation shows, below a root: `spec.ports[0].name`, `metadata.labels[a/b]`.
    pub(crate) fn field_path(&self, root: &Path) -> Path {
        let Some(up) = self.up else { return root.clone() };
        let path = up.field_path(root);
        match self.step {
            Step::Root => path,
            Step::Field(_, name) => path.child(name),
            Step::Key(key) => path.key(key),
            Step::Index(at) => path.index(at),
        }
    }

    fn write_path(&self, out: &mut String) {
        if let Some(up) = self.up {
            up.write_path(out);
        }
        match self.step {
            Step::Root => {}
            Step::Field(_, name) | Step::Key(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Index(at) => {
                out.push('[');
                out.push_str(&at.to_string());
                out.push(']');
            }
        }
    }

    /// The path that type errors show, fields only, and the struct that the last one belongs to.
    pub(crate) fn fields(&self) -> Option<(&'a Struct, String)> {
        let (mut owner, mut names) = (None, Vec::new());
        let mut at = Some(self);
        while let Some(trail) = at {
            if let Step::Field(of, name) = trail.step {
                owner = owner.or(Some(of));
                names.push(name);
            }
            at = trail.up;
        }
        names.reverse();
        owner.map(|owner| (owner, names.join(".")))
    }
}
