//! All that decides whether a webhook or a policy is about a request.

use apiwright_json::Value;
use apiwright_meta::labels::LabelSelector;
use apiwright_meta::status::Result;
use apiwright_meta::{GroupResource, Status, object};

use super::{Matched, Rule};
use crate::attributes::{Attributes, Operation};
use crate::objects::Objects;

/// Rules and selectors, compiled.
#[derive(Clone, Debug)]
pub struct Criteria {
    rules: Vec<Rule>,
    exclude: Vec<Rule>,
    /// Whether no rule at all means every request: so it is for the bindings of policies.
    matches_without_rules: bool,
    policy: MatchPolicy,
    namespaces: Selector,
    objects: Selector,
}

/// Whether other versions of the same objects match, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum MatchPolicy {
    Exact,
    Equivalent,
}

/// A selector, or why it is none.
type Selector = Result<LabelSelector, String>;

impl Criteria {
    /// Those of a webhook in normal form.
    pub fn of_webhook(webhook: &Value) -> Self {
        Self {
            rules: rules(webhook, "rules"),
            exclude: Vec::new(),
            matches_without_rules: false,
            ..Self::common(webhook)
        }
    }

    /// Those of `MatchResources` in normal form.
    pub fn of_match_resources(resources: &Value) -> Self {
        Self {
            rules: rules(resources, "resourceRules"),
            exclude: rules(resources, "excludeResourceRules"),
            matches_without_rules: true,
            ..Self::common(resources)
        }
    }

    fn common(value: &Value) -> Self {
        let equivalent = value.text_at(&["matchPolicy"]) == "Equivalent";
        Self {
            rules: Vec::new(),
            exclude: Vec::new(),
            matches_without_rules: false,
            policy: if equivalent { MatchPolicy::Equivalent } else { MatchPolicy::Exact },
            namespaces: selector(value.get("namespaceSelector")),
            objects: selector(value.get("objectSelector")),
        }
    }

    /// As what a request matches by the rules, whatever the selectors say.
    pub fn by_rules<'a>(&self, request: &'a Attributes<'a>) -> Option<Matched<'a>> {
        if !self.exclude.is_empty() && self.find(&self.exclude, request).is_some() {
            return None;
        }
        if self.rules.is_empty() && self.matches_without_rules {
            return Some(Matched::own(request));
        }
        self.find(&self.rules, request)
    }

    /// As what a request matches.
    ///
    /// # Errors
    /// Where a selector cannot be told: its namespace is not there, say.
    pub async fn matches<'a>(
        &self,
        request: &'a Attributes<'a>,
        object: Option<&Value>,
        old: Option<&Value>,
        objects: &Objects,
    ) -> Result<Option<Matched<'a>>> {
        let Some(matched) = self.by_rules(request) else { return Ok(None) };
        let selects = self.selects_object(object, old);
        if matches!(selects, Ok(false)) {
            return Ok(None);
        }
        if !self.selects_namespace(request, object, objects).await? {
            return Ok(None);
        }
        selects.map(|_| Some(matched))
    }

    fn find<'a>(&self, rules: &[Rule], request: &'a Attributes<'a>) -> Option<Matched<'a>> {
        if rules.iter().any(|rule| rule.matches(request, request.resource)) {
            return Some(Matched::own(request));
        }
        if self.policy == MatchPolicy::Exact {
            return None;
        }
        rules.iter().find_map(|rule| {
            let other = request.equivalents().find(|other| rule.matches(request, other))?;
            Some(Matched::equivalent(request, other))
        })
    }

    /// Whether the labels of the object, as it was or as it will be, are selected.
    fn selects_object(&self, object: Option<&Value>, old: Option<&Value>) -> Result<bool> {
        let selector = self.objects.as_ref().map_err(Status::internal)?;
        if selector.is_empty() {
            return Ok(true);
        }
        Ok(object
            .into_iter()
            .chain(old)
            .any(|one| one.get("metadata").is_some() && selector.matches(|key| object::label(one, key))))
    }

    /// Whether the namespace of a request is selected; what is of the cluster is.
    async fn selects_namespace(
        &self,
        request: &Attributes<'_>,
        object: Option<&Value>,
        objects: &Objects,
    ) -> Result<bool> {
        let of_namespaces = *request.resource.plural == *"namespaces";
        if request.namespace.is_empty() && !of_namespaces {
            return Ok(true);
        }
        let selector = self.namespaces.as_ref().map_err(Status::internal)?;
        if selector.is_empty() {
            return Ok(true);
        }
        let writes = matches!(request.operation, Operation::Create | Operation::Update);
        if let (true, true, "", Some(namespace)) = (of_namespaces, writes, request.subresource, object) {
            return Ok(selector.matches(|key| object::label(namespace, key)));
        }
        let Some(namespace) = objects.stored("", "namespaces", "", request.namespace).await? else {
            let namespaces = GroupResource { group: "".into(), resource: "namespaces".into() };
            return Err(Status::not_found(&namespaces, request.namespace));
        };
        Ok(selector.matches(|key| namespace.facts().label(key)))
    }
}

fn rules(value: &Value, member: &str) -> Vec<Rule> {
    value.get(member).and_then(Value::as_array).into_iter().flatten().map(Rule::read).collect()
}

/// No selector selects everything: normal form has one.
fn selector(value: Option<&Value>) -> Selector {
    value.map_or_else(|| Ok(LabelSelector::default()), LabelSelector::from_object)
}
