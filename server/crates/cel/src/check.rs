//! Gives every node a type and every call its overloads, or says what is wrong (upstream: cel-go's `checker`).

use std::sync::Arc;

use crate::ast::{Ast, Entry, Fold, Id, Literal, Node, StructField};
use crate::env::Env;
use crate::error::{Issue, Issues};
use crate::functions::{self, Function};
use crate::library::literals;
use crate::types::Type;
use crate::unify::{Mapping, most_general};

/// What a check found out.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) types: Vec<Type>,
    pub(crate) meanings: Vec<Meaning>,
}

/// What a node stands for, beyond what it says.
#[derive(Clone, Debug, Default)]
pub(crate) enum Meaning {
    /// What it says.
    #[default]
    Plain,
    /// A variable of the environment.
    Variable(usize),
    /// A variable of a walk.
    Local,
    /// A type.
    TypeName(Type),
    /// A call of a function: with these of its overloads, and whether what it is called on is part of its name.
    Call { function: &'static Function, overloads: Vec<usize>, qualified: bool },
    /// `a.?b`
    OptionalField(Arc<str>),
}

/// Checks an expression.
pub(crate) fn check(env: &Env, source: &str, ast: &Ast) -> Result<Checked, Issues> {
    let nodes = ast.nodes.len();
    let mut checker = Checker {
        env,
        ast,
        mapping: Mapping::default(),
        types: vec![Type::Error; nodes],
        meanings: vec![Meaning::Plain; nodes],
        scopes: Vec::new(),
        issues: Vec::new(),
    };
    checker.check(ast.root);
    if !checker.issues.is_empty() {
        return Err(Issues::new(source, checker.issues));
    }
    let types = checker.types.iter().map(|ty| checker.mapping.substitute(ty, true)).collect();
    let checked = Checked { types, meanings: checker.meanings };
    let issues = literals::check(ast, &checked);
    if issues.is_empty() { Ok(checked) } else { Err(Issues::new(source, issues)) }
}

struct Checker<'a> {
    env: &'a Env,
    ast: &'a Ast,
    mapping: Mapping,
    types: Vec<Type>,
    meanings: Vec<Meaning>,
    /// The variables of walks, innermost last.
    scopes: Vec<(Arc<str>, Type)>,
    issues: Vec<Issue>,
}

