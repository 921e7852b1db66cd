//! Calls that are written like functions and are walks: `all`, `map`, `has` and their kin.
//!
//! Each becomes what cel-go makes of it, because the types, the costs and the places of faults come from that.

use std::sync::Arc;

use cel::common::ast::{CallExpr, Expr, IdedExpr};

use crate::ast::{Fold, Form, Id, Literal, Node};
use crate::parse::Lower;

/// The name of what a walk gathers; no text can spell it.
pub(crate) const ACCU: &str = "@result";
/// The name for the input of `sortBy`.
const SORT_INPUT: &str = "@__sortBy_input__";
/// A variable that nobody reads.
const UNUSED: &str = "#unused";

/// A call, expanded where it is a macro's.
pub(crate) fn call(lower: &mut Lower<'_>, offset: u32, call: &CallExpr) -> Id {
    let args = &call.args;
    let expanded = match (call.func_name.as_str(), call.target.as_deref(), args.as_slice()) {
        ("has", None, [arg]) => Some(has(lower, offset, arg)),
        (name @ ("all" | "exists" | "exists_one" | "existsOne"), Some(range), [var, body]) => {
            Some(quantifier(lower, offset, name, range, &[var], body))
        }
        (name @ ("all" | "exists" | "existsOne"), Some(range), [var, var2, body]) => {
            Some(quantifier(lower, offset, name, range, &[var, var2], body))
        }
        ("map", Some(range), [var, value]) => Some(map(lower, offset, range, var, None, value)),
        ("map", Some(range), [var, filter, value]) => {
            Some(map(lower, offset, range, var, Some(filter), value))
        }
        ("filter", Some(range), [var, body]) => Some(filter(lower, offset, range, var, body)),
        (
            name @ ("transformList" | "transformMap" | "transformMapEntry"),
            Some(range),
            [var, var2, value],
        ) => Some(transform(lower, offset, name, range, [var, var2], None, value)),
        (
            name @ ("transformList" | "transformMap" | "transformMapEntry"),
            Some(range),
            [var, var2, filter, value],
        ) => Some(transform(lower, offset, name, range, [var, var2], Some(filter), value)),
        ("sortBy", Some(range), [var, key]) => Some(sort_by(lower, offset, range, var, key)),
        (name @ ("optMap" | "optFlatMap"), Some(range), [var, body]) => {
            Some(opt_map(lower, offset, name, range, var, body))
        }
        _ => None,
    };
    expanded.unwrap_or_else(|| {
        let target = call.target.as_deref().map(|target| lower.lower(target));
        let args = args.iter().map(|arg| lower.lower(arg)).collect();
        lower.plain_call(offset, &call.func_name, target, args)
    })
}

fn has(lower: &mut Lower<'_>, offset: u32, arg: &IdedExpr) -> Id {
    let Expr::Select(select) = &arg.expr else {
        return lower.fault(lower.offset(arg.id), "invalid argument to has() macro");
    };
    let operand = lower.lower(&select.operand);
    lower.push(offset, Node::Select { operand, field: select.field.as_str().into(), test: true })
}

/// The name that a variable of a walk is given.
fn variable(lower: &mut Lower<'_>, arg: &IdedExpr, otherwise: &str) -> Result<Arc<str>, Id> {
    match &arg.expr {
        Expr::Ident(name) if name == ACCU || name == "__result__" => {
            Err(lower.fault(lower.offset(arg.id), "iteration variable overwrites accumulator variable"))
        }
        Expr::Ident(name) => Ok(name.as_str().into()),
        _ => Err(lower.fault(lower.offset(arg.id), otherwise)),
    }
}

fn two_variables(lower: &mut Lower<'_>, vars: &[&IdedExpr]) -> Result<(Arc<str>, Option<Arc<str>>), Id> {
    let first = variable(lower, vars[0], "argument must be a simple name")?;
    let Some(second) = vars.get(1) else { return Ok((first, None)) };
    let name = variable(lower, second, "argument must be a simple name")?;
    if name == first {
        return Err(lower.fault(lower.offset(second.id), &format!("duplicate variable name: {name}")));
    }
    Ok((first, Some(name)))
}

/// Makes the nodes that expansions share, all at the place of the macro.
struct Maker<'l, 'a> {
    lower: &'l mut Lower<'a>,
    offset: u32,
}

