//! What an expression can cost at most, before it runs (upstream: cel-go's `checker/cost.go`).
//!
//! The estimate decides which definitions may be created, so it follows upstream's to the unit.

use std::collections::HashMap;
use std::sync::Arc;

use crate::ast::{Ast, Fold, Form, Id, Literal, Node};
use crate::check::{Checked, Meaning};
use crate::decl::{Decl, Shape};
use crate::env::Env;
use crate::macros::ACCU;
use crate::size::{Bounds, LIST, MAP, REGEX, STRUCT, TEXT};
use crate::types::Type;

mod calls;

/// Where a value comes from: a variable and the way from there.
type Path = Vec<Arc<str>>;

/// Estimates an expression.
pub(crate) fn estimate(env: &Env, ast: &Ast, checked: &Checked) -> Bounds {
    let mut coster = Coster {
        env,
        ast,
        checked,
        paths: HashMap::new(),
        locals: Vec::new(),
        sizes: HashMap::new(),
        entries: HashMap::new(),
    };
    coster.cost(ast.root)
}

struct Coster<'a> {
    env: &'a Env,
    ast: &'a Ast,
    checked: &'a Checked,
    paths: HashMap<Id, Path>,
    locals: Vec<Local>,
    sizes: HashMap<Id, Bounds>,
    entries: HashMap<Id, EntrySizes>,
}

/// A variable of a walk.
struct Local {
    name: Arc<str>,
    path: Path,
    size: Option<Bounds>,
    entries: Option<EntrySizes>,
}

/// The sizes of what is in a list or a map.
#[derive(Clone, Copy)]
struct EntrySizes {
    list: bool,
    key: Bounds,
    value: Bounds,
}

impl EntrySizes {
    fn union(self, other: Self) -> Self {
        Self { list: self.list, key: self.key.union(other.key), value: self.value.union(other.value) }
    }
}

/// An argument, or what is in one.
struct Operand<'t> {
    id: Option<Id>,
    path: Path,
    ty: &'t Type,
    /// The size, where it is known from the expression.
    size: Option<Bounds>,
}

