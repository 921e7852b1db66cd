//! Expressions with their macros expanded, in one table.
//!
//! Invariant: nodes name each other by their places in the table, so that deep ones are dropped without recursion;
//! a node's parts may be anywhere. Depth is bounded where the table is made.

use std::sync::Arc;

/// The place of a node.
pub(crate) type Id = u32;

/// A whole expression.
#[derive(Debug)]
pub(crate) struct Ast {
    pub(crate) nodes: Vec<Node>,
    /// Where each begins in the text, in characters.
    pub(crate) offsets: Vec<u32>,
    pub(crate) root: Id,
    /// Where each line of the text begins, in characters.
    pub(crate) lines: Vec<u32>,
}

/// A part of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// What could not be understood and was reported.
    Fault,
    Literal(Literal),
    Ident(Arc<str>),
    /// `a.b`, or `has(a.b)`.
    Select {
        operand: Id,
        field: Arc<str>,
        test: bool,
    },
    Call {
        function: Arc<str>,
        target: Option<Id>,
        args: Vec<Id>,
    },
    List {
        items: Vec<Id>,
        /// Which of them are optional.
        optional: Vec<usize>,
    },
    Map(Vec<Entry>),
    Struct {
        name: Arc<str>,
        fields: Vec<StructField>,
    },
    Fold(Box<Fold>),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    String(Arc<str>),
    Bytes(Arc<[u8]>),
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Id,
    pub(crate) value: Id,
    pub(crate) optional: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct StructField {
    pub(crate) name: Arc<str>,
    pub(crate) value: Id,
    pub(crate) optional: bool,
    pub(crate) offset: u32,
}

/// What a macro becomes: a walk over a range that gathers a value, as cel-go has it.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) range: Id,
    pub(crate) var: Arc<str>,
    pub(crate) var2: Option<Arc<str>>,
    pub(crate) accu: Arc<str>,
    pub(crate) init: Id,
    pub(crate) condition: Id,
    pub(crate) step: Id,
    pub(crate) result: Id,
    /// The same, in the terms that it is evaluated in.
    pub(crate) form: Form,
}

/// What a walk is for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    All(Id),
    Exists(Id),
    ExistsOne(Id),
    /// `[value for each where filter]`
    Map {
        filter: Option<Id>,
        value: Id,
    },
    Filter(Id),
    /// `{key: value}` for each.
    MapValues {
        filter: Option<Id>,
        value: Id,
    },
    /// The map of all entries of all maps.
    MapEntries {
        filter: Option<Id>,
        entry: Id,
    },
    /// No walk: a name for a value.
    Bind,
}

impl Ast {
    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id as usize]
    }

    /// Line from 1 and column from 0 of an offset.
    pub(crate) fn position(&self, offset: u32) -> (usize, usize) {
        let line = self.lines.partition_point(|start| *start <= offset).max(1);
        (line, (offset - self.lines.get(line - 1).copied().unwrap_or_default()) as usize)
    }
}
