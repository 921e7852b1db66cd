//! Runs programs.
//!
//! Invariant: every step is charged before or as it is done, and nothing goes on beyond the limit.

use std::sync::Arc;

use crate::ast::{Form, Id};
use crate::error::EvalError;
use crate::plan::{Program, Step};
use crate::size;
use crate::value::{List, Made, Map, Members, Val};

mod price;

/// What came of an evaluation.
#[derive(Debug)]
pub struct Outcome<'a> {
    /// The value, or why there is none.
    pub value: Result<Val<'a>, EvalError>,
    /// What it cost.
    pub cost: u64,
}

/// Programs that go deeper get a stack of their own.
const DEPTH_HERE: usize = 40;
/// The stack for those.
const STACK_BYTES: usize = 64 << 20;

impl Program {
    /// Evaluates it on the variables of its environment, in their order.
    pub fn evaluate<'a>(&'a self, variables: &[Val<'a>], limit: u64) -> Outcome<'a> {
        if self.depth <= DEPTH_HERE {
            return self.run(variables, limit);
        }
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().stack_size(STACK_BYTES);
            let run = thread.spawn_scoped(scope, || self.run(variables, limit));
            let lost = || Outcome { value: Err(EvalError::new("expression cannot be evaluated")), cost: 0 };
            run.map_or_else(|_| lost(), |run| run.join().unwrap_or_else(|_| lost()))
        })
    }

    fn run<'a>(&'a self, variables: &[Val<'a>], limit: u64) -> Outcome<'a> {
        let mut run = Run { steps: &self.steps, variables, locals: Vec::new(), cost: 0, limit };
        let value = run.eval(self.root);
        Outcome { value, cost: run.cost }
    }
}

type Result<T, E = EvalError> = std::result::Result<T, E>;

struct Run<'r, 'a> {
    steps: &'a [Step],
    variables: &'r [Val<'a>],
    locals: Vec<Val<'a>>,
    cost: u64,
    limit: u64,
}