impl<'a> Coster<'a> {
    fn ty(&self, id: Id) -> &'a Type {
        &self.checked.types[id as usize]
    }

    fn cost(&mut self, id: Id) -> Bounds {
        let ast = self.ast;
        match ast.node(id) {
            Node::Fault => Bounds::ZERO,
            Node::Literal(_) => Bounds::ZERO,
            Node::Ident(name) => {
                let path = self.local(name).map(|local| local.path.clone());
                self.paths.insert(id, path.unwrap_or_else(|| vec![Arc::clone(name)]));
                Bounds::ONE
            }
            Node::Select { operand, field, test } => self.select(id, *operand, field, *test),
            Node::Call { function, target, args } => self.call(id, function, *target, args),
            Node::List { items, .. } => self.list(id, items),
            Node::Map(entries) => {
                let (mut sum, mut key, mut value) = (Bounds::ZERO, EMPTY, EMPTY);
                for entry in entries {
                    sum = sum.plus(self.cost(entry.key)).plus(self.cost(entry.value));
                    key = key.union(self.size_or_unknown(entry.key));
                    value = value.union(self.size_or_unknown(entry.value));
                }
                if entries.is_empty() {
                    (key, value) = (Bounds::ZERO, Bounds::ZERO);
                }
                self.entries.insert(id, EntrySizes { list: false, key, value });
                sum.plus(Bounds::exactly(MAP))
            }
            Node::Struct { fields, .. } => {
                let mut sum = Bounds::exactly(STRUCT);
                for field in fields {
                    sum = sum.plus(self.cost(field.value));
                }
                sum
            }
            Node::Fold(fold) if matches!(fold.form, Form::Bind) => self.bind(id, fold),
            Node::Fold(fold) => self.fold(id, fold),
        }
    }

    fn select(&mut self, id: Id, operand: Id, field: &Arc<str>, test: bool) -> Bounds {
        // A qualified name that is one variable or type.
        if matches!(self.checked.meanings[id as usize], Meaning::Variable(_) | Meaning::TypeName(_)) {
            self.paths.insert(id, vec![Arc::clone(field)]);
            return Bounds::ONE;
        }
        let sum = self.cost(operand);
        if test {
            return sum;
        }
        let mut path = self.path(operand);
        path.push(Arc::clone(field));
        self.paths.insert(id, path);
        match self.ty(operand) {
            Type::Map(_) | Type::Struct(_) | Type::Named(_) | Type::Param(_) => sum.plus(Bounds::ONE),
            _ => sum,
        }
    }

    fn list(&mut self, id: Id, items: &[Id]) -> Bounds {
        let (mut sum, mut value) = (Bounds::exactly(LIST), EMPTY);
        for item in items {
            sum = sum.plus(self.cost(*item));
            value = value.union(self.size_or_unknown(*item));
        }
        if items.is_empty() {
            value = Bounds::ZERO;
        }
        self.entries.insert(id, EntrySizes { list: true, key: Bounds::ONE, value });
        sum
    }

    fn bind(&mut self, id: Id, fold: &Fold) -> Bounds {
        let mut sum = self.cost(fold.range).plus(self.cost(fold.init));
        self.push_local(&fold.accu, fold.init);
        sum = sum.plus(self.cost(fold.result));
        let (size, entries) = (self.size(fold.result), self.entry_sizes(fold.result));
        self.locals.pop();
        self.set(id, size, entries);
        sum
    }

    fn fold(&mut self, id: Id, fold: &Fold) -> Bounds {
        let mut sum = self.cost(fold.range).plus(self.cost(fold.init));
        self.push_local(&fold.accu, fold.init);
        let depth = self.locals.len();
        let entries = self.entry_sizes(fold.range);
        let list =
            entries.map_or_else(|| matches!(self.ty(fold.range), Type::List(_)), |entries| entries.list);
        let (key, value) = (entries.map(|entries| entries.key), entries.map(|entries| entries.value));
        let (keys, values) = if list { ("@indices", "@items") } else { ("@keys", "@values") };
        match &fold.var2 {
            Some(var2) => {
                self.push_entry(&fold.var, fold.range, keys, key);
                self.push_entry(var2, fold.range, values, value);
            }
            None if list => self.push_entry(&fold.var, fold.range, values, value),
            None => self.push_entry(&fold.var, fold.range, keys, key),
        }
        let once = self.cost(fold.condition);
        let once = self.cost(fold.step).plus(once);
        let step_entries = self.entry_sizes(fold.step);
        self.locals.truncate(depth);
        sum = sum.plus(self.cost(fold.result));
        self.locals.truncate(depth - 1);
        let count = self.size_or_unknown(fold.range);
        match self.ast.node(fold.init) {
            Node::Literal(_) => {
                let size = self.size(fold.init);
                self.set(id, size, None);
            }
            Node::List { .. } | Node::Map(_) => self.set(id, Some(count), step_entries),
            _ => {}
        }
        sum.plus(count.times(once))
    }

    fn push_local(&mut self, name: &Arc<str>, value: Id) {
        let (path, size, entries) = (self.path(value), self.size(value), self.entry_sizes(value));
        self.locals.push(Local { name: Arc::clone(name), path, size, entries });
    }

    fn push_entry(&mut self, name: &Arc<str>, range: Id, step: &str, size: Option<Bounds>) {
        let mut path = self.path(range);
        path.push(step.into());
        self.locals.push(Local { name: Arc::clone(name), path, size, entries: None });
    }

    fn local(&self, name: &str) -> Option<&Local> {
        self.locals.iter().rev().find(|local| *local.name == *name)
    }

    fn path(&self, id: Id) -> Path {
        if let Node::Ident(name) = self.ast.node(id)
            && let Some(local) = self.local(name)
        {
            return local.path.clone();
        }
        self.paths.get(&id).cloned().unwrap_or_default()
    }

    fn operand(&mut self, id: Id) -> Operand<'a> {
        let mut path = self.path(id);
        if path.first().is_some_and(|root| **root == *ACCU) {
            path.clear();
        }
        Operand { id: Some(id), path, ty: self.ty(id), size: self.size(id) }
    }

    fn set(&mut self, id: Id, size: Option<Bounds>, entries: Option<EntrySizes>) {
        if let Some(size) = size {
            self.sizes.insert(id, size);
        }
        if let Some(entries) = entries {
            self.entries.insert(id, entries);
        }
    }

    fn size_or_unknown(&mut self, id: Id) -> Bounds {
        self.size(id).unwrap_or(Bounds::UNKNOWN)
    }

    fn size(&mut self, id: Id) -> Option<Bounds> {
        if let Some(size) = self.sizes.get(&id) {
            return Some(*size);
        }
        if let Some(size) = of_node(self.ast.node(id)) {
            return Some(size);
        }
        if let Some(size) = self.declared_size(&self.path(id)) {
            self.sizes.insert(id, size);
            return Some(size);
        }
        if self.ty(id).is_scalar() {
            return Some(Bounds::ONE);
        }
        match self.ast.node(id) {
            Node::Ident(name) => self.local(name).and_then(|local| local.size),
            _ => None,
        }
    }

    /// The size that is declared of what a path leads to.
    fn declared_size(&self, path: &[Arc<str>]) -> Option<Bounds> {
        let (root, steps) = path.split_first()?;
        // Upstream takes whatever has a name, types as well, for the one variable that rules have.
        let at = self.env.variable(root).unwrap_or_default();
        let mut decl: &Decl = self.env.variables().get(at)?.decl.as_ref()?;
        for step in steps {
            decl = match (&**step, &decl.shape) {
                ("@items" | "@values", _) => decl.element()?,
                // Keys are strings of which nothing is declared.
                ("@keys", Shape::Map(_)) => return Some(Bounds::ZERO),
                (name, Shape::Object(object)) => &object.fields.get(name)?.decl,
                _ => return None,
            };
        }
        Some(Bounds { min: 0, max: decl.elements_max })
    }

    fn entry_sizes(&self, id: Id) -> Option<EntrySizes> {
        if let Some(entries) = self.entries.get(&id) {
            return Some(*entries);
        }
        match self.ast.node(id) {
            Node::Ident(name) => self.local(name).and_then(|local| local.entries),
            _ => None,
        }
    }
}

