//! Texts to expressions: the grammar is the `cel` crate's, whose parser is ANTLR's as cel-go's is, so that faults of
//! syntax read alike.
//!
//! Invariant: the parser recurses, so texts are bounded before it sees them, and deep ones get a stack of their own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use cel::common::ast::{EntryExpr, Expr, IdedExpr, LiteralValue, SourceInfo};
use cel::parser::ParseErrors;

use crate::ast::{Ast, Entry, Id, Literal, Node, StructField};
use crate::error::{Issue, Issues};
use crate::macros;

/// The longest text, in characters.
const CHARACTERS_MAX: usize = 100_000;
/// How deep brackets may nest.
const NESTING_MAX: usize = 250;
/// How many operators there may be: each can make the tree deeper by one.
const OPERATORS_MAX: usize = 5000;
/// How deep a tree may be.
const DEPTH_MAX: usize = 400;
/// How many nodes a tree may have: macros that repeat what they are called on multiply.
const NODES_MAX: usize = 200_000;
/// Texts with at most so many brackets and operators are parsed where we are.
const SHALLOW: usize = 48;
/// The stack for the others: virtual memory, of which little is touched.
const STACK_BYTES: usize = 256 << 20;

static GRAMMAR: LazyLock<cel::Env> = LazyLock::new(cel::Env::default);

/// Does the work on a text on a stack that is large enough for it; what is too large is refused.
pub(crate) fn with_stack<T: Send>(
    source: &str,
    work: impl FnOnce() -> Result<T, Issues> + Send,
) -> Result<T, Issues> {
    let refuse = |message: String| Issues::new(source, vec![Issue { line: 1, column: 0, message }]);
    let length = source.chars().count();
    if length > CHARACTERS_MAX {
        let why = format!("expression code point size exceeds limit: size: {length}, limit {CHARACTERS_MAX}");
        return Err(refuse(why));
    }
    let (nesting, operators) = measure(source);
    if nesting > NESTING_MAX {
        return Err(refuse(format!("expression recursion limit exceeded: {NESTING_MAX}")));
    }
    if operators > OPERATORS_MAX {
        return Err(refuse(format!("expression has more than {OPERATORS_MAX} operators")));
    }
    let done = if nesting + operators <= SHALLOW {
        catch_unwind(AssertUnwindSafe(work))
    } else {
        std::thread::scope(|scope| {
            match std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work) {
                Ok(worker) => worker.join(),
                Err(why) => Ok(Err(refuse(format!("expression cannot be compiled: {why}")))),
            }
        })
    };
    // The parser is not ours: should it panic, the text is at fault, not the server.
    done.unwrap_or_else(|_| Err(refuse("expression cannot be compiled".to_owned())))
}

/// How deep the brackets of a text nest, and how many operators it has; signs in strings count as well.
fn measure(source: &str) -> (usize, usize) {
    let (mut depth, mut deepest, mut operators) = (0_usize, 0, 0);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
                operators += 1;
            }
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            b'.' | b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'?' | b'&' | b'|' => {
                operators += 1;
            }
            _ => {}
        }
    }
    (deepest, operators + source.split_whitespace().filter(|word| *word == "in").count())
}

/// Parses a text.
pub(crate) fn parse(source: &str) -> Result<Ast, Issues> {
    let parser = GRAMMAR
        .parser()
        .enable_optional_syntax(true)
        .max_recursion_depth(NESTING_MAX as u16)
        .error_recovery_limit(30);
    let (root, info) = parser.parse_with_source_info(source).map_err(|errors| syntax(source, errors))?;
    let mut lines = vec![0];
    lines.extend(source.chars().enumerate().filter(|(_, sign)| *sign == '\n').map(|(at, _)| at as u32 + 1));
    let ast = Ast { nodes: Vec::new(), offsets: Vec::new(), root: 0, lines };
    let mut lower = Lower { source, ast, info: &info, issues: Vec::new(), depth: 0 };
    lower.ast.root = lower.lower(&root);
    if lower.issues.is_empty() { Ok(lower.ast) } else { Err(Issues::new(source, lower.issues)) }
}

fn syntax(source: &str, errors: ParseErrors) -> Issues {
    let issues = errors.errors.into_iter().map(|error| Issue {
        line: usize::try_from(error.pos.0).unwrap_or(1).max(1),
        column: usize::try_from(error.pos.1 - 1).unwrap_or_default(),
        message: error.msg,
    });
    // Where the parser gave up it also says that what it made is incomplete, which cel-go does not.
    Issues::new(source, issues.filter(|issue| !issue.message.starts_with("Incomplete `")).collect())
}