impl Maker<'_, '_> {
    fn literal(&mut self, value: Literal) -> Id {
        self.lower.push(self.offset, Node::Literal(value))
    }

    fn accu(&mut self) -> Id {
        self.ident(ACCU)
    }

    fn ident(&mut self, name: &str) -> Id {
        self.lower.push(self.offset, Node::Ident(name.into()))
    }

    fn call(&mut self, function: &str, args: Vec<Id>) -> Id {
        self.lower.plain_call(self.offset, function, None, args)
    }

    fn list(&mut self, items: Vec<Id>) -> Id {
        self.lower.push(self.offset, Node::List { items, optional: Vec::new() })
    }

    fn fold(&mut self, fold: Fold) -> Id {
        self.lower.push(self.offset, Node::Fold(Box::new(fold)))
    }

    /// `@result + [value]` where a filter holds.
    fn gather(&mut self, filter: Option<Id>, value: Id) -> Id {
        let accu = self.accu();
        let item = self.list(vec![value]);
        let step = self.call("_+_", vec![accu, item]);
        self.where_filter(filter, step)
    }

    fn where_filter(&mut self, filter: Option<Id>, step: Id) -> Id {
        let Some(filter) = filter else { return step };
        let otherwise = self.accu();
        self.call("_?_:_", vec![filter, step, otherwise])
    }
}

fn quantifier(
    lower: &mut Lower<'_>,
    offset: u32,
    name: &str,
    range: &IdedExpr,
    vars: &[&IdedExpr],
    body: &IdedExpr,
) -> Id {
    let (var, var2) = match two_variables(lower, vars) {
        Ok(names) => names,
        Err(fault) => return fault,
    };
    let range = lower.lower(range);
    let body = lower.lower(body);
    let mut make = Maker { lower, offset };
    let (init, condition, step, result, form);
    match name {
        "all" => {
            init = make.literal(Literal::Bool(true));
            let accu = make.accu();
            condition = make.call("@not_strictly_false", vec![accu]);
            let accu = make.accu();
            step = make.call("_&&_", vec![accu, body]);
            result = make.accu();
            form = Form::All(body);
        }
        "exists" => {
            init = make.literal(Literal::Bool(false));
            let accu = make.accu();
            let not = make.call("!_", vec![accu]);
            condition = make.call("@not_strictly_false", vec![not]);
            let accu = make.accu();
            step = make.call("_||_", vec![accu, body]);
            result = make.accu();
            form = Form::Exists(body);
        }
        _ => {
            init = make.literal(Literal::Int(0));
            condition = make.literal(Literal::Bool(true));
            let (accu, one) = (make.accu(), make.literal(Literal::Int(1)));
            let more = make.call("_+_", vec![accu, one]);
            step = make.where_filter(Some(body), more);
            let (accu, one) = (make.accu(), make.literal(Literal::Int(1)));
            result = make.call("_==_", vec![accu, one]);
            form = Form::ExistsOne(body);
        }
    }
    make.fold(Fold { range, var, var2, accu: ACCU.into(), init, condition, step, result, form })
}

fn map(
    lower: &mut Lower<'_>,
    offset: u32,
    range: &IdedExpr,
    var: &IdedExpr,
    filter: Option<&IdedExpr>,
    value: &IdedExpr,
) -> Id {
    let var = match variable(lower, var, "argument is not an identifier") {
        Ok(name) => name,
        Err(fault) => return fault,
    };
    let range = lower.lower(range);
    gather(lower, offset, range, (var, None), filter, value)
}

/// A walk that makes a list.
fn gather(
    lower: &mut Lower<'_>,
    offset: u32,
    range: Id,
    (var, var2): (Arc<str>, Option<Arc<str>>),
    filter: Option<&IdedExpr>,
    value: &IdedExpr,
) -> Id {
    let filter = filter.map(|filter| lower.lower(filter));
    let value = lower.lower(value);
    let mut make = Maker { lower, offset };
    let init = make.list(Vec::new());
    let condition = make.literal(Literal::Bool(true));
    let step = make.gather(filter, value);
    let result = make.accu();
    let form = Form::Map { filter, value };
    make.fold(Fold { range, var, var2, accu: ACCU.into(), init, condition, step, result, form })
}