/// What a union starts from.
const EMPTY: Bounds = Bounds { min: u64::MAX, max: 0 };

fn of_node(node: &Node) -> Option<Bounds> {
    Some(Bounds::exactly(match node {
        Node::Literal(Literal::String(text)) => crate::value::characters(text),
        Node::Literal(Literal::Bytes(bytes)) => bytes.len() as u64,
        Node::Literal(_) => 1,
        Node::List { items, .. } => items.len() as u64,
        Node::Map(entries) => entries.len() as u64,
        _ => return None,
    }))
}

impl Coster<'_> {
    /// The size of an argument, as Kubernetes' estimator sees it.
    fn known(&self, operand: &Operand<'_>) -> Bounds {
        operand.size.or_else(|| self.declared_size(&operand.path)).unwrap_or(Bounds::UNKNOWN)
    }

    /// A literal whole number.
    fn whole(&self, operand: &Operand<'_>) -> Option<u64> {
        match self.ast.node(operand.id?) {
            Node::Literal(Literal::Int(number)) => u64::try_from(*number).ok(),
            Node::Literal(Literal::Uint(number)) => Some(*number),
            _ => None,
        }
    }

    /// The cost of matching a text against a regular expression.
    fn regex(text: Bounds, pattern: Bounds) -> Bounds {
        // One more, so that an empty text does not make the expression free.
        text.plus(Bounds::ONE).scaled(TEXT).times(pattern.scaled(REGEX))
    }
}
