//! Questions to the authorizer.

use std::sync::Arc;

use apiwright_meta::names;

use crate::access::{Access, Question};
use crate::error::EvalError;
use crate::functions::{Entry, Price};
use crate::value::Val;

pub(super) const FUNCTIONS: &[Entry] = &[
    Entry {
        name: "path",
        price: Price::One,
        native: path,
        signatures: &["authorizer_path: authorizer.(string) -> path"],
    },
    Entry {
        name: "group",
        price: Price::One,
        native: group,
        signatures: &["authorizer_group: authorizer.(string) -> group"],
    },
    Entry {
        name: "serviceAccount",
        price: Price::One,
        native: service_account,
        signatures: &["authorizer_serviceaccount: authorizer.(string, string) -> authorizer"],
    },
    Entry {
        name: "resource",
        price: Price::One,
        native: resource,
        signatures: &["groupcheck_resource: group.(string) -> resource"],
    },
    Entry {
        name: "subresource",
        price: Price::One,
        native: subresource,
        signatures: &["resourcecheck_subresource: resource.(string) -> resource"],
    },
    Entry {
        name: "namespace",
        price: Price::One,
        native: namespace,
        signatures: &["resourcecheck_namespace: resource.(string) -> resource"],
    },
    Entry {
        name: "name",
        price: Price::One,
        native: name,
        signatures: &["resourcecheck_name: resource.(string) -> resource"],
    },
    Entry {
        name: "fieldSelector",
        price: Price::Selector,
        native: field_selector,
        signatures: &["authorizer_fieldselector: resource.(string) -> resource"],
    },
    Entry {
        name: "labelSelector",
        price: Price::Selector,
        native: label_selector,
        signatures: &["authorizer_labelselector: resource.(string) -> resource"],
    },
    Entry {
        name: "check",
        price: Price::Check,
        native: check,
        signatures: &[
            "pathcheck_check: path.(string) -> decision",
            "resourcecheck_check: resource.(string) -> decision",
        ],
    },
    Entry {
        name: "errored",
        price: Price::One,
        native: errored,
        signatures: &["decision_errored: decision.() -> bool"],
    },
    Entry {
        name: "error",
        price: Price::One,
        native: error,
        signatures: &["decision_error: decision.() -> string"],
    },
    Entry {
        name: "allowed",
        price: Price::One,
        native: allowed,
        signatures: &["decision_allowed: decision.() -> bool"],
    },
    Entry {
        name: "reason",
        price: Price::One,
        native: reason,
        signatures: &["decision_reason: decision.() -> string"],
    },
];

fn value(access: Access<'_>) -> Val<'_> {
    Val::Access(Arc::new(access))
}

/// What a call asks, and with which word.
fn asked<'r, 'a>(args: &'r [Val<'a>]) -> Result<(&'r Access<'a>, &'r str), EvalError> {
    match args {
        [Val::Access(access), Val::String(word)] => Ok((access, word)),
        _ => Err(EvalError::NO_OVERLOAD),
    }
}

fn path<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (Access::Authorizer(asker), word) = asked(args)? else { return Err(EvalError::NO_OVERLOAD) };
    if word.trim().is_empty() {
        return Err(EvalError::new("path must not be empty"));
    }
    Ok(value(Access::Path(asker.clone(), word.to_owned())))
}

fn group<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (Access::Authorizer(asker), word) = asked(args)? else { return Err(EvalError::NO_OVERLOAD) };
    Ok(value(Access::Group(asker.clone(), word.to_owned())))
}

fn service_account<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let [Val::Access(access), Val::String(namespace), Val::String(name)] = args else {
        return Err(EvalError::NO_OVERLOAD);
    };
    let Access::Authorizer(asker) = &**access else { return Err(EvalError::NO_OVERLOAD) };
    if !names::name_is_dns_subdomain(name, false).is_empty() {
        return Err(EvalError::new("Invalid service account name"));
    }
    if !names::name_is_dns_label(namespace, false).is_empty() {
        return Err(EvalError::new("Invalid service account namespace"));
    }
    Ok(value(Access::Authorizer(asker.as_service_account(namespace, name))))
}

fn resource<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (Access::Group(asker, group), word) = asked(args)? else { return Err(EvalError::NO_OVERLOAD) };
    if word.trim().is_empty() {
        return Err(EvalError::new("resource must not be empty"));
    }
    let question = Question { group: group.clone(), resource: word.to_owned(), ..Question::default() };
    Ok(value(Access::Resource(asker.clone(), question)))
}

/// The same question with one thing more.
fn with<'a>(args: &[Val<'a>], set: fn(&mut Question, String)) -> Result<Val<'a>, EvalError> {
    let (Access::Resource(asker, question), word) = asked(args)? else { return Err(EvalError::NO_OVERLOAD) };
    let mut question = question.clone();
    set(&mut question, word.to_owned());
    Ok(value(Access::Resource(asker.clone(), question)))
}

fn subresource<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    with(args, |question, word| question.subresource = word)
}

fn namespace<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    with(args, |question, word| question.namespace = word)
}

fn name<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    with(args, |question, word| question.name = word)
}

fn field_selector<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    with(args, |question, word| question.field_selector = word)
}

fn label_selector<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    with(args, |question, word| question.label_selector = word)
}

fn check<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    let (access, verb) = asked(args)?;
    let decision = match access {
        Access::Path(asker, path) => asker.check_path(path, verb),
        Access::Resource(asker, question) => asker.check_resource(question, verb),
        _ => return Err(EvalError::NO_OVERLOAD),
    };
    Ok(value(Access::Decision(decision)))
}

fn decided<'a>(
    args: &[Val<'a>],
    tell: fn(&crate::access::Decision) -> Val<'a>,
) -> Result<Val<'a>, EvalError> {
    let [Val::Access(access)] = args else { return Err(EvalError::NO_OVERLOAD) };
    let Access::Decision(decision) = &**access else { return Err(EvalError::NO_OVERLOAD) };
    Ok(tell(decision))
}

fn errored<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    decided(args, |decision| Val::Bool(decision.error.is_some()))
}

fn error<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    decided(args, |decision| Val::text(decision.error.as_deref().unwrap_or_default()))
}

fn allowed<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    decided(args, |decision| Val::Bool(decision.allowed))
}

fn reason<'a>(args: &[Val<'a>]) -> Result<Val<'a>, EvalError> {
    decided(args, |decision| Val::text(decision.reason.as_str()))
}
