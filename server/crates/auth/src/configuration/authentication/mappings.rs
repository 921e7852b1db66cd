//! What claims say of users, and what must hold of them, as the file has it.

use std::collections::HashSet;

use apiwright_cel::Program;
use apiwright_meta::field::{Path, quoted};
use apiwright_meta::{ErrorList, names};

use super::Rule;
use crate::configuration::strict::{Part, Strict};
use crate::jwt::{Mapping, Of, compiled};

#[derive(Clone, Debug, Default)]
pub(super) struct Mappings {
    pub(super) username: Source,
    pub(super) groups: Source,
    pub(super) uid: Source,
    /// Keys and expressions.
    pub(super) extra: Vec<(String, String)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    claim: String,
    prefix: Option<String>,
    expression: String,
}

impl Source {
    fn read(strict: &mut Strict, of: &Part<'_>, member: &str, known: &[&str]) -> Self {
        let part = strict.object(of, member, known);
        Self {
            claim: strict.text(&part, "claim"),
            prefix: strict.optional_text(&part, "prefix"),
            expression: strict.text(&part, "expression"),
        }
    }

    pub(super) fn mapping(&self) -> Mapping {
        match (self.claim.as_str(), self.expression.as_str()) {
            ("", "") => Mapping::Nothing,
            ("", expression) => Mapping::Expression(expression.into()),
            (claim, _) => {
                Mapping::Claim { claim: claim.into(), prefix: self.prefix.clone().unwrap_or_default() }
            }
        }
    }

    /// The compiled expression, if there is one without faults.
    fn validate(&self, errors: &mut ErrorList, path: &Path, is_required: bool) -> Option<Program> {
        match (self.claim.is_empty(), self.expression.is_empty()) {
            (false, false) => {
                errors.invalid(path.clone(), quoted(""), "claim and expression can't both be set");
            }
            (true, true) if is_required => errors.required(path.clone(), "claim or expression is required"),
            (true, true) => {}
            (true, false) => {
                if let Some(prefix) = &self.prefix {
                    let detail = "may not be specified when expression is set";
                    errors.invalid(path.child("prefix"), quoted(prefix), detail);
                }
                return compile(errors, path.child("expression"), &self.expression, Of::Claims);
            }
            (false, true) if self.prefix.is_none() => errors.required(
                path.child("prefix"),
                "prefix is required when claim is set. It can be set to an empty string to disable prefixing",
            ),
            (false, true) => {}
        }
        None
    }
}

impl Mappings {
    pub(super) fn read(strict: &mut Strict, issuer: &Part<'_>) -> Self {
        let part = strict.object(issuer, "claimMappings", &["username", "groups", "uid", "extra"]);
        let prefixed = ["claim", "prefix", "expression"];
        let extra = strict.objects(&part, "extra", &["key", "valueExpression"]);
        Self {
            username: Source::read(strict, &part, "username", &prefixed),
            groups: Source::read(strict, &part, "groups", &prefixed),
            uid: Source::read(strict, &part, "uid", &["claim", "expression"]),
            extra: extra
                .iter()
                .map(|one| (strict.text(one, "key"), strict.text(one, "valueExpression")))
                .collect(),
        }
    }

    /// `looks_verified` is whether a rule looks whether an email address is its owner's.
    pub(super) fn validate(&self, errors: &mut ErrorList, path: &Path, mut looks_verified: bool) {
        let username = self.username.validate(errors, &path.child("username"), true);
        self.groups.validate(errors, &path.child("groups"), false);
        let uid = path.child("uid");
        match (self.uid.claim.is_empty(), self.uid.expression.is_empty()) {
            (false, false) => errors.invalid(uid, quoted(""), "claim and expression can't both be set"),
            (true, false) => {
                compile(errors, uid.child("expression"), &self.uid.expression, Of::Claims);
            }
            (_, true) => {}
        }
        let mut seen = HashSet::new();
        for (at, (key, expression)) in self.extra.iter().enumerate() {
            let path = path.child("extra").index(at);
            validate_key(errors, &path.child("key"), key);
            if !seen.insert(key) {
                errors.duplicate(path.child("key"), quoted(key));
            } else if expression.is_empty() {
                errors.required(path.child("valueExpression"), "");
            } else if let Some(program) =
                compile(errors, path.child("valueExpression"), expression, Of::Claims)
            {
                looks_verified |= looks_at(&program, "email_verified");
            }
        }
        if let Some(username) = username {
            looks_verified |= looks_at(&username, "email_verified");
            if looks_at(&username, "email") && !looks_verified {
                let detail = "claims.email_verified must be used in claimMappings.username.expression or \
                              claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when \
                              claims.email is used in claimMappings.username.expression";
                let path = path.child("username").child("expression");
                errors.invalid(path, quoted(&self.username.expression), detail);
            }
        }
    }
}

