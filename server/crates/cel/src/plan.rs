//! Checked expressions as what is evaluated: names are places, calls are functions.

use std::sync::Arc;

use apiwright_meta::regexp;
use regex::Regex;

use crate::ast::{Ast, Form, Id, Literal, Node};
use crate::check::{Checked, Meaning};
use crate::env::Env;
use crate::functions::Function;
use crate::size::Bounds;
use crate::types::Type;
use crate::unescape;
use crate::value::{Text, Val};

/// A compiled expression.
#[derive(Debug)]
pub struct Program {
    pub(crate) steps: Vec<Step>,
    pub(crate) root: Id,
    /// How deep evaluating it can go.
    pub(crate) depth: usize,
    ty: Type,
    cost: Bounds,
    variables: Vec<bool>,
    /// The fields that are looked for in variables: the variable's place and the field's name.
    selected: Vec<(usize, Arc<str>)>,
}

impl Program {
    /// The type of what it gives.
    pub fn ty(&self) -> &Type {
        &self.ty
    }

    /// What it can cost at most.
    pub fn cost_max(&self) -> u64 {
        self.cost.max
    }

    /// Whether it names a variable, by the variable's place in the environment.
    pub fn uses(&self, variable: usize) -> bool {
        self.variables.get(variable).copied().unwrap_or_default()
    }
}

impl Program {
    /// The fields of a variable that it looks at by name.
    pub fn selects(&self, variable: usize) -> impl Iterator<Item = &Arc<str>> {
        self.selected.iter().filter(move |(at, _)| *at == variable).map(|(_, field)| field)
    }
}

/// One step.
#[derive(Debug)]
pub(crate) enum Step {
    Const(Val<'static>),
    Variable(usize),
    Local(usize),
    Select {
        operand: Id,
        field: Arc<str>,
    },
    Test {
        operand: Id,
        field: Arc<str>,
    },
    OptionalSelect {
        operand: Id,
        field: Arc<str>,
    },
    Index {
        operand: Id,
        index: Id,
        optional: bool,
    },
    And(Id, Id),
    Or(Id, Id),
    Choose(Id, Id, Id),
    OptionalOr {
        operand: Id,
        other: Id,
        value: bool,
    },
    Matches {
        text: Id,
        regex: Box<Regex>,
        pattern_size: u64,
    },
    Call {
        function: &'static Function,
        args: Box<[Id]>,
    },
    List {
        items: Box<[(Id, bool)]>,
    },
    Map {
        entries: Box<[(Id, Id, bool)]>,
    },
    Made {
        name: Arc<str>,
        fields: Box<[(Arc<str>, Id, bool)]>,
    },
    Fold {
        range: Id,
        form: Form,
        two: bool,
    },
    Bind {
        value: Id,
        result: Id,
    },
    /// What only the types and the costs needed.
    Unused,
}

pub(crate) fn plan(env: &Env, ast: &Ast, checked: &Checked, cost: Bounds) -> Program {
    let mut steps = Vec::with_capacity(ast.nodes.len());
    steps.resize_with(ast.nodes.len(), || Step::Unused);
    let variables = vec![false; env.variables().len()];
    let mut planner = Planner { ast, checked, steps, variables, scopes: Vec::new(), depth: 0, deepest: 0 };
    planner.plan(ast.root);
    let selected = planner.selected();
    Program {
        steps: planner.steps,
        root: ast.root,
        depth: planner.deepest,
        ty: checked.types[ast.root as usize].clone(),
        cost,
        variables: planner.variables,
        selected,
    }
}

struct Planner<'a> {
    ast: &'a Ast,
    checked: &'a Checked,
    steps: Vec<Step>,
    variables: Vec<bool>,
    scopes: Vec<Arc<str>>,
    depth: usize,
    deepest: usize,
}