impl<'a> Run<'_, 'a> {
    fn charge(&mut self, cost: u64) -> Result<()> {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.limit { Err(EvalError::CANCELLED) } else { Ok(()) }
    }

    fn eval(&mut self, id: Id) -> Result<Val<'a>> {
        let steps = self.steps;
        match &steps[id as usize] {
            Step::Const(value) => Ok(value.clone()),
            Step::Variable(at) => {
                self.charge(1)?;
                self.variables.get(*at).cloned().ok_or_else(|| EvalError::new("no such attribute"))
            }
            Step::Local(at) => {
                self.charge(1)?;
                self.locals.get(*at).cloned().ok_or_else(|| EvalError::new("no such attribute"))
            }
            Step::Select { operand, field } => {
                let operand = self.eval(*operand)?;
                self.charge(1)?;
                select(&operand, field)
            }
            Step::Test { operand, field } => {
                let operand = self.eval(*operand)?;
                match &operand {
                    Val::Optional(None) => Ok(Val::Bool(false)),
                    Val::Optional(Some(inner)) => {
                        field_of(inner, field).map(|found| Val::Bool(found.is_some()))
                    }
                    other => field_of(other, field).map(|found| Val::Bool(found.is_some())),
                }
            }
            Step::OptionalSelect { operand, field } => {
                let operand = self.eval(*operand)?;
                self.charge(1)?;
                optional_field(&operand, field)
            }
            Step::Index { operand, index, optional } => {
                let operand = self.eval(*operand)?;
                let index = self.eval(*index)?;
                self.charge(1)?;
                index_of(&operand, &index, *optional)
            }
            Step::And(left, right) => self.logical(*left, *right, false),
            Step::Or(left, right) => self.logical(*left, *right, true),
            Step::Choose(condition, yes, no) => match self.eval(*condition)? {
                Val::Bool(true) => self.eval(*yes),
                Val::Bool(false) => self.eval(*no),
                _ => Err(EvalError::NO_OVERLOAD),
            },
            Step::OptionalOr { operand, other, value } => match self.eval(*operand)? {
                Val::Optional(Some(inner)) if *value => Ok((*inner).clone()),
                some @ Val::Optional(Some(_)) => Ok(some),
                Val::Optional(None) => self.eval(*other),
                _ => Err(EvalError::NO_OVERLOAD),
            },
            Step::Matches { text, regex, pattern_size } => {
                let Val::String(text) = self.eval(*text)? else { return Err(EvalError::NO_OVERLOAD) };
                self.charge(price::regex(crate::value::characters(&text), *pattern_size))?;
                Ok(Val::Bool(regex.is_match(&text)))
            }
            Step::Call { function, args } => self.call(function, args),
            Step::List { items } => {
                let mut made = Vec::with_capacity(items.len());
                for (item, optional) in items {
                    match (self.eval(*item)?, optional) {
                        (value, false) => made.push(value),
                        (Val::Optional(Some(value)), true) => made.push((*value).clone()),
                        (Val::Optional(None), true) => {}
                        (_, true) => return Err(EvalError::NO_OVERLOAD),
                    }
                }
                self.charge(size::LIST)?;
                Ok(Val::list(made))
            }
            Step::Map { entries } => {
                let mut members = Members::default();
                for (key, value, optional) in entries {
                    let key = self.eval(*key)?;
                    let value = match (self.eval(*value)?, optional) {
                        (value, false) => value,
                        (Val::Optional(Some(value)), true) => (*value).clone(),
                        (Val::Optional(None), true) => continue,
                        (_, true) => return Err(EvalError::NO_OVERLOAD),
                    };
                    insert(&mut members, key, value, "Failed with repeated key")?;
                }
                self.charge(size::MAP)?;
                Ok(Val::Map(Map::Made(Arc::new(members))))
            }
            Step::Made { name, fields } => {
                let mut made = Vec::with_capacity(fields.len());
                for (name, value, optional) in fields {
                    let value = match (self.eval(*value)?, optional) {
                        (value, false) => value,
                        (Val::Optional(Some(value)), true) => (*value).clone(),
                        (Val::Optional(None), true) => continue,
                        (_, true) => return Err(EvalError::NO_OVERLOAD),
                    };
                    made.push((Arc::clone(name), value));
                }
                self.charge(size::STRUCT)?;
                Ok(Val::Made(Arc::new(Made { name: Arc::clone(name), fields: made })))
            }
            Step::Fold { range, form, two } => {
                let range = self.eval(*range)?;
                let depth = self.locals.len();
                let folded = self.fold(&range, *form, *two);
                self.locals.truncate(depth);
                folded
            }
            Step::Bind { value, result } => {
                let value = self.eval(*value)?;
                self.charge(size::LIST)?;
                let depth = self.locals.len();
                self.locals.push(value);
                let result = self.eval(*result);
                self.locals.truncate(depth);
                result
            }
            Step::Unused => Err(EvalError::NO_OVERLOAD),
        }
    }

    /// `&&` and `||`: one side that decides makes up for a fault of the other.
    fn logical(&mut self, left: Id, right: Id, decides: bool) -> Result<Val<'a>> {
        let left = self.eval(left);
        match &left {
            Ok(Val::Bool(value)) if *value == decides => return left,
            Err(why) if why.is_cancelled() => return left,
            _ => {}
        }
        let right = self.eval(right);
        match (&left, &right) {
            (_, Ok(Val::Bool(value))) if *value == decides => right,
            (_, Err(why)) if why.is_cancelled() => right,
            (Err(_), _) => left,
            (_, Err(_)) => right,
            (Ok(Val::Bool(_)), Ok(Val::Bool(_))) => right,
            _ => Err(EvalError::NO_OVERLOAD),
        }
    }

    fn call(&mut self, function: &'static crate::functions::Function, args: &[Id]) -> Result<Val<'a>> {
        // Most calls take one or two.
        match args {
            [arg] => {
                let values = [self.eval(*arg)?];
                self.apply(function, &values)
            }
            [left, right] => {
                let values = [self.eval(*left)?, self.eval(*right)?];
                self.apply(function, &values)
            }
            args => {
                let values = args.iter().map(|arg| self.eval(*arg)).collect::<Result<Vec<_>>>()?;
                self.apply(function, &values)
            }
        }
    }

    fn apply(
        &mut self,
        function: &'static crate::functions::Function,
        values: &[Val<'a>],
    ) -> Result<Val<'a>> {
        let result = (function.native)(values);
        match result {
            Ok(result) => {
                self.charge(price::of(function.price, values, &result))?;
                Ok(result)
            }
            Err(why) if why == EvalError::NO_OVERLOAD && function.says_types => {
                let types: Vec<String> = values.iter().map(|value| value.ty().name().to_owned()).collect();
                Err(EvalError::new(format!("no such overload: {}({})", function.name, types.join(", "))))
            }
            Err(why) => Err(why),
        }
    }

    fn fold(&mut self, range: &Val<'a>, form: Form, two: bool) -> Result<Val<'a>> {
        let entries = match range {
            Val::List(list) => Entries::List(list),
            Val::Map(map) if two => Entries::Pairs(map.entries()?),
            Val::Map(map) => Entries::Keys(map.keys()),
            other => {
                return Err(EvalError::new(format!("got '{}', expected iterable type", other.ty().name())));
            }
        };
        let base = self.locals.len();
        self.locals.push(Val::Null);
        if two {
            self.locals.push(Val::Null);
        }
        let mut folding = Folding::new(form);
        for at in 0..entries.len() {
            match entries.at(at, two)? {
                (first, Some(second)) => {
                    self.locals[base] = first;
                    self.locals[base + 1] = second;
                }
                (first, None) => self.locals[base] = first,
            }
            if self.once(&mut folding, form, base)? {
                break;
            }
        }
        folding.finish()
    }

    /// One round of a walk; whether it is over.
    fn once(&mut self, folding: &mut Folding<'a>, form: Form, base: usize) -> Result<bool> {
        match form {
            Form::All(body) | Form::Exists(body) => {
                let exists = matches!(form, Form::Exists(_));
                // The condition looks at what was gathered, and the step does again.
                self.charge(if exists { 4 } else { 3 })?;
                match self.eval(body) {
                    Ok(Val::Bool(value)) if value == exists => {
                        folding.decided = true;
                        return Ok(true);
                    }
                    Ok(Val::Bool(_)) => {}
                    Ok(_) => folding.fail(EvalError::NO_OVERLOAD),
                    Err(why) if why.is_cancelled() => return Err(why),
                    Err(why) => folding.fail(why),
                }
            }
            Form::ExistsOne(body) => {
                self.charge(1)?;
                match self.eval(body)? {
                    Val::Bool(true) => {
                        self.charge(1)?;
                        folding.count += 1;
                    }
                    Val::Bool(false) => {}
                    _ => return Err(EvalError::NO_OVERLOAD),
                }
            }
            Form::Filter(body) => {
                self.charge(1)?;
                if self.holds(Some(body))? {
                    self.charge(2 + size::LIST)?;
                    folding.items.push(self.locals[base].clone());
                }
            }
            Form::Map { filter, value } => {
                self.charge(1)?;
                if self.holds(filter)? {
                    let value = self.eval(value)?;
                    self.charge(1 + size::LIST)?;
                    folding.items.push(value);
                }
            }
            Form::MapValues { filter, value } => {
                self.charge(2)?;
                if self.holds(filter)? {
                    let value = self.eval(value)?;
                    self.charge(1)?;
                    insert(&mut folding.members, self.locals[base].clone(), value, "insert failed")?;
                }
            }
            Form::MapEntries { filter, entry } => {
                self.charge(1)?;
                if self.holds(filter)? {
                    let Val::Map(entry) = self.eval(entry)? else { return Err(EvalError::NO_OVERLOAD) };
                    self.charge(1 + entry.len() as u64)?;
                    for (key, value) in entry.entries()? {
                        insert(&mut folding.members, key, value, "insert failed")?;
                    }
                }
            }
            Form::Bind => {}
        }
        Ok(false)
    }

    fn holds(&mut self, filter: Option<Id>) -> Result<bool> {
        match filter.map(|filter| self.eval(filter)).transpose()? {
            None | Some(Val::Bool(true)) => Ok(true),
            Some(Val::Bool(false)) => Ok(false),
            Some(_) => Err(EvalError::NO_OVERLOAD),
        }
    }
}

/// What is walked over.
enum Entries<'r, 'a> {
    List(&'r List<'a>),
    Keys(Vec<Val<'a>>),
    Pairs(Vec<(Val<'a>, Val<'a>)>),
}

impl<'a> Entries<'_, 'a> {
    fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Keys(keys) => keys.len(),
            Self::Pairs(pairs) => pairs.len(),
        }
    }

    fn at(&self, at: usize, two: bool) -> Result<(Val<'a>, Option<Val<'a>>)> {
        match self {
            Self::List(list) => {
                let item = list.get(at).unwrap_or(Ok(Val::Null))?;
                Ok(if two { (Val::Int(at as i64), Some(item)) } else { (item, None) })
            }
            Self::Keys(keys) => Ok((keys[at].clone(), None)),
            Self::Pairs(pairs) => Ok((pairs[at].0.clone(), Some(pairs[at].1.clone()))),
        }
    }
}

