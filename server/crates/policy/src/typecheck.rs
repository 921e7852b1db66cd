//! What is wrong with a validating policy's expressions, seen when it is known what the objects are that it is about.
//!
//! Invariant: this is advice. Nothing of it has a say in whether a policy is stored, or in what it decides.

use std::collections::BTreeMap;
use std::sync::Arc;

use apiwright_cel::{Decl, Env, Type};
use apiwright_json::Value;

use crate::expression::{Expected, compile};
use crate::params::ParamKind;
use crate::vocabulary;

/// So many types of a rule are looked at.
const TYPES_MAX: usize = 10;
const COMPILATION: &str = "compilation failed: ";

/// Knows what objects look like.
pub trait Types: Send + Sync {
    /// The kind of a resource's objects and what they are, where the resource is served.
    fn of_resource(&self, group: &str, version: &str, resource: &str) -> Option<(String, Arc<Decl>)>;

    /// What objects of a kind are.
    fn of_kind(&self, group: &str, version: &str, kind: &str) -> Option<Arc<Decl>>;
}

/// A warning about an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Where the expression is.
    pub field: String,
    /// What is wrong with it, for each kind with which something is.
    pub text: String,
}

/// All warnings about a policy, in the order of its validations.
pub fn warnings(policy: &Value, types: &dyn Types) -> Vec<Warning> {
    let kinds = kinds(policy, types);
    let params = ParamKind::of(policy).map(|kind| {
        let (group, version) = kind.group_version();
        types.of_kind(group, version, kind.kind()).unwrap_or_else(Decl::dynamic)
    });
    let envs: Vec<(String, Env)> = kinds
        .into_iter()
        .map(|((group, version, kind), decl)| {
            let env = env(&decl, params.as_ref(), items(policy, "variables"));
            (format!("{group}/{version}, Kind={kind}"), env)
        })
        .collect();
    let mut found = Vec::new();
    for (at, validation) in items(policy, "validations").iter().enumerate() {
        for member in ["expression", "messageExpression"] {
            let expression = validation.text_at(&[member]);
            if expression.is_empty() && member == "messageExpression" {
                continue;
            }
            let faults = envs.iter().filter_map(|(kind, env)| {
                let fault = compile(env, expression, Expected::Any).err()?;
                Some(format!("{kind}: {}\n", fault.strip_prefix(COMPILATION).unwrap_or(&fault)))
            });
            let text = faults.collect::<Vec<_>>().join("\n");
            if !text.is_empty() {
                found.push(Warning { field: format!("spec.validations[{at}].{member}"), text });
            }
        }
    }
    found
}

type Kind = (String, String, String);

/// The kinds that a policy is about, where it says so without wildcards.
fn kinds(policy: &Value, types: &dyn Types) -> BTreeMap<Kind, Arc<Decl>> {
    let mut found = BTreeMap::new();
    let constraints = policy.at(&["spec", "matchConstraints", "resourceRules"]).and_then(Value::as_array);
    for rule in constraints.into_iter().flatten() {
        let exact = |member: &str| -> Option<Vec<&str>> {
            let mut names = texts(rule, member);
            names.sort_unstable();
            (!names.iter().any(|name| name.contains('*'))).then_some(names)
        };
        let (Some(groups), Some(versions)) = (exact("apiGroups"), exact("apiVersions")) else { continue };
        let mut resources = texts(rule, "resources");
        resources.retain(|name| !name.contains(['*', '/']));
        resources.sort_unstable();
        let mut count = 0;
        for group in &groups {
            for version in &versions {
                for resource in &resources {
                    let Some((kind, decl)) = types.of_resource(group, version, resource) else { continue };
                    found.insert(((*group).to_owned(), (*version).to_owned(), kind), decl);
                    count += 1;
                    if count == TYPES_MAX {
                        return found;
                    }
                }
            }
        }
    }
    found
}

