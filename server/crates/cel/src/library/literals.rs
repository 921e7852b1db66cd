//! What can be seen of constants when a text is compiled: those that a function can never take, and lists and maps
//! of several types.

use apiwright_meta::regexp;
use apiwright_meta::time::{Duration, Time};

use crate::ast::{Ast, Id, Literal, Node};
use crate::check::{Checked, Meaning};
use crate::error::Issue;
use crate::types::Type;

/// The faults of an expression that is well otherwise.
pub(crate) fn check(ast: &Ast, checked: &Checked) -> Vec<Issue> {
    let mut look = Look { ast, checked, issues: Vec::new() };
    look.at(ast.root, false);
    look.issues
}

struct Look<'a> {
    ast: &'a Ast,
    checked: &'a Checked,
    issues: Vec<Issue>,
}

impl Look<'_> {
    fn fault(&mut self, id: Id, message: String) {
        let (line, column) = self.ast.position(self.ast.offsets[id as usize]);
        self.issues.push(Issue { line, column, message });
    }

    fn ty(&self, id: Id) -> &Type {
        &self.checked.types[id as usize]
    }

    /// `mixed` is whether lists and maps may be of several types, as what is formatted is.
    fn at(&mut self, id: Id, mixed: bool) {
        let ast = self.ast;
        match ast.node(id) {
            Node::Fault | Node::Literal(_) | Node::Ident(_) => {}
            Node::Select { operand, .. } => {
                // A name with dots has no parts of its own.
                if matches!(self.checked.meanings[id as usize], Meaning::Plain) {
                    self.at(*operand, mixed);
                }
            }
            Node::Call { function, target, args } => {
                let mixed = mixed || **function == *"format";
                self.call(id, args);
                let qualified =
                    matches!(self.checked.meanings[id as usize], Meaning::Call { qualified: true, .. });
                for part in target.iter().filter(|_| !qualified).chain(args) {
                    self.at(*part, mixed);
                }
            }
            Node::List { items, optional } => {
                for item in items {
                    self.at(*item, mixed);
                }
                if !mixed {
                    let items = items.iter().enumerate().map(|(at, item)| (*item, optional.contains(&at)));
                    self.same(items.collect(), true);
                }
            }
            Node::Map(entries) => {
                for entry in entries {
                    self.at(entry.key, mixed);
                    self.at(entry.value, mixed);
                }
                if !mixed {
                    self.same(entries.iter().map(|entry| (entry.key, false)).collect(), false);
                    self.same(entries.iter().map(|entry| (entry.value, entry.optional)).collect(), false);
                }
            }
            Node::Struct { fields, .. } => {
                for field in fields {
                    self.at(field.value, mixed);
                }
            }
            Node::Fold(fold) => {
                for part in [fold.range, fold.init, fold.condition, fold.step, fold.result] {
                    self.at(part, mixed);
                }
            }
        }
    }

    /// All must have the type of the first.
    fn same(&mut self, items: Vec<(Id, bool)>, first_only: bool) {
        let of = |look: &Self, (id, optional): (Id, bool)| match (look.ty(id), optional) {
            (Type::Optional(inner), true) => (**inner).clone(),
            (ty, _) => ty.clone(),
        };
        let Some((first, rest)) = items.split_first() else { return };
        let wanted = of(self, *first);
        for item in rest {
            let ty = of(self, *item);
            if ty != wanted {
                self.fault(item.0, format!("expected type '{wanted}' but found '{ty}'"));
                if first_only {
                    return;
                }
            }
        }
    }

    fn call(&mut self, id: Id, args: &[Id]) {
        let Meaning::Call { function, .. } = &self.checked.meanings[id as usize] else { return };
        let (at, valid): (usize, fn(&str) -> bool) = match function.name {
            "duration" => (0, |text| Duration::parse(text).is_ok()),
            "timestamp" => (0, |text| Time::parse(text).is_ok()),
            "matches" => (args.len().saturating_sub(1), |text| regexp::compile(text).is_ok()),
            _ => return,
        };
        if let Some(arg) = args.get(at)
            && let Node::Literal(Literal::String(text)) = self.ast.node(*arg)
            && !valid(text)
        {
            self.fault(*arg, format!("invalid {} argument", function.name));
        }
    }
}