/// What a walk gathers.
struct Folding<'a> {
    form: Form,
    decided: bool,
    count: usize,
    fault: Option<EvalError>,
    items: Vec<Val<'a>>,
    members: Members<'a>,
}

impl<'a> Folding<'a> {
    fn new(form: Form) -> Self {
        Self { form, decided: false, count: 0, fault: None, items: Vec::new(), members: Members::default() }
    }

    fn fail(&mut self, why: EvalError) {
        self.fault.get_or_insert(why);
    }

    fn finish(self) -> Result<Val<'a>> {
        let quantified = |value: bool| match (self.decided, self.fault.clone()) {
            (false, Some(why)) => Err(why),
            (decided, _) => Ok(Val::Bool(decided == value)),
        };
        match self.form {
            Form::All(_) => quantified(false),
            Form::Exists(_) => quantified(true),
            Form::ExistsOne(_) => Ok(Val::Bool(self.count == 1)),
            Form::Filter(_) | Form::Map { .. } => Ok(Val::list(self.items)),
            Form::MapValues { .. } | Form::MapEntries { .. } => {
                Ok(Val::Map(Map::Made(Arc::new(self.members))))
            }
            Form::Bind => Ok(Val::Null),
        }
    }
}

fn insert<'a>(members: &mut Members<'a>, key: Val<'a>, value: Val<'a>, otherwise: &str) -> Result<()> {
    let shown = key.clone();
    match members.insert(key, value)? {
        None => Ok(()),
        Some(_) if otherwise == "insert failed" => {
            Err(EvalError::new(format!("insert failed: key {} already exists", key_text(&shown))))
        }
        Some(_) => Err(EvalError::new(format!("{otherwise}: {}", key_text(&shown)))),
    }
}