/// What expressions may name, with types; `params` where the policy has some.
fn env(object: &Arc<Decl>, params: Option<&Arc<Decl>>, variables: &[Value]) -> Env {
    let mut types: Vec<(String, Type)> = Vec::new();
    for one in variables {
        // Variables see those before them; one with a fault may be anything.
        let env = vocabulary::typed_env(object, params, &types);
        let program = compile(&env, one.text_at(&["expression"]), Expected::Any);
        let ty = program.map_or(Type::Dyn, |program| program.ty().clone());
        types.push((one.text_at(&["name"]).to_owned(), ty));
    }
    vocabulary::typed_env(object, params, &types)
}

fn items<'a>(policy: &'a Value, member: &str) -> &'a [Value] {
    policy.at(&["spec", member]).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn texts<'a>(rule: &'a Value, member: &str) -> Vec<&'a str> {
    let all = rule.get(member).and_then(Value::as_array);
    all.into_iter().flatten().filter_map(Value::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Known;

    impl Types for Known {
        fn of_resource(&self, group: &str, version: &str, name: &str) -> Option<(String, Arc<Decl>)> {
            if (group, version, name) != ("apps", "v1", "deployments") {
                return None;
            }
            let spec = Decl::object("Deployment.spec", vec![("replicas", Decl::int())]);
            Some(("Deployment".into(), Decl::object("Deployment", vec![("spec", spec)])))
        }

        fn of_kind(&self, _: &str, _: &str, kind: &str) -> Option<Arc<Decl>> {
            (kind == "Limit").then(|| Decl::object("Limit", vec![("max", Decl::int())]))
        }
    }

    #[test]
    fn faults_that_only_types_show() {
        let about = |resources: &str, more: &str| {
            let text = format!(
                r#"{{"spec":{{"matchConstraints":{{"resourceRules":[{{"apiGroups":["apps"],"apiVersions":["v1"],"resources":[{resources}]}}]}},{more}}}}}"#
            );
            let policy = apiwright_json::decode(text.as_bytes()).unwrap().0;
            warnings(&policy, &Known)
        };
        let deployments = "\"deployments\"";
        for (resources, more, expected) in [
            (deployments, r#""validations":[{"expression":"object.spec.replicas > 1"}]"#, &[][..]),
            (
                deployments,
                r#""validations":[{"expression":"object == null || oldObject.spec.replicas > 1"}]"#,
                &[],
            ),
            (
                deployments,
                r#""validations":[{"expression":"object.spec.replicas > '1'","messageExpression":"'got ' + object.spec.replicas"}]"#,
                &[
                    (
                        "spec.validations[0].expression",
                        "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for '_>_' applied to '(int, string)'\n | object.spec.replicas > '1'\n | .....................^\n",
                    ),
                    (
                        "spec.validations[0].messageExpression",
                        "apps/v1, Kind=Deployment: ERROR: <input>:1:8: found no matching overload for '_+_' applied to '(string, int)'\n | 'got ' + object.spec.replicas\n | .......^\n",
                    ),
                ],
            ),
            ("\"*\"", r#""validations":[{"expression":"object.spec.replicas > '1'"}]"#, &[]),
            ("\"pods\"", r#""validations":[{"expression":"object.spec.replicas > '1'"}]"#, &[]),
            (
                deployments,
                r#""paramKind":{"apiVersion":"e/v1","kind":"Limit"},"validations":[{"expression":"object.spec.replicas > params.max"}]"#,
                &[],
            ),
            (
                deployments,
                r#""variables":[{"name":"n","expression":"object.spec.replicas"}],"validations":[{"expression":"variables.n == 1 && variables.m"}]"#,
                &[(
                    "spec.validations[0].expression",
                    "apps/v1, Kind=Deployment: ERROR: <input>:1:30: undefined field 'm'\n | variables.n == 1 && variables.m\n | .............................^\n",
                )],
            ),
        ] {
            let found = about(resources, more);
            let found: Vec<_> = found.iter().map(|one| (one.field.as_str(), one.text.as_str())).collect();
            assert_eq!(found, expected, "{more}");
        }
    }
}
