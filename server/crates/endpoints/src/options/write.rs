//! `CreateOptions`, `UpdateOptions` and `PatchOptions`.

use apiwright_chain::Query;
use apiwright_json::{Object, Value};
use apiwright_meta::field::{is_print, quoted};
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, Path};
use apiwright_schema::managed::manager_of_user_agent;
use apiwright_schema::patch::FieldValidation;

use super::{check_dry_run, refuse, text, truth};

/// The longest name of a field manager, in bytes.
const FIELD_MANAGER_BYTES_MAX: usize = 128;

/// Which write the options belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// POST
    Create,
    /// PUT
    Update,
    /// PATCH with a JSON, merge or strategic merge patch.
    Patch,
    /// PATCH with an apply configuration.
    Apply,
}

/// How to write.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WriteOptions {
    kind: WriteKind,
    dry_run: Vec<String>,
    field_manager: String,
    field_validation: String,
    force: Option<bool>,
}

impl WriteOptions {
    /// Reads and checks.
    pub(crate) fn read(kind: WriteKind, query: &Query) -> Result<Self> {
        let force = match kind {
            WriteKind::Create | WriteKind::Update => None,
            WriteKind::Patch | WriteKind::Apply => truth(query, "force"),
        };
        let options = Self {
            kind,
            dry_run: query.all("dryRun").map(str::to_owned).collect(),
            field_manager: text(query, "fieldManager"),
            field_validation: text(query, "fieldValidation"),
            force,
        };
        options.check()?;
        Ok(options)
    }

    /// Whether nothing is to be stored.
    pub(crate) fn is_dry_run(&self) -> bool {
        !self.dry_run.is_empty()
    }

    /// Whether apply takes fields over from others.
    pub(crate) fn forces(&self) -> bool {
        self.force == Some(true)
    }

    /// How strict to be; a warning where the client did not say.
    pub(crate) fn field_validation(&self) -> FieldValidation {
        match self.field_validation.as_str() {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }

    /// Who owns what is written: as the client says, or the first part of its user agent.
    pub(crate) fn manager(&self, user_agent: &str) -> String {
        if !self.field_manager.is_empty() {
            return self.field_manager.clone();
        }
        manager_of_user_agent(user_agent)
    }

    /// The options as the object that admission sees, of the kind of the operation that it came to.
    pub(crate) fn to_value(&self, kind: &'static str) -> Value {
        let mut object = Object::new();
        object.push("kind", kind);
        object.push("apiVersion", "meta.k8s.io/v1");
        if self.is_dry_run() {
            object.push(
                "dryRun",
                self.dry_run.iter().map(|value| Value::from(value.as_str())).collect::<Vec<_>>(),
            );
        }
        for (name, text) in
            [("fieldManager", &self.field_manager), ("fieldValidation", &self.field_validation)]
        {
            if !text.is_empty() {
                object.push(name, text.as_str());
            }
        }
        Value::Object(object)
    }

    fn check(&self) -> Result<()> {
        let mut errors = ErrorList::new();
        match self.kind {
            WriteKind::Apply if self.field_manager.is_empty() => {
                errors.required(Path::new("fieldManager"), "is required for apply patch");
            }
            WriteKind::Patch if self.force.is_some() => {
                errors.forbidden(Path::new("force"), "may not be specified for non-apply patch");
            }
            _ => {}
        }
        self.check_field_manager(&mut errors);
        check_dry_run(&self.dry_run, &mut errors);
        if !matches!(self.field_validation.as_str(), "" | "Ignore" | "Strict" | "Warn") {
            let value = quoted(&self.field_validation);
            errors.not_supported(Path::new("fieldValidation"), value, &["", "Ignore", "Strict", "Warn"]);
        }
        let kind = match self.kind {
            WriteKind::Create => "CreateOptions",
            WriteKind::Update => "UpdateOptions",
            WriteKind::Patch | WriteKind::Apply => "PatchOptions",
        };
        refuse(kind, &errors)
    }

    fn check_field_manager(&self, errors: &mut ErrorList) {
        if self.field_manager.len() > FIELD_MANAGER_BYTES_MAX {
            errors.too_long(Path::new("fieldManager"), FIELD_MANAGER_BYTES_MAX);
        }
        for (at, c) in self.field_manager.char_indices().filter(|(_, c)| !is_print(*c)) {
            let detail = format!("invalid character U+{:04X} (at position {at})", c as u32);
            errors.invalid(Path::new("fieldManager"), quoted(&self.field_manager), &detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: WriteKind, query: &str) -> Result<WriteOptions> {
        WriteOptions::read(kind, &Query::parse(query))
    }

    #[test]
    fn refuses() {
        use WriteKind::{Apply, Create, Patch, Update};
        let long = format!("fieldManager={}", "a".repeat(129));
        let cases = [
            (
                Create,
                "dryRun=foo",
                "CreateOptions",
                "dryRun: Unsupported value: [\"foo\"]: supported values: \"All\"",
            ),
            (
                Update,
                "dryRun=All&dryRun=b",
                "UpdateOptions",
                "dryRun: Unsupported value: [\"All\",\"b\"]: supported values: \"All\"",
            ),
            (Create, &long, "CreateOptions", "fieldManager: Too long: may not be more than 128 bytes"),
            (
                Create,
                "fieldManager=a%0Ab",
                "CreateOptions",
                "fieldManager: Invalid value: \"a\\nb\": invalid character U+000A (at position 1)",
            ),
            (
                Update,
                "fieldValidation=strict",
                "UpdateOptions",
                "fieldValidation: Unsupported value: \"strict\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
            ),
            (
                Patch,
                "force=true",
                "PatchOptions",
                "force: Forbidden: may not be specified for non-apply patch",
            ),
            (Apply, "", "PatchOptions", "fieldManager: Required value: is required for apply patch"),
        ];
        for (kind, query, name, what) in cases {
            let status = read(kind, query).expect_err(query);
            assert_eq!(status.code, 422, "{query}");
            assert_eq!(status.message, format!("{name}.meta.k8s.io \"\" is invalid: {what}"));
        }
    }

    #[test]
    fn names_the_manager() {
        let long = "ü".repeat(100);
        let cases = [
            ("fieldManager=me", "kubectl/v1.36", "me"),
            ("", "kubectl/v1.36 (linux/amd64)", "kubectl"),
            ("", "a\tb", "ab"),
            ("", "", ""),
            ("", &long, &long[..128]),
        ];
        for (query, agent, expected) in cases {
            assert_eq!(read(WriteKind::Create, query).expect(query).manager(agent), expected);
        }
    }

    #[test]
    fn is_an_object_for_admission() {
        let options = read(WriteKind::Apply, "dryRun=All&fieldManager=me&force=perhaps").expect("valid");
        let expected =
            r#"{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","dryRun":["All"],"fieldManager":"me"}"#;
        assert_eq!(apiwright_json::to_string(&options.to_value("UpdateOptions")), expected);
        assert!(options.is_dry_run() && options.forces());
        assert_eq!(options.field_validation(), FieldValidation::Warn);
    }
}