fn key_text(key: &Val<'_>) -> String {
    match key {
        Val::String(text) => text.to_string(),
        Val::Int(number) => number.to_string(),
        Val::Uint(number) => number.to_string(),
        Val::Bool(value) => value.to_string(),
        Val::Double(number) => number.to_string(),
        other => other.ty().name().to_owned(),
    }
}

/// A field of an object; none where it is absent.
fn field_of<'a>(value: &Val<'a>, field: &str) -> Result<Option<Val<'a>>> {
    match value {
        Val::Map(map) => map.field(field),
        Val::Fields(fields) => {
            let found = fields.iter().find(|(name, _)| **name == *field);
            found.map(|(_, value)| value.clone()).transpose()
        }
        Val::Made(made) => Ok(made.get(field).cloned()),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn select<'a>(operand: &Val<'a>, field: &str) -> Result<Val<'a>> {
    if let Val::Optional(_) = operand {
        return optional_field(operand, field);
    }
    field_of(operand, field)?.ok_or_else(|| EvalError::new(format!("no such key: {field}")))
}

fn optional_field<'a>(operand: &Val<'a>, field: &str) -> Result<Val<'a>> {
    let found = match operand {
        Val::Optional(None) => None,
        Val::Optional(Some(inner)) => field_of(inner, field)?,
        other => field_of(other, field)?,
    };
    Ok(found.map_or(Val::Optional(None), Val::some))
}

fn index_of<'a>(operand: &Val<'a>, index: &Val<'a>, optional: bool) -> Result<Val<'a>> {
    match operand {
        Val::Optional(None) => return Ok(Val::Optional(None)),
        Val::Optional(Some(inner)) => return index_of(inner, index, true),
        _ => {}
    }
    let found = match (operand, index) {
        (Val::List(list), index) => {
            let at = match index {
                Val::Int(at) => i128::from(*at),
                Val::Uint(at) => i128::from(*at),
                Val::Double(at) if at.fract() == 0.0 => *at as i128,
                _ => return Err(EvalError::new("unsupported index type in list")),
            };
            let found = usize::try_from(at).ok().and_then(|at| list.get(at)).transpose()?;
            if found.is_none() && !optional {
                return Err(EvalError::new(format!("index out of bounds: {at}")));
            }
            found
        }
        (Val::Map(map), key) => map.find(key)?,
        (Val::Fields(_) | Val::Made(_), Val::String(name)) => field_of(operand, name)?,
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    match (found, optional) {
        (Some(value), true) => Ok(Val::some(value)),
        (None, true) => Ok(Val::Optional(None)),
        (Some(value), false) => Ok(value),
        (None, false) => Err(EvalError::new(format!("no such key: {}", key_text(index)))),
    }
}
