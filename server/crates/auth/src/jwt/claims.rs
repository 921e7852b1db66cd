//! What the claims of a verified token say of its user.

use std::sync::{Arc, LazyLock};

use apiwright_cel::{CALL_LIMIT, Decl, Env, EvalError, Program, Type, Val, escape};
use apiwright_chain::User;
use apiwright_json::{Object, Value};
use apiwright_policy::{Expected, compile};

use super::options::{JwtOptions, Mapping, ValidationRule};

const NO_TEXTS: &str = "expression must return a string or a list of strings";

/// The mappings and rules of an issuer, compiled.
pub(super) struct Claims {
    username: Source,
    groups: Source,
    uid: Source,
    extra: Vec<(String, Expression)>,
    required: Vec<(String, String)>,
    claim_rules: Vec<(Expression, String)>,
    user_rules: Vec<(Expression, String)>,
    /// Whether any expression writes names that are escaped.
    has_escapes: bool,
}

enum Source {
    Nothing,
    Claim { claim: String, prefix: String },
    Expression(Expression),
}

struct Expression {
    text: String,
    program: Program,
}

impl Claims {
    /// Compiles what is said of an issuer.
    ///
    /// # Errors
    /// The first expression that cannot be compiled.
    pub(super) fn new(options: &JwtOptions) -> Result<Self, String> {
        let rules = |rules: &[ValidationRule], of: Of| {
            let compiled =
                rules.iter().map(|rule| Ok((Expression::new(&rule.expression, of)?, rule.message.clone())));
            compiled.collect::<Result<Vec<_>, String>>()
        };
        let extra =
            options.extra.iter().map(|(key, text)| Ok((key.clone(), Expression::new(text, Of::Claims)?)));
        let mut claims = Self {
            username: Source::new(&options.username)?,
            groups: Source::new(&options.groups)?,
            uid: Source::new(&options.uid)?,
            extra: extra.collect::<Result<_, String>>()?,
            required: options.required_claims.clone(),
            claim_rules: rules(&options.claim_rules, Of::Claim)?,
            user_rules: rules(&options.user_rules, Of::User)?,
            has_escapes: false,
        };
        let has_escapes = claims.expressions().any(|one| one.text.contains("__"));
        claims.has_escapes = has_escapes;
        Ok(claims)
    }

    fn expressions(&self) -> impl Iterator<Item = &Expression> {
        let sources =
            [&self.username, &self.groups, &self.uid].into_iter().filter_map(|source| match source {
                Source::Expression(expression) => Some(expression),
                Source::Nothing | Source::Claim { .. } => None,
            });
        let extra = self.extra.iter().map(|(_, expression)| expression);
        let rules = self.claim_rules.iter().chain(&self.user_rules).map(|(expression, _)| expression);
        sources.chain(extra).chain(rules)
    }

    /// The user.
    ///
    /// # Errors
    /// Where the claims do not name one, or a rule does not hold.
    pub(super) fn user(&self, claims: &Value) -> Result<User, String> {
        let escaped;
        let seen = if self.has_escapes {
            escaped = with_escaped_names(claims);
            &escaped
        } else {
            claims
        };
        let user = User {
            name: self.username(claims, seen)?,
            groups: self.groups(claims, seen)?,
            uid: self.uid(claims, seen)?,
            extra: self.extra(claims, seen)?,
        };
        for (claim, wanted) in &self.required {
            let found = claims
                .get(claim)
                .ok_or_else(|| format!("oidc: required claim {claim} not present in ID token"))?;
            let found = found.as_str().ok_or_else(|| {
                format!(
                    "oidc: parse claim {claim}: json: cannot unmarshal {} into Go value of type string",
                    found.go_kind()
                )
            })?;
            if found != wanted {
                return Err(format!(
                    "oidc: required claim {claim} value does not match. Got = {found}, want = {wanted}"
                ));
            }
        }
        let fail = |why| format!("oidc: error evaluating claim validation expression: {why}");
        check(&self.claim_rules, &Val::json(seen)).map_err(fail)?;
        if !self.user_rules.is_empty() {
            let fail = |why| format!("oidc: error evaluating user info validation rule: {why}");
            let described = describe(&user);
            let described = Val::declared(&described, &USER).map_err(|why| fail(why.to_string()))?;
            check(&self.user_rules, &described).map_err(fail)?;
        }
        Ok(user)
    }

