//! What calls can cost (upstream: `apiserver/pkg/cel/library/cost.go`, and cel-go's own).

use super::{Coster, EMPTY, EntrySizes, Operand, Path};
use crate::ast::Id;
use crate::check::Meaning;
use crate::size::{Bounds, LIST, REGEX, STRUCT, TEXT};
use crate::types::{self, Type};
use std::sync::Arc;

/// The cost of a call without its arguments, and the size of what it gives.
struct Call {
    cost: Bounds,
    size: Option<Bounds>,
}

impl Call {
    fn of(cost: Bounds) -> Self {
        Self { cost, size: None }
    }

    fn sized(cost: Bounds, size: Bounds) -> Self {
        Self { cost, size: Some(size) }
    }
}

impl<'a> Coster<'a> {
    pub(super) fn call(&mut self, id: Id, name: &str, target: Option<Id>, args: &[Id]) -> Bounds {
        if let ("dyn", [arg]) = (name, args) {
            let cost = self.cost(*arg);
            let (size, entries) = (self.size(*arg), self.entry_sizes(*arg));
            self.set(id, size, entries);
            return cost.plus(Bounds::ONE);
        }
        let costs: Vec<Bounds> = args.iter().map(|arg| self.cost(*arg)).collect();
        let operands: Vec<Operand<'a>> = args.iter().map(|arg| self.operand(*arg)).collect();
        let (function, overloads, target) = match &self.checked.meanings[id as usize] {
            Meaning::Call { function, overloads, qualified } => {
                (*function, overloads.clone(), target.filter(|_| !qualified))
            }
            // A field that may be absent is priced as any call.
            _ => return costs.iter().fold(Bounds::ONE, |sum, cost| sum.plus(*cost)),
        };
        let mut sum = Bounds::ZERO;
        let target = target.map(|target| {
            sum = self.cost(target);
            self.operand(target)
        });
        let mut whole = EMPTY;
        let mut size: Option<Bounds> = None;
        for overload in overloads {
            let overload = function.overloads[overload].id;
            let call = self.overload(id, function.name, overload, target.as_ref(), &operands, &costs);
            whole = whole.union(call.cost);
            if let Some(more) = call.size {
                size = Some(size.map_or(more, |size| size.union(more)));
            }
            if let ("index_list" | "index_map", Some(arg)) = (overload, args.first()) {
                size = self.entry_sizes(*arg).map(|entries| entries.value);
                let mut path: Path = self.path(*arg);
                path.push(Arc::from(if overload == "index_list" { "@items" } else { "@values" }));
                self.paths.insert(id, path);
            }
            if size.is_none() {
                size = self.size(id);
            }
        }
        self.set(id, size, None);
        sum.plus(whole)
    }