/// Gives whether a rule looks whether an email address is its owner's.
pub(super) fn validate_claim_rules(errors: &mut ErrorList, path: &Path, rules: &[Rule]) -> bool {
    let (mut claims, mut expressions) = (HashSet::new(), HashSet::new());
    let mut looks_verified = false;
    for (at, rule) in rules.iter().enumerate() {
        let path = path.index(at);
        match (rule.claim.is_empty(), rule.expression.is_empty()) {
            (false, false) => {
                errors.invalid(path, quoted(&rule.claim), "claim and expression can't both be set");
            }
            (true, true) => errors.required(path, "claim or expression is required"),
            (false, true) => {
                if !rule.message.is_empty() {
                    let detail = "may not be specified when claim is set";
                    errors.invalid(path.child("message"), quoted(&rule.message), detail);
                }
                if !claims.insert(&rule.claim) {
                    errors.duplicate(path.child("claim"), quoted(&rule.claim));
                }
            }
            (true, false) => {
                if !rule.required.is_empty() {
                    let detail = "may not be specified when expression is set";
                    errors.invalid(path.child("requiredValue"), quoted(&rule.required), detail);
                }
                let path = path.child("expression");
                if !expressions.insert(&rule.expression) {
                    errors.duplicate(path, quoted(&rule.expression));
                } else if let Some(program) = compile(errors, path, &rule.expression, Of::Claim) {
                    looks_verified |= looks_at(&program, "email_verified");
                }
            }
        }
    }
    looks_verified
}

pub(super) fn validate_user_rules(errors: &mut ErrorList, path: &Path, rules: &[Rule]) {
    let mut seen = HashSet::new();
    for (at, rule) in rules.iter().enumerate() {
        let path = path.index(at).child("expression");
        if rule.expression.is_empty() {
            errors.required(path, "");
        } else if !seen.insert(&rule.expression) {
            errors.duplicate(path, quoted(&rule.expression));
        } else {
            compile(errors, path, &rule.expression, Of::User);
        }
    }
}

fn compile(errors: &mut ErrorList, path: Path, expression: &str, of: Of) -> Option<Program> {
    match compiled(expression, of) {
        Ok(program) => Some(program),
        Err(why) => {
            errors.invalid(path, quoted(expression), &why);
            None
        }
    }
}

fn looks_at(program: &Program, claim: &str) -> bool {
    program.selects(0).any(|selected| **selected == *claim)
}

/// A key is a domain and a path: `example.com/tenant`.
fn validate_key(errors: &mut ErrorList, path: &Path, key: &str) {
    let shown = || quoted(key);
    match key.split_once('/').filter(|(domain, rest)| !domain.is_empty() && !rest.is_empty()) {
        None if key.is_empty() => errors.required(path.clone(), ""),
        None => {
            errors.invalid(path.clone(), shown(), "must be a domain-prefixed path (such as \"acme.io/foo\")");
        }
        Some((domain, rest)) => {
            errors.invalid_each(path, domain, names::dns1123_subdomain(domain));
            let is_path = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/%".contains(&byte);
            if !rest.bytes().all(is_path) {
                errors.invalid(path.clone(), quoted(rest), "Invalid path");
            }
        }
    }
    if key.chars().any(char::is_uppercase) {
        errors.invalid(path.clone(), shown(), "must be lowercase");
    }
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let within =
        |of: &str| domain == of || domain.strip_suffix(of).is_some_and(|before| before.ends_with('.'));
    if within("kubernetes.io") || within("k8s.io") {
        let detail = "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use";
        errors.invalid(path.clone(), shown(), detail);
    }
}