    fn username(&self, claims: &Value, seen: &Value) -> Result<String, String> {
        match &self.username {
            Source::Nothing => Err("oidc: no username".into()),
            Source::Claim { claim, prefix } => {
                let name = text_claim(claims, claim)
                    .map_err(|why| format!("oidc: parse username claims {claim:?}: {why}"))?;
                if claim == "email" {
                    match claims.get("email_verified") {
                        None | Some(Value::Bool(true)) => {}
                        Some(Value::Bool(false)) => return Err("oidc: email not verified".into()),
                        Some(other) => {
                            return Err(format!(
                                "oidc: parse 'email_verified' claim: json: cannot unmarshal {} into Go value of type bool",
                                other.go_kind()
                            ));
                        }
                    }
                }
                Ok(format!("{prefix}{name}"))
            }
            Source::Expression(expression) => {
                let fail = |why: &str| format!("oidc: error evaluating username claim expression: {why}");
                let name = expression.text(seen).map_err(|why| fail(&why))?;
                match name.ok_or_else(|| fail("username claim expression must return a string"))?.as_str() {
                    "" => Err("oidc: empty username via CEL expression is not allowed".into()),
                    name => Ok(name.to_owned()),
                }
            }
        }
    }

    fn groups(&self, claims: &Value, seen: &Value) -> Result<Vec<String>, String> {
        match &self.groups {
            Source::Nothing => Ok(Vec::new()),
            Source::Claim { claim, prefix } => {
                let groups = match claims.get(claim) {
                    None | Some(Value::Null) => Some(Vec::new()),
                    Some(Value::String(one)) => Some(vec![one.to_string()]),
                    Some(Value::Array(items)) => {
                        items.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
                    }
                    Some(_) => None,
                };
                let groups = groups.ok_or_else(|| {
                    format!(
                        "oidc: parse groups claim {claim:?}: it is neither a string nor a list of strings"
                    )
                })?;
                Ok(groups.into_iter().map(|group| format!("{prefix}{group}")).collect())
            }
            Source::Expression(expression) => expression
                .texts(seen)
                .map_err(|why| format!("oidc: error evaluating group claim expression: {why}")),
        }
    }

    fn uid(&self, claims: &Value, seen: &Value) -> Result<String, String> {
        match &self.uid {
            Source::Nothing => Ok(String::new()),
            Source::Claim { claim, .. } => {
                text_claim(claims, claim).map_err(|why| format!("oidc: parse uid claim {claim:?}: {why}"))
            }
            Source::Expression(expression) => {
                let fail = |why: &str| format!("oidc: error evaluating uid claim expression: {why}");
                let uid = expression.text(seen).map_err(|why| fail(&why))?;
                uid.ok_or_else(|| fail("uid claim expression must return a string"))
            }
        }
    }

    fn extra(&self, claims: &Value, seen: &Value) -> Result<Vec<(String, Vec<String>)>, String> {
        let mut extra = Vec::new();
        if let Some(id) = claims.get("jti").and_then(Value::as_str).filter(|id| !id.is_empty()) {
            let credential = "authentication.kubernetes.io/credential-id".to_owned();
            extra.push((credential, vec![format!("JTI={id}")]));
        }
        for (key, expression) in &self.extra {
            let values = expression.texts(seen).map_err(|why| {
                format!("oidc: error evaluating extra claim expression: {}: {why}", expression.text)
            })?;
            if !values.is_empty() {
                extra.push((key.clone(), values));
            }
        }
        Ok(extra)
    }
}

impl Source {
    fn new(mapping: &Mapping) -> Result<Self, String> {
        Ok(match mapping {
            Mapping::Nothing => Self::Nothing,
            Mapping::Claim { claim, prefix } => Self::Claim { claim: claim.clone(), prefix: prefix.clone() },
            Mapping::Expression(text) => Self::Expression(Expression::new(text, Of::Claims)?),
        })
    }
}