fn filter(lower: &mut Lower<'_>, offset: u32, range: &IdedExpr, var: &IdedExpr, body: &IdedExpr) -> Id {
    let name = match variable(lower, var, "argument is not an identifier") {
        Ok(name) => name,
        Err(fault) => return fault,
    };
    let range = lower.lower(range);
    let body = lower.lower(body);
    let item = lower.lower(var);
    let mut make = Maker { lower, offset };
    let init = make.list(Vec::new());
    let condition = make.literal(Literal::Bool(true));
    let step = make.gather(Some(body), item);
    let result = make.accu();
    let form = Form::Filter(body);
    make.fold(Fold { range, var: name, var2: None, accu: ACCU.into(), init, condition, step, result, form })
}

fn transform(
    lower: &mut Lower<'_>,
    offset: u32,
    name: &str,
    range: &IdedExpr,
    vars: [&IdedExpr; 2],
    filter: Option<&IdedExpr>,
    value: &IdedExpr,
) -> Id {
    let (var, var2) = match two_variables(lower, &vars) {
        Ok(names) => names,
        Err(fault) => return fault,
    };
    let range = lower.lower(range);
    if name == "transformList" {
        return gather(lower, offset, range, (var, var2), filter, value);
    }
    let filter = filter.map(|filter| lower.lower(filter));
    let value = lower.lower(value);
    let mut make = Maker { lower, offset };
    let init = make.lower.push(offset, Node::Map(Vec::new()));
    let condition = make.literal(Literal::Bool(true));
    let accu = make.accu();
    let (args, form) = if name == "transformMap" {
        let key = make.ident(&var);
        (vec![accu, key, value], Form::MapValues { filter, value })
    } else {
        (vec![accu, value], Form::MapEntries { filter, entry: value })
    };
    let step = make.call("cel.@mapInsert", args);
    let step = make.where_filter(filter, step);
    let result = make.accu();
    make.fold(Fold { range, var, var2, accu: ACCU.into(), init, condition, step, result, form })
}

/// A name for a value in an expression.
fn bind(make: &mut Maker<'_, '_>, name: &str, value: Id, result: Id) -> Id {
    let range = make.list(Vec::new());
    let condition = make.literal(Literal::Bool(false));
    let step = make.ident(name);
    let (var, accu) = (UNUSED.into(), name.into());
    make.fold(Fold { range, var, var2: None, accu, init: value, condition, step, result, form: Form::Bind })
}

fn sort_by(lower: &mut Lower<'_>, offset: u32, range: &IdedExpr, var: &IdedExpr, key: &IdedExpr) -> Id {
    if matches!(range.expr, Expr::Literal(_) | Expr::Map(_) | Expr::Struct(_)) {
        let why =
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return lower.fault(lower.offset(range.id), why);
    }
    let var = match variable(lower, var, "argument is not an identifier") {
        Ok(name) => name,
        Err(fault) => return fault,
    };
    let range = lower.lower(range);
    let input = lower.push(offset, Node::Ident(SORT_INPUT.into()));
    let keys = gather(lower, offset, input, (var, None), None, key);
    let mut make = Maker { lower, offset };
    let input = make.ident(SORT_INPUT);
    let sorted = make.lower.plain_call(offset, "@sortByAssociatedKeys", Some(input), vec![keys]);
    bind(&mut make, SORT_INPUT, range, sorted)
}

fn opt_map(
    lower: &mut Lower<'_>,
    offset: u32,
    name: &str,
    target: &IdedExpr,
    var: &IdedExpr,
    body: &IdedExpr,
) -> Id {
    let words = format!("{name}() variable name must be a simple identifier");
    let var = match variable(lower, var, &words) {
        Ok(name) => name,
        Err(fault) => return fault,
    };
    let (target, again) = (lower.lower(target), lower.lower(target));
    let body = lower.lower(body);
    let has_value = lower.plain_call(offset, "hasValue", Some(target), Vec::new());
    let value = lower.plain_call(offset, "value", Some(again), Vec::new());
    let mut make = Maker { lower, offset };
    let bound = bind(&mut make, &var, value, body);
    let some = if name == "optMap" { make.call("optional.of", vec![bound]) } else { bound };
    let none = make.call("optional.none", Vec::new());
    make.call("_?_:_", vec![has_value, some, none])
}