    fn overload(
        &mut self,
        id: Id,
        name: &str,
        overload: &str,
        target: Option<&Operand<'a>>,
        args: &[Operand<'a>],
        costs: &[Bounds],
    ) -> Call {
        let of_args = costs.iter().fold(Bounds::ZERO, |sum, cost| sum.plus(*cost));
        let found = self
            .of_extension(overload, target, args)
            .or_else(|| self.of_kubernetes(name, overload, target, args));
        if let Some(call) = found {
            return Call { cost: call.cost.plus(of_args), size: call.size };
        }
        // Only one side may be evaluated.
        match (overload, args, costs) {
            ("logical_or" | "logical_and", _, [left, right]) => {
                return Call::of(Bounds { min: left.min, max: left.plus(*right).max });
            }
            ("conditional", [_, yes, no], [condition, yes_cost, no_cost]) => {
                let entries =
                    (yes.id.and_then(|id| self.entry_sizes(id)), no.id.and_then(|id| self.entry_sizes(id)));
                if let (Some(yes), Some(no)) = entries {
                    self.entries.insert(id, yes.union(no));
                }
                let size = or_unknown(yes).union(or_unknown(no));
                return Call::sized(condition.plus(yes_cost.union(*no_cost)), size);
            }
            _ => {}
        }
        let call = self.of_language(id, overload, target, args);
        Call { cost: call.cost.plus(of_args), size: call.size }
    }

    fn of_language(
        &mut self,
        id: Id,
        overload: &str,
        target: Option<&Operand<'_>>,
        args: &[Operand<'_>],
    ) -> Call {
        match (overload, target, args) {
            ("string_format", Some(target), _) => Call::of(or_unknown(target).scaled(TEXT)),
            ("string_to_bytes", _, [arg]) => {
                let size = or_unknown(arg);
                // A character takes up to four bytes.
                Call::sized(size.scaled(TEXT), Bounds { min: size.min, max: size.max.saturating_mul(4) })
            }
            ("bytes_to_string", _, [arg]) => {
                let size = or_unknown(arg);
                Call::sized(size.scaled(TEXT), Bounds { min: size.min / 4, max: size.max })
            }
            ("strings_quote", _, [arg]) => {
                let size = or_unknown(arg);
                let quoted = Bounds {
                    min: size.min.saturating_add(2),
                    max: size.max.saturating_mul(2).saturating_add(2),
                };
                Call::sized(size.scaled(TEXT), quoted)
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => Call::of(or_unknown(arg).scaled(TEXT)),
            ("in_list", _, [_, list]) => Call::of(or_unknown(list)),
            ("matches_string", Some(target), [pattern]) => {
                Call::of(Self::regex(or_unknown(target), or_unknown(pattern)))
            }
            ("contains_string", Some(target), [part]) => {
                Call::of(or_unknown(target).scaled(TEXT).times(or_unknown(part).scaled(TEXT)))
            }
            ("add_string" | "add_bytes" | "add_list", _, [left, right]) => {
                let size = or_unknown(left).plus(or_unknown(right));
                let entries = |operand: &Operand<'_>| operand.id.and_then(|id| self.entry_sizes(id));
                if let (Some(left), Some(right)) = (entries(left), entries(right)) {
                    let both: EntrySizes = left.union(right);
                    self.entries.insert(id, both);
                }
                let cost = if overload == "add_list" { Bounds::ONE } else { size.scaled(TEXT) };
                Call::sized(cost, size)
            }
            ("equals" | "not_equals", _, [left, right]) => Call::of(smaller(left, right)),
            (compares, _, [left, right])
                if (compares.starts_with("less_") || compares.starts_with("greater_"))
                    && (compares.ends_with("_string") || compares.ends_with("_bytes")) =>
            {
                Call::of(smaller(left, right))
            }
            _ => Call::of(Bounds::ONE),
        }
    }

    /// The libraries of cel-go that bring prices of their own.
    fn of_extension(
        &self,
        overload: &str,
        target: Option<&Operand<'_>>,
        args: &[Operand<'_>],
    ) -> Option<Call> {
        let allocating = |factor: f64, size: Bounds| {
            Call::sized(size.scaled(factor).plus(Bounds::exactly(1 + LIST)), size)
        };
        Some(match (overload, target, args) {
            ("list_slice", Some(target), [start, end]) => {
                let start = self.whole(start).unwrap_or_default();
                let end = self.whole(end).unwrap_or(self.known(target).max);
                allocating(1.0, Bounds::exactly(end.saturating_sub(start)))
            }
            ("lists_range", _, [count]) => {
                allocating(1.0, Bounds::exactly(self.whole(count).unwrap_or(u64::MAX)))
            }
            ("list_reverse", Some(target), []) => allocating(1.0, self.known(target)),
            ("list_flatten", Some(target), []) => allocating(1.0, self.known(target)),
            ("list_flatten_int", Some(target), [depth]) => {
                allocating(self.whole(depth).unwrap_or(u64::MAX) as f64, self.known(target))
            }
            ("list_distinct", Some(target), []) => {
                let size = self.known(target);
                allocating(2.0, size.times(size))
            }
            (sort, Some(target), []) if sort.starts_with("list_") && sort.ends_with("_sort") => {
                let size = self.known(target);
                allocating(sort_factor(sort), size.times(size))
            }
            (sort, Some(_), [keys]) if sort.ends_with("_sortByAssociatedKeys") => {
                let size = self.known(keys);
                allocating(sort_factor(sort), size.times(size))
            }
            (
                "list_sets_contains_list" | "list_sets_intersects_list" | "list_sets_equivalent_list",
                _,
                [a, b],
            ) => {
                let times = if overload == "list_sets_equivalent_list" { 2.0 } else { 1.0 };
                Call::of(self.known(a).times(self.known(b)).scaled(times).plus(Bounds::ONE))
            }
            _ => return None,
        })
    }

    fn of_kubernetes(
        &self,
        name: &str,
        overload: &str,
        target: Option<&Operand<'_>>,
        args: &[Operand<'_>],
    ) -> Option<Call> {
        let text = |operand: &Operand<'_>| self.known(operand).scaled(TEXT);
        Some(match (name, target, args) {
            ("check", ..) => Call::of(Bounds::exactly(350_000)),
            (
                "serviceAccount" | "path" | "group" | "resource" | "subresource" | "namespace" | "name"
                | "allowed" | "reason" | "error" | "errored",
                ..,
            ) => Call::of(Bounds::ONE),
            ("fieldSelector" | "labelSelector", _, [selector]) => {
                let length = self.known(selector);
                let requirements = length.scaled(0.5).scaled((LIST + STRUCT) as f64);
                Call::of(Bounds::exactly(LIST).plus(length.scaled(TEXT)).plus(requirements))
            }
            ("isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf", Some(target), _) => {
                match self.items_of(target) {
                    Some((item, size)) => {
                        let mut once = Bounds::ONE;
                        if matches!(item, Type::String | Type::Bytes) {
                            once = once.plus(size.scaled(TEXT));
                        }
                        Call::of(self.known(target).times(once))
                    }
                    None => Call::of(text(target)),
                }
            }
            ("url" | "jsonpatch.escapeKey", _, [arg]) => Call::sized(text(arg), self.known(arg)),
            ("lowerAscii" | "upperAscii" | "substring" | "trim", Some(target), _) => {
                Call::sized(text(target), self.known(target))
            }
            ("replace", Some(target), [old, new, ..]) => {
                let size = self.known(target);
                Call::sized(size.scaled(2.0 * TEXT), replaced(size, self.known(old), self.known(new)))
            }
            ("split", Some(target), _) => {
                let size = self.known(target);
                let parts = args.get(1).and_then(|limit| self.whole(limit)).unwrap_or(size.max);
                Call::sized(size.scaled(2.0 * TEXT), Bounds { min: 0, max: parts })
            }
            ("join", Some(target), _) => {
                let list = self.known(target);
                let mut size = self.items_of(target).map_or(Bounds::ZERO, |(_, item)| list.times(item));
                if let Some(separator) = args.first() {
                    let gaps = Bounds { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
                    size = size.plus(self.known(separator).times(gaps));
                }
                Call::sized(size.scaled(TEXT), size)
            }
            ("find" | "findAll", Some(target), [pattern, ..]) => {
                let size = self.known(target);
                Call::sized(Self::regex(size, self.known(pattern)), Bounds { min: 0, max: size.max })
            }
            ("ip", ..) if overload == "cidr_ip" => Call::of(Bounds::ONE),
            (
                "cidr" | "isIP" | "isCIDR" | "ip" | "quantity" | "isQuantity" | "semver" | "isSemver",
                _,
                [arg, ..],
            ) => Call::of(text(arg)),
            ("ip.isCanonical", _, [arg]) => Call::of(self.known(arg).scaled(2.0 * TEXT)),
            ("containsIP", _, [arg]) => {
                let mut cost = Bounds { min: 8, max: 32 }.scaled(TEXT);
                if overload == "cidr_contains_ip_string" {
                    cost = cost.plus(text(arg));
                }
                Call::of(cost)
            }
            ("containsCIDR", _, [arg]) => {
                let mut cost = Bounds { min: 8, max: 32 }.scaled(TEXT);
                cost = cost.plus(Bounds { min: 4, max: 16 }.scaled(TEXT)).plus(Bounds::ONE);
                if overload == "cidr_contains_cidr_string" {
                    cost = cost.plus(text(arg));
                }
                Call::of(cost)
            }
            ("validate", _, [arg]) => Call::of(text(arg).scaled(128.0 * REGEX)),
            (
                "masked"
                | "prefixLength"
                | "family"
                | "isUnspecified"
                | "isLoopback"
                | "isLinkLocalMulticast"
                | "isLinkLocalUnicast"
                | "isGlobalUnicast"
                | "format.named"
                | "sign"
                | "asInteger"
                | "isInteger"
                | "asApproximateFloat"
                | "isGreaterThan"
                | "isLessThan"
                | "compareTo"
                | "add"
                | "sub"
                | "major"
                | "minor"
                | "patch"
                | "getScheme"
                | "getHostname"
                | "getHost"
                | "getPort"
                | "getEscapedPath"
                | "getQuery",
                ..,
            ) => Call::of(Bounds::ONE),
            ("_==_", _, [left, right]) if left.ty == right.ty => match left.ty {
                Type::Opaque(_) => Call::of(Bounds::ONE),
                ty if *ty == types::FORMAT => Call::of(Bounds { min: 1, max: 64 }.scaled(TEXT)),
                ty if *ty == types::URL => {
                    let max = right.size.map_or(1, |size| size.max);
                    Call::of(Bounds { min: 1, max }.scaled(TEXT))
                }
                Type::Named(_) => Call::of(Bounds::ONE),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// The type and the size of what is in a list.
    fn items_of<'t>(&self, list: &Operand<'t>) -> Option<(&'t Type, Bounds)> {
        let item = match list.ty {
            Type::List(item) | Type::Optional(item) => &**item,
            Type::Map(pair) => &pair.0,
            _ => return None,
        };
        let mut path = list.path.clone();
        if !path.is_empty() {
            path.push(Arc::from("@items"));
        }
        Some((item, self.declared_size(&path).unwrap_or(Bounds::UNKNOWN)))
    }
}

fn or_unknown(operand: &Operand<'_>) -> Bounds {
    operand.size.unwrap_or(Bounds::UNKNOWN)
}

fn smaller(left: &Operand<'_>, right: &Operand<'_>) -> Bounds {
    let max = or_unknown(left).max.min(or_unknown(right).max);
    Bounds { min: u64::from(max > 0), max }.scaled(TEXT)
}

fn sort_factor(overload: &str) -> f64 {
    if overload.starts_with("list_string_") || overload.starts_with("list_bytes_") { 2.0 + TEXT } else { 2.0 }
}

/// How long a text can be once parts of it were replaced.
fn replaced(size: Bounds, old: Bounds, new: Bounds) -> Bounds {
    let times = |size: u64, by: u64| (size as f64 / by as f64).ceil() as u64;
    let (most, kept_most) = if old.min == 0 {
        (size.max.saturating_add(1), size.max)
    } else if new.max <= old.min {
        (0, size.max)
    } else {
        (times(size.max, old.min), 0)
    };
    let (least, kept_least) = if old.max == 0 {
        (size.min.saturating_add(1), size.min)
    } else if old.max <= new.min {
        (0, size.min)
    } else {
        (times(size.min, old.max), 0)
    };
    Bounds { min: least, max: most }.times(new).plus(Bounds { min: kept_least, max: kept_most })
}