impl Checker<'_> {
    fn fault(&mut self, id: Id, message: String) {
        self.fault_at(self.ast.offsets[id as usize], message);
    }

    fn fault_at(&mut self, offset: u32, message: String) {
        let (line, column) = self.ast.position(offset);
        self.issues.push(Issue { line, column, message });
    }

    fn ty(&self, id: Id) -> Type {
        self.types[id as usize].clone()
    }

    /// The type of a node as far as it is known now.
    fn known(&self, id: Id) -> Type {
        self.mapping.substitute(&self.types[id as usize], false)
    }

    fn check(&mut self, id: Id) {
        let ast = self.ast;
        let ty = match ast.node(id) {
            Node::Fault => Type::Error,
            Node::Literal(literal) => of_literal(literal),
            Node::Ident(name) => self.ident(id, name),
            Node::Select { operand, field, test } => self.select(id, *operand, field, *test),
            Node::Call { function, target, args } => self.call(id, function, *target, args),
            Node::List { items, optional } => self.list(items, optional),
            Node::Map(entries) => self.map(entries),
            Node::Struct { name, fields } => self.made(id, name, fields),
            Node::Fold(fold) => self.fold(fold),
        };
        self.types[id as usize] = ty;
    }

    /// What a name stands for: the innermost variable, or a type.
    fn resolve(&self, name: &str) -> Option<(Type, Meaning)> {
        if let Some((_, ty)) = self.scopes.iter().rev().find(|(known, _)| **known == *name) {
            return Some((ty.clone(), Meaning::Local));
        }
        self.resolve_global(name)
    }

    fn resolve_global(&self, name: &str) -> Option<(Type, Meaning)> {
        if let Some(at) = self.env.variable(name) {
            return Some((self.env.variables()[at].ty.clone(), Meaning::Variable(at)));
        }
        let ty = self.env.named_type(name)?;
        Some((Type::of(ty.clone()), Meaning::TypeName(ty)))
    }

    fn ident(&mut self, id: Id, name: &str) -> Type {
        let name = name.strip_prefix('.').unwrap_or(name);
        if let Some((ty, meaning)) = self.resolve(name) {
            self.meanings[id as usize] = meaning;
            return ty;
        }
        self.fault(id, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }

    /// `a.b.c`, where a node is written so.
    fn qualified_name(&self, id: Id) -> Option<String> {
        let mut parts = Vec::new();
        let mut at = id;
        loop {
            match self.ast.node(at) {
                Node::Select { operand, field, test: false } => {
                    parts.push(&**field);
                    at = *operand;
                }
                Node::Ident(name) => {
                    // A variable of a walk hides what a longer name could mean.
                    if self.scopes.iter().any(|(known, _)| known == name) {
                        return None;
                    }
                    parts.push(name.strip_prefix('.').unwrap_or(name));
                    parts.reverse();
                    return Some(parts.join("."));
                }
                _ => return None,
            }
        }
    }

    fn select(&mut self, id: Id, operand: Id, field: &str, test: bool) -> Type {
        if !test
            && let Some(name) = self.qualified_name(id)
            && let Some((ty, meaning)) = self.resolve_global(&name)
        {
            self.meanings[id as usize] = meaning;
            return ty;
        }
        let ty = self.field(id, operand, field, false);
        if test { Type::Bool } else { self.mapping.substitute(&ty, false) }
    }

    fn field(&mut self, id: Id, operand: Id, field: &str, optional: bool) -> Type {
        self.check(operand);
        let of = self.known(operand);
        let (target, was_optional) = match &of {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let ty = match &target {
            Type::Map(pair) => pair.1.clone(),
            Type::Struct(object) if object.open => Type::Dyn,
            Type::Struct(object) => match object.fields.get(field) {
                Some(field) => field.decl.ty.clone(),
                None => {
                    self.fault(id, format!("undefined field '{field}'"));
                    Type::Error
                }
            },
            Type::Named(_) => {
                self.fault(id, format!("undefined field '{field}'"));
                Type::Error
            }
            Type::Param(_) => {
                self.mapping.assignable(&Type::Dyn, &target);
                Type::Dyn
            }
            Type::Dyn | Type::Error => Type::Dyn,
            other => {
                self.fault(id, format!("type '{other}' does not support field selection"));
                Type::Dyn
            }
        };
        if was_optional || optional { Type::optional(ty) } else { ty }
    }

    fn call(&mut self, id: Id, name: &str, target: Option<Id>, args: &[Id]) -> Type {
        if name == "_?._" {
            return self.optional_field(id, args);
        }
        for arg in args {
            self.check(*arg);
        }
        let Some(target) = target else {
            let name = name.strip_prefix('.').unwrap_or(name);
            return match functions::find(name) {
                Some(function) => self.overloads(id, function, None, args, false),
                None => self.undeclared(id, name),
            };
        };
        if let Some(qualifier) = self.qualified_name(target)
            && let Some(function) = functions::find(&format!("{qualifier}.{name}"))
        {
            return self.overloads(id, function, None, args, true);
        }
        self.check(target);
        match functions::find(name) {
            Some(function) => self.overloads(id, function, Some(target), args, false),
            None => self.undeclared(id, name),
        }
    }

    fn undeclared(&mut self, id: Id, name: &str) -> Type {
        self.fault(id, format!("undeclared reference to '{name}' (in container '')"));
        Type::Error
    }

    fn optional_field(&mut self, id: Id, args: &[Id]) -> Type {
        let [operand, field] = args else {
            let why = format!(
                "unsupported optional field selection: incorrect signature. argument count: {}",
                args.len()
            );
            self.fault(id, why);
            return Type::Error;
        };
        let Node::Literal(Literal::String(name)) = self.ast.node(*field) else {
            self.fault(*field, "unsupported optional field selection: not a field".to_owned());
            return Type::Error;
        };
        let ty = self.field(id, *operand, name, true);
        self.types[*field as usize] = Type::String;
        self.meanings[id as usize] = Meaning::OptionalField(Arc::clone(name));
        self.mapping.substitute(&ty, false)
    }

    fn overloads(
        &mut self,
        id: Id,
        function: &'static Function,
        target: Option<Id>,
        args: &[Id],
        qualified: bool,
    ) -> Type {
        let given: Vec<Type> = target.iter().chain(args).map(|arg| self.ty(*arg)).collect();
        if matches!(function.name, "_&&_" | "_||_") {
            let mut fits = true;
            for (arg, ty) in args.iter().zip(&given) {
                if !self.mapping.assignable(ty, &Type::Bool) {
                    self.fault(
                        *arg,
                        format!("expected type 'bool' but found '{}'", self.mapping.substitute(ty, false)),
                    );
                    fits = false;
                }
            }
            self.meanings[id as usize] = Meaning::Call { function, overloads: vec![0], qualified };
            return if fits { Type::Bool } else { Type::Error };
        }
        let mut result: Option<Type> = None;
        let mut fitting = Vec::new();
        for (at, overload) in function.overloads.iter().enumerate() {
            if overload.member != target.is_some() || overload.args.len() != given.len() {
                continue;
            }
            let mut fresh = Vec::new();
            let wanted: Vec<Type> =
                overload.args.iter().map(|ty| self.mapping.instance(ty, &mut fresh)).collect();
            let returned = self.mapping.instance(&overload.result, &mut fresh);
            let pairs: Vec<(&Type, &Type)> = given.iter().zip(&wanted).collect();
            if !self.mapping.all_assignable(&pairs) {
                continue;
            }
            fitting.push(at);
            let returned = self.mapping.substitute(&returned, false);
            result = Some(match result {
                None => returned,
                Some(before) if before.is_dyn() || before == returned => before,
                Some(_) => Type::Dyn,
            });
        }
        let Some(result) = result else {
            let mut words: Vec<String> =
                given.iter().map(|ty| self.mapping.substitute(ty, true).to_string()).collect();
            let on = if target.is_some() { format!("{}.", words.remove(0)) } else { String::new() };
            let why = format!(
                "found no matching overload for '{}' applied to '{on}({})'",
                function.name,
                words.join(", ")
            );
            self.fault(id, why);
            return Type::Error;
        };
        self.meanings[id as usize] = Meaning::Call { function, overloads: fitting, qualified };
        result
    }

    fn list(&mut self, items: &[Id], optional: &[usize]) -> Type {
        let mut of: Option<Type> = None;
        for (at, item) in items.iter().enumerate() {
            self.check(*item);
            let ty = self.unwrapped(*item, optional.contains(&at));
            of = Some(self.join(of, ty));
        }
        let of = of.unwrap_or_else(|| self.mapping.fresh());
        Type::list(of)
    }

    /// The type of an item, without the optional that an optional one must be.
    fn unwrapped(&mut self, id: Id, optional: bool) -> Type {
        let ty = self.ty(id);
        if !optional {
            return ty;
        }
        match ty {
            Type::Optional(inner) => (*inner).clone(),
            Type::Dyn => Type::Dyn,
            other => {
                self.fault(id, format!("expected type 'optional_type({other})' but found '{other}'"));
                other
            }
        }
    }

    /// The type of two items together; that they should have one is seen when all else is well.
    fn join(&mut self, before: Option<Type>, ty: Type) -> Type {
        match before {
            None => ty,
            Some(before) if self.mapping.assignable(&before, &ty) => most_general(&before, &ty),
            Some(_) => Type::Dyn,
        }
    }

    fn map(&mut self, entries: &[Entry]) -> Type {
        let (mut keys, mut values) = (None, None);
        for entry in entries {
            self.check(entry.key);
            let key = self.ty(entry.key);
            keys = Some(self.join(keys, key));
            self.check(entry.value);
            let value = self.unwrapped(entry.value, entry.optional);
            values = Some(self.join(values, value));
        }
        match (keys, values) {
            (Some(key), Some(value)) => Type::map(key, value),
            _ => Type::map(self.mapping.fresh(), self.mapping.fresh()),
        }
    }

    fn made(&mut self, id: Id, name: &str, fields: &[StructField]) -> Type {
        let name = name.strip_prefix('.').unwrap_or(name);
        let Some(ty) = self.env.made_type(name) else {
            match self.env.named_type(name) {
                Some(_) => self.fault(id, format!("'{name}' is not a message type")),
                None => self.fault(id, format!("undeclared reference to '{name}' (in container '')")),
            }
            return Type::Error;
        };
        let Type::Struct(object) = &ty else { return Type::Error };
        for field in fields {
            self.check(field.value);
            // A field that is not declared has no type, to which nothing fits.
            let wanted = match object.fields.get(&*field.name) {
                Some(declared) => Some(declared.decl.ty.clone()),
                None if object.open => Some(Type::Dyn),
                None => None,
            };
            let given = self.unwrapped(field.value, field.optional);
            let fits = wanted.as_ref().is_some_and(|wanted| self.mapping.assignable(wanted, &given));
            if !fits {
                let wanted = wanted.map(|wanted| wanted.to_string()).unwrap_or_default();
                let why = format!(
                    "expected type of field '{}' is '{wanted}' but provided type is '{given}'",
                    field.name
                );
                self.fault_at(field.offset, why);
            }
        }
        ty
    }

    fn fold(&mut self, fold: &Fold) -> Type {
        self.check(fold.range);
        self.check(fold.init);
        let range = self.known(fold.range);
        let accu = self.ty(fold.init);
        let depth = self.scopes.len();
        self.scopes.push((Arc::clone(&fold.accu), accu.clone()));
        let two = fold.var2.is_some();
        let (var, var2) = match &range {
            Type::List(item) if two => (Type::Int, (**item).clone()),
            Type::List(item) => ((**item).clone(), Type::Dyn),
            Type::Map(pair) => (pair.0.clone(), pair.1.clone()),
            Type::Dyn | Type::Error | Type::Param(_) => {
                self.mapping.assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let why = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.fault(fold.range, why);
                (Type::Error, Type::Error)
            }
        };
        self.scopes.push((Arc::clone(&fold.var), var));
        if let Some(name) = &fold.var2 {
            self.scopes.push((Arc::clone(name), var2));
        }
        self.check(fold.condition);
        self.assert(fold.condition, &Type::Bool);
        self.check(fold.step);
        self.assert(fold.step, &accu);
        self.scopes.truncate(depth + 1);
        self.check(fold.result);
        self.scopes.truncate(depth);
        self.known(fold.result)
    }

    fn assert(&mut self, id: Id, wanted: &Type) {
        let ty = self.ty(id);
        if !self.mapping.assignable(wanted, &ty) {
            self.fault(id, format!("expected type '{wanted}' but found '{ty}'"));
        }
    }
}

fn of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::String(_) => Type::String,
        Literal::Bytes(_) => Type::Bytes,
    }
}