/// What an expression is about, and what it must give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// Claims; anything.
    Claims,
    /// Claims; whether they are as they should be.
    Claim,
    /// The user; the same.
    User,
}

impl Expression {
    fn new(text: &str, of: Of) -> Result<Self, String> {
        Ok(Self { text: text.into(), program: compiled(text, of)? })
    }

    fn evaluate<'a>(&'a self, about: &Val<'a>) -> Result<Val<'a>, String> {
        let told = |why: EvalError| format!("expression '{}' resulted in error: {why}", self.text);
        self.program.evaluate(std::slice::from_ref(about), CALL_LIMIT).value.map_err(told)
    }

    /// The text that it gives, if it gives one.
    fn text(&self, claims: &Value) -> Result<Option<String>, String> {
        Ok(self.evaluate(&Val::json(claims))?.as_str().map(str::to_owned))
    }

    /// The texts that it gives; empty ones are none.
    fn texts(&self, claims: &Value) -> Result<Vec<String>, String> {
        let found = self.evaluate(&Val::json(claims))?.to_json().map_err(|why| why.to_string())?;
        let texts = match found {
            Value::Null => Some(Vec::new()),
            Value::String(one) => Some(vec![one.to_string()]),
            Value::Array(items) => items.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let texts: Vec<String> = texts.ok_or(NO_TEXTS)?;
        Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
    }
}

/// Compiles an expression.
///
/// # Errors
/// With upstream's text.
pub(crate) fn compiled(text: &str, of: Of) -> Result<Program, String> {
    static CLAIMS: LazyLock<Env> =
        LazyLock::new(|| Env::new().with("claims", Type::map(Type::String, Type::Dyn), None));
    static OF_USER: LazyLock<Env> = LazyLock::new(|| Env::new().with_decl("user", &USER));
    let env = if of == Of::User { &*OF_USER } else { &*CLAIMS };
    let program = compile(env, text, Expected::Any)?;
    if of != Of::Claims && *program.ty() != Type::Bool {
        return Err("must evaluate to bool".into());
    }
    Ok(program)
}

/// How a user is read.
static USER: LazyLock<Arc<Decl>> = LazyLock::new(|| {
    let text = Decl::string;
    Decl::object(
        "kubernetes.UserInfo",
        vec![
            ("username", text()),
            ("uid", text()),
            ("groups", Decl::list_of(text())),
            ("extra", Decl::map_of(Decl::list_of(text()))),
        ],
    )
});

fn check<'a>(rules: &'a [(Expression, String)], about: &Val<'a>) -> Result<(), String> {
    for (rule, message) in rules {
        if !rule.evaluate(about)?.is_true() {
            return Err(format!("validation expression '{}' failed: {message}", rule.text));
        }
    }
    Ok(())
}

fn describe(user: &User) -> Value {
    let texts = |all: &[String]| all.iter().map(|one| Value::from(one.as_str())).collect::<Vec<_>>();
    let extra: Object = user.extra.iter().map(|(key, values)| (key.as_str(), texts(values))).collect();
    let mut described = Object::with_capacity(4);
    described.push("username", user.name.as_str());
    described.push("uid", user.uid.as_str());
    described.push("groups", texts(&user.groups));
    described.push("extra", extra);
    described.into()
}

fn text_claim(claims: &Value, claim: &str) -> Result<String, String> {
    let found = claims.get(claim).ok_or("claim not present")?;
    let text = found.as_str().map(str::to_owned);
    text.ok_or_else(|| format!("json: cannot unmarshal {} into Go value of type string", found.go_kind()))
}

/// The same with each name that is no identifier also as expressions write it: `a__dot__b`.
fn with_escaped_names(value: &Value) -> Value {
    match value {
        Value::Array(items) => Value::Array(items.iter().map(with_escaped_names).collect()),
        Value::Object(members) => {
            let mut all = Object::with_capacity(members.len());
            for (key, member) in members.iter() {
                let member = with_escaped_names(member);
                if let Some(escaped) = escape(key).filter(|escaped| escaped.as_str() != key.as_str()) {
                    all.push(escaped, member.clone());
                }
                all.push(key.clone(), member);
            }
            all.into()
        }
        other => other.clone(),
    }
}