impl Planner<'_> {
    fn selected(&self) -> Vec<(usize, Arc<str>)> {
        let selections = self.steps.iter().filter_map(|step| match step {
            Step::Select { operand, field }
            | Step::Test { operand, field }
            | Step::OptionalSelect { operand, field } => Some((*operand, field)),
            _ => None,
        });
        selections
            .filter_map(|(operand, field)| match self.steps[operand as usize] {
                Step::Variable(at) => Some((at, Arc::clone(field))),
                _ => None,
            })
            .collect()
    }

    fn plan(&mut self, id: Id) -> Id {
        self.depth += 1;
        self.deepest = self.deepest.max(self.depth);
        let step = self.step(id);
        self.steps[id as usize] = step;
        self.depth -= 1;
        id
    }

    fn all(&mut self, ids: impl IntoIterator<Item = Id>) -> Box<[Id]> {
        ids.into_iter().map(|id| self.plan(id)).collect()
    }

    fn step(&mut self, id: Id) -> Step {
        let ast = self.ast;
        match &self.checked.meanings[id as usize] {
            Meaning::Variable(at) => {
                if let Some(used) = self.variables.get_mut(*at) {
                    *used = true;
                }
                return Step::Variable(*at);
            }
            Meaning::TypeName(ty) => return Step::Const(Val::Type(ty.clone())),
            _ => {}
        }
        match ast.node(id) {
            Node::Fault => Step::Unused,
            Node::Literal(literal) => Step::Const(constant(literal)),
            Node::Ident(name) => match self.scopes.iter().rposition(|known| known == name) {
                Some(at) => Step::Local(at),
                None => Step::Unused,
            },
            Node::Select { operand, field, test } => {
                let operand = self.plan(*operand);
                if *test {
                    Step::Test { operand, field: Arc::clone(field) }
                } else {
                    Step::Select { operand, field: Arc::clone(field) }
                }
            }
            Node::Call { target, args, .. } => self.call(id, *target, args),
            Node::List { items, optional } => Step::List {
                items: items
                    .iter()
                    .enumerate()
                    .map(|(at, item)| (self.plan(*item), optional.contains(&at)))
                    .collect(),
            },
            Node::Map(entries) => Step::Map {
                entries: entries
                    .iter()
                    .map(|entry| (self.plan(entry.key), self.plan(entry.value), entry.optional))
                    .collect(),
            },
            Node::Struct { name, fields } => Step::Made {
                name: name.strip_prefix('.').unwrap_or(name).into(),
                fields: fields
                    .iter()
                    .map(|field| {
                        let name = unescape(&field.name).map_or_else(|| Arc::clone(&field.name), Arc::from);
                        (name, self.plan(field.value), field.optional)
                    })
                    .collect(),
            },
            Node::Fold(fold) => {
                let depth = self.scopes.len();
                if matches!(fold.form, Form::Bind) {
                    let value = self.plan(fold.init);
                    self.scopes.push(Arc::clone(&fold.accu));
                    let result = self.plan(fold.result);
                    self.scopes.truncate(depth);
                    return Step::Bind { value, result };
                }
                let range = self.plan(fold.range);
                self.scopes.push(Arc::clone(&fold.var));
                self.scopes.extend(fold.var2.clone());
                match fold.form {
                    Form::All(body) | Form::Exists(body) | Form::ExistsOne(body) | Form::Filter(body) => {
                        self.plan(body);
                    }
                    Form::Map { filter, value }
                    | Form::MapValues { filter, value }
                    | Form::MapEntries { filter, entry: value } => {
                        self.all(filter.into_iter().chain([value]));
                    }
                    Form::Bind => {}
                }
                self.scopes.truncate(depth);
                Step::Fold { range, form: fold.form, two: fold.var2.is_some() }
            }
        }
    }

    fn call(&mut self, id: Id, target: Option<Id>, args: &[Id]) -> Step {
        let (function, target) = match &self.checked.meanings[id as usize] {
            Meaning::OptionalField(field) => {
                let operand = self.plan(args[0]);
                return Step::OptionalSelect { operand, field: Arc::clone(field) };
            }
            Meaning::Call { function, qualified, .. } => (*function, target.filter(|_| !qualified)),
            _ => return Step::Unused,
        };
        if let ("matches", Some(text), Some(pattern)) = (function.name, target, args.first())
            && let Node::Literal(Literal::String(pattern)) = self.ast.node(*pattern)
            && let Ok(regex) = regexp::compile(pattern)
        {
            let pattern_size = crate::value::characters(pattern);
            return Step::Matches { text: self.plan(text), regex: Box::new(regex), pattern_size };
        }
        let args = self.all(target.into_iter().chain(args.iter().copied()));
        match (function.name, &*args) {
            ("_&&_", [left, right]) => Step::And(*left, *right),
            ("_||_", [left, right]) => Step::Or(*left, *right),
            ("_?_:_", [condition, yes, no]) => Step::Choose(*condition, *yes, *no),
            ("_[_]", [operand, index]) => Step::Index { operand: *operand, index: *index, optional: false },
            ("_[?_]", [operand, index]) => Step::Index { operand: *operand, index: *index, optional: true },
            ("or", [operand, other]) => Step::OptionalOr { operand: *operand, other: *other, value: false },
            ("orValue", [operand, other]) => {
                Step::OptionalOr { operand: *operand, other: *other, value: true }
            }
            _ => Step::Call { function, args },
        }
    }
}

fn constant(literal: &Literal) -> Val<'static> {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(value) => Val::Bool(*value),
        Literal::Int(value) => Val::Int(*value),
        Literal::Uint(value) => Val::Uint(*value),
        Literal::Double(value) => Val::Double(*value),
        Literal::String(text) => Val::String(Text::Owned(Arc::clone(text))),
        Literal::Bytes(bytes) => Val::Bytes(Arc::clone(bytes)),
    }
}
