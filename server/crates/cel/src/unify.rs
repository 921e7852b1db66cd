//! Which types fit which, and what type parameters stand for (upstream: cel-go's `checker/types.go`).

use std::collections::HashMap;
use std::sync::Arc;

use crate::types::{Param, Type};

/// What parameters are known to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mapping {
    known: HashMap<Param, Type>,
    /// What was known before of what changed, to take back what a failed attempt concluded.
    trail: Vec<(Param, Option<Type>)>,
    free: u32,
}

impl Mapping {
    /// A parameter of which nothing is known.
    pub(crate) fn fresh(&mut self) -> Type {
        self.free += 1;
        Type::Param(Param::Free(self.free - 1))
    }

    /// A type with its known parameters replaced; the unknown ones by `dyn` if wanted.
    pub(crate) fn substitute(&self, ty: &Type, to_dyn: bool) -> Type {
        let inner = |ty: &Type| self.substitute(ty, to_dyn);
        match ty {
            Type::Param(param) => match self.known.get(param) {
                Some(known) => inner(known),
                None if to_dyn => Type::Dyn,
                None => ty.clone(),
            },
            Type::List(item) => Type::list(inner(item)),
            Type::Map(pair) => Type::map(inner(&pair.0), inner(&pair.1)),
            Type::Optional(of) => Type::optional(inner(of)),
            Type::Type(Some(of)) => Type::of(inner(of)),
            other => other.clone(),
        }
    }

    /// Whether values of one type may be where another is wanted; what that says of parameters is kept then.
    pub(crate) fn assignable(&mut self, from: &Type, to: &Type) -> bool {
        self.all_assignable(&[(from, to)])
    }

    /// The same for several at once.
    pub(crate) fn all_assignable(&mut self, pairs: &[(&Type, &Type)]) -> bool {
        self.trail.clear();
        let fits = pairs.iter().all(|(from, to)| self.fits(from, to));
        if !fits {
            for (param, before) in std::mem::take(&mut self.trail).into_iter().rev() {
                match before {
                    Some(ty) => self.known.insert(param, ty),
                    None => self.known.remove(&param),
                };
            }
        }
        fits
    }

    fn set(&mut self, param: Param, ty: Type) {
        let before = self.known.insert(param, ty);
        self.trail.push((param, before));
    }

    fn fits(&mut self, from: &Type, to: &Type) -> bool {
        if let Type::Param(param) = to {
            let (valid, known) = self.stands_for(from, *param);
            if valid || known {
                return valid;
            }
        }
        if let Type::Param(param) = from {
            return self.stands_for(to, *param).0;
        }
        if from.is_dyn_or_error() || to.is_dyn_or_error() {
            return true;
        }
        match (from, to) {
            (Type::Null, other) | (other, Type::Null) => nullable(other),
            (Type::Type(_), Type::Type(_)) => true,
            (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => self.fits(a, b),
            (Type::Map(a), Type::Map(b)) => self.fits(&a.0, &b.0) && self.fits(&a.1, &b.1),
            _ => from == to,
        }
    }

    /// Whether a type can be what a parameter stands for, and whether the parameter stands for something already.
    fn stands_for(&mut self, ty: &Type, param: Param) -> (bool, bool) {
        if *ty == Type::Param(param) {
            return (true, true);
        }
        if let Some(known) = self.known.get(&param).cloned() {
            if *ty == known {
                return (true, true);
            }
            if !self.fits(ty, &known) {
                return (false, true);
            }
            let general = most_general(ty, &known);
            if self.free_of(param, &general) {
                self.set(param, general);
            }
            return (true, true);
        }
        let free = self.free_of(param, ty);
        if free {
            self.set(param, ty.clone());
        }
        (free, false)
    }

    /// Whether a parameter is nowhere in a type.
    fn free_of(&self, param: Param, within: &Type) -> bool {
        match within {
            Type::Param(other) if *other == param => false,
            Type::Param(other) => self.known.get(other).is_none_or(|known| self.free_of(param, known)),
            other => other.parameters().into_iter().all(|inner| self.free_of(param, inner)),
        }
    }

    /// A declared type with parameters of its own.
    pub(crate) fn instance(&mut self, ty: &Type, fresh: &mut Vec<(char, Type)>) -> Type {
        match ty {
            Type::Param(Param::Declared(name)) => {
                if let Some((_, made)) = fresh.iter().find(|(known, _)| known == name) {
                    return made.clone();
                }
                let made = self.fresh();
                fresh.push((*name, made.clone()));
                made
            }
            Type::List(item) => Type::list(self.instance(item, fresh)),
            Type::Map(pair) => Type::map(self.instance(&pair.0, fresh), self.instance(&pair.1, fresh)),
            Type::Optional(of) => Type::optional(self.instance(of, fresh)),
            Type::Type(Some(of)) => Type::Type(Some(Arc::new(self.instance(of, fresh)))),
            other => other.clone(),
        }
    }
}

/// The more general of two types that fit each other.
pub(crate) fn most_general(a: &Type, b: &Type) -> Type {
    if less_specific(a, b) { a.clone() } else { b.clone() }
}

fn less_specific(a: &Type, b: &Type) -> bool {
    match (a, b) {
        (Type::Dyn | Type::Param(_), _) => true,
        (_, Type::Dyn | Type::Param(_)) => false,
        (Type::List(a), Type::List(b)) | (Type::Optional(a), Type::Optional(b)) => less_specific(a, b),
        (Type::Map(a), Type::Map(b)) => less_specific(&a.0, &b.0) && less_specific(&a.1, &b.1),
        (Type::Type(_), Type::Type(_)) => true,
        _ => a == b,
    }
}

/// Whether null may be where such a type is wanted.
fn nullable(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Null
            | Type::Opaque(_)
            | Type::Optional(_)
            | Type::Struct(_)
            | Type::Named(_)
            | Type::Duration
            | Type::Timestamp
    )
}
