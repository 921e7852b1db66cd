//! What an expression may name: variables, their types, and types it may make objects of.

use std::collections::HashMap;
use std::sync::Arc;

use crate::check;
use crate::cost;
use crate::decl::{Decl, Object, Shape};
use crate::error::Issues;
use crate::parse;
use crate::plan::{self, Program};
use crate::types::{self, Type};

/// A variable.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Its name.
    pub name: Arc<str>,
    /// Its type.
    pub ty: Type,
    /// What is known of its size, for estimates.
    pub decl: Option<Arc<Decl>>,
}

/// What expressions of one kind may name.
#[derive(Clone, Debug, Default)]
pub struct Env {
    variables: Vec<Declared>,
    structs: HashMap<Arc<str>, Arc<Object>>,
    /// Whether `Object` and whatever begins with `Object.` are types that may be made.
    mutations: bool,
}

impl Env {
    /// Without variables.
    pub fn new() -> Self {
        Self::default()
    }

    /// With one more variable; their order is that of the values that a program is evaluated on.
    #[must_use]
    pub fn with(mut self, name: &str, ty: Type, decl: Option<Arc<Decl>>) -> Self {
        self.variables.push(Declared { name: name.into(), ty, decl });
        self
    }

    /// With a variable of a declared kind.
    #[must_use]
    pub fn with_decl(self, name: &str, decl: &Arc<Decl>) -> Self {
        self.with(name, decl.ty.clone(), Some(Arc::clone(decl)))
    }

    /// With the types that mutations make.
    #[must_use]
    pub fn with_mutations(mut self) -> Self {
        self.mutations = true;
        let patch = Decl::object(
            "JSONPatch",
            vec![
                ("op", Decl::string()),
                ("path", Decl::string()),
                ("from", Decl::string()),
                ("value", Decl::dynamic()),
            ],
        );
        if let Shape::Object(object) = &patch.shape {
            self.structs.insert("JSONPatch".into(), Arc::clone(object));
        }
        self
    }

    /// Compiles a text.
    ///
    /// # Errors
    /// With all its faults.
    pub fn compile(&self, source: &str) -> Result<Program, Issues> {
        parse::with_stack(source, || {
            let ast = parse::parse(source)?;
            let checked = check::check(self, source, &ast)?;
            let estimate = cost::estimate(self, &ast, &checked);
            Ok(plan::plan(self, &ast, &checked, estimate))
        })
    }

    pub(crate) fn variables(&self) -> &[Declared] {
        &self.variables
    }

    /// The place of a variable among all.
    pub(crate) fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().rposition(|one| *one.name == *name)
    }

    /// The type whose objects a name makes.
    pub(crate) fn made_type(&self, name: &str) -> Option<Type> {
        if let Some(object) = self.structs.get(name) {
            return Some(Type::Struct(Arc::clone(object)));
        }
        if self.mutations && (name == "Object" || name.starts_with("Object.")) {
            let object = Object { name: name.to_owned(), open: true, fields: HashMap::new() };
            return Some(Type::Struct(Arc::new(object)));
        }
        None
    }

    /// The type that a name alone is, as in `type(x) == int`.
    pub(crate) fn named_type(&self, name: &str) -> Option<Type> {
        Some(match name {
            "bool" => Type::Bool,
            "bytes" => Type::Bytes,
            "double" => Type::Double,
            "int" => Type::Int,
            "uint" => Type::Uint,
            "string" => Type::String,
            "list" => Type::list(Type::Dyn),
            "map" => Type::map(Type::Dyn, Type::Dyn),
            "null_type" => Type::Null,
            "type" => Type::Type(None),
            "dyn" => Type::Dyn,
            "optional_type" => Type::optional(Type::Dyn),
            "google.protobuf.Timestamp" => Type::Timestamp,
            "google.protobuf.Duration" => Type::Duration,
            "net.IP" => types::IP,
            "net.CIDR" => types::CIDR,
            name => return self.made_type(name),
        })
    }
}