/// Makes our table of the parser's tree.
pub(crate) struct Lower<'a> {
    source: &'a str,
    pub(crate) ast: Ast,
    info: &'a SourceInfo,
    issues: Vec<Issue>,
    depth: usize,
}

impl Lower<'_> {
    /// Puts a node into the table.
    pub(crate) fn push(&mut self, offset: u32, node: Node) -> Id {
        self.ast.nodes.push(node);
        self.ast.offsets.push(offset);
        self.ast.nodes.len() as Id - 1
    }

    /// Reports a fault.
    pub(crate) fn fault(&mut self, offset: u32, message: &str) -> Id {
        let (line, column) = self.ast.position(offset);
        self.issues.push(Issue { line, column, message: message.to_owned() });
        self.push(offset, Node::Fault)
    }

    /// Where an expression begins, in characters; the parser counts bytes.
    pub(crate) fn offset(&self, id: u64) -> u32 {
        let start = self.info.offset_for(id).map_or(0, |(start, _)| start);
        if self.source.is_ascii() {
            return start;
        }
        self.source.char_indices().take_while(|(byte, _)| *byte < start as usize).count() as u32
    }

    pub(crate) fn lower(&mut self, expr: &IdedExpr) -> Id {
        let offset = self.offset(expr.id);
        if self.depth >= DEPTH_MAX {
            return self.fault(offset, &format!("expression recursion limit exceeded: {DEPTH_MAX}"));
        }
        if self.ast.nodes.len() >= NODES_MAX {
            return if self.issues.is_empty() { self.fault(offset, "expression is too large") } else { 0 };
        }
        self.depth += 1;
        let id = self.lower_one(offset, expr);
        self.depth -= 1;
        id
    }

    fn lower_one(&mut self, offset: u32, expr: &IdedExpr) -> Id {
        let node = match &expr.expr {
            Expr::Call(call) => return macros::call(self, offset, call),
            Expr::Ident(name) => Node::Ident(name.as_str().into()),
            Expr::Literal(value) => Node::Literal(literal(value)),
            Expr::Select(select) => Node::Select {
                operand: self.lower(&select.operand),
                field: select.field.as_str().into(),
                test: select.test,
            },
            Expr::List(list) => Node::List {
                items: list.elements.iter().map(|item| self.lower(item)).collect(),
                optional: list.optional_indices.clone(),
            },
            Expr::Map(map) => Node::Map(
                map.entries
                    .iter()
                    .filter_map(|entry| match &entry.expr {
                        EntryExpr::MapEntry(entry) => Some(Entry {
                            key: self.lower(&entry.key),
                            value: self.lower(&entry.value),
                            optional: entry.optional,
                        }),
                        EntryExpr::StructField(_) => None,
                    })
                    .collect(),
            ),
            Expr::Struct(made) => Node::Struct {
                name: made.type_name.as_str().into(),
                fields: made
                    .entries
                    .iter()
                    .filter_map(|entry| match &entry.expr {
                        EntryExpr::StructField(field) => Some(StructField {
                            name: field.field.as_str().into(),
                            value: self.lower(&field.value),
                            optional: field.optional,
                            offset: self.offset(entry.id),
                        }),
                        EntryExpr::MapEntry(_) => None,
                    })
                    .collect(),
            },
            // Macros are not the parser's here; nothing else makes these.
            Expr::Comprehension(_) | Expr::Unspecified => Node::Fault,
        };
        self.push(offset, node)
    }

    /// Any call that is no macro.
    pub(crate) fn plain_call(
        &mut self,
        offset: u32,
        function: &str,
        target: Option<Id>,
        args: Vec<Id>,
    ) -> Id {
        self.push(offset, Node::Call { function: function.into(), target, args })
    }
}

fn literal(value: &LiteralValue) -> Literal {
    match value {
        LiteralValue::Null => Literal::Null,
        LiteralValue::Boolean(value) => Literal::Bool(*value.inner()),
        LiteralValue::Int(value) => Literal::Int(*value.inner()),
        LiteralValue::UInt(value) => Literal::Uint(*value.inner()),
        LiteralValue::Double(value) => Literal::Double(*value.inner()),
        LiteralValue::String(value) => Literal::String(Arc::from(value.inner())),
        LiteralValue::Bytes(value) => Literal::Bytes(Arc::from(value.inner())),
    }
}
