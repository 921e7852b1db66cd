//! `AuthenticationConfiguration`: issuers of tokens, and who may be anonymous.

use std::collections::HashSet;
use std::path::Path as FilePath;

use apiwright_meta::ErrorList;
use apiwright_meta::field::{Path, quoted};
use apiwright_meta::url::Url;

use super::strict::{Part, Strict, decode};
use crate::jwt::{ALGORITHMS, JwtOptions, ValidationRule};

mod mappings;

const ISSUERS_MAX: usize = 64;

/// Who tells who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthenticationConfiguration {
    /// Issuers of tokens.
    pub issuers: Vec<JwtOptions>,
    /// Who may be anonymous, if the file says.
    pub anonymous: Option<Anonymous>,
}

/// Who may be anonymous.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Anonymous {
    /// Whether anybody may.
    pub enabled: bool,
    /// Where; everywhere if there are none.
    pub paths: Vec<String>,
}

impl Anonymous {
    /// Whether a request for a path may be nobody's.
    pub fn admits(&self, path: &str) -> bool {
        self.enabled && (self.paths.is_empty() || self.paths.iter().any(|one| one == path))
    }
}

/// An issuer as a file has it.
#[derive(Clone, Debug, Default)]
struct Issuer {
    url: String,
    discovery_url: String,
    authority: String,
    audiences: Vec<String>,
    match_policy: String,
    egress: String,
    claim_rules: Vec<Rule>,
    mappings: mappings::Mappings,
    user_rules: Vec<Rule>,
}

#[derive(Clone, Debug, Default)]
struct Rule {
    claim: String,
    required: String,
    expression: String,
    message: String,
}

impl AuthenticationConfiguration {
    /// Reads a file; whoever issues the server's own tokens is no issuer of others.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn load(path: &FilePath, disallowed: &[String]) -> Result<Self, String> {
        let text = std::fs::read(path).map_err(|error| {
            format!("cannot read the authentication configuration {}: {error}", path.display())
        })?;
        Self::read(&text, disallowed)
    }

    /// Reads a file's text.
    ///
    /// # Errors
    /// All that is wrong with it.
    pub fn read(text: &[u8], disallowed: &[String]) -> Result<Self, String> {
        let fail = |why: String| format!("failed to load AuthenticationConfiguration from file: {why}");
        let object = decode(text, "AuthenticationConfiguration").map_err(fail)?;
        let mut strict = Strict::new();
        let root = strict.root(&object, &["apiVersion", "kind", "jwt", "anonymous"]);
        let members = ["issuer", "claimValidationRules", "claimMappings", "userValidationRules"];
        let issuers: Vec<Issuer> = strict
            .objects(&root, "jwt", &members)
            .iter()
            .map(|part| Issuer::read(&mut strict, part))
            .collect();
        let anonymous = strict.object(&root, "anonymous", &["enabled", "conditions"]);
        let anonymous = (!anonymous.is_absent()).then(|| {
            let conditions = strict.objects(&anonymous, "conditions", &["path"]);
            Anonymous {
                enabled: strict.flag(&anonymous, "enabled").unwrap_or(false),
                paths: conditions.iter().map(|one| strict.text(one, "path")).collect(),
            }
        });
        strict.end().map_err(fail)?;
        let mut errors = validate(&issuers, disallowed);
        if anonymous.as_ref().is_some_and(|anonymous| !anonymous.enabled && !anonymous.paths.is_empty()) {
            let detail = "enabled should be set to true when conditions are defined";
            let shown: Vec<String> = anonymous
                .iter()
                .flat_map(|one| &one.paths)
                .map(|path| format!("{{\"Path\":{path:?}}}"))
                .collect();
            errors.invalid(
                Path::new("anonymous").child("conditions"),
                format!("[{}]", shown.join(",")),
                detail,
            );
        }
        if !errors.is_empty() {
            return Err(errors.aggregate());
        }
        Ok(Self { issuers: issuers.into_iter().map(Issuer::options).collect(), anonymous })
    }

    /// What is wrong with an issuer that flags describe.
    ///
    /// # Errors
    /// All of it.
    pub fn check_flags(options: &JwtOptions, disallowed: &[String]) -> Result<(), String> {
        let mut errors = ErrorList::new();
        let path = Path::new("issuer");
        validate_url(&mut errors, path.child("url"), &options.issuer, disallowed);
        if !options.authority.is_empty()
            && let Err(why) = authority_fault(&options.authority)
        {
            errors.invalid(path.child("certificateAuthority"), quoted("<omitted>"), &why);
        }
        if errors.is_empty() { Ok(()) } else { Err(errors.aggregate()) }
    }
}

impl Issuer {
    fn read(strict: &mut Strict, part: &Part<'_>) -> Self {
        let issuer = strict.object(
            part,
            "issuer",
            &[
                "url",
                "discoveryURL",
                "certificateAuthority",
                "audiences",
                "audienceMatchPolicy",
                "egressSelectorType",
            ],
        );
        let claim_rules = strict.objects(
            part,
            "claimValidationRules",
            &["claim", "requiredValue", "expression", "message"],
        );
        let user_rules = strict.objects(part, "userValidationRules", &["expression", "message"]);
        Self {
            url: strict.text(&issuer, "url"),
            discovery_url: strict.text(&issuer, "discoveryURL"),
            authority: strict.text(&issuer, "certificateAuthority"),
            audiences: strict.texts(&issuer, "audiences"),
            match_policy: strict.text(&issuer, "audienceMatchPolicy"),
            egress: strict.text(&issuer, "egressSelectorType"),
            claim_rules: claim_rules.iter().map(|rule| Rule::read(strict, rule)).collect(),
            mappings: mappings::Mappings::read(strict, part),
            user_rules: user_rules.iter().map(|rule| Rule::read(strict, rule)).collect(),
        }
    }

    fn options(self) -> JwtOptions {
        let expressions = |rules: &[Rule]| {
            let rules = rules.iter().filter(|rule| !rule.expression.is_empty());
            let rule = |rule: &Rule| ValidationRule {
                expression: rule.expression.clone(),
                message: rule.message.clone(),
            };
            rules.map(rule).collect()
        };
        let required = self.claim_rules.iter().filter(|rule| !rule.claim.is_empty());
        JwtOptions {
            algorithms: ALGORITHMS.map(str::to_owned).to_vec(),
            required_claims: required.map(|rule| (rule.claim.clone(), rule.required.clone())).collect(),
            claim_rules: expressions(&self.claim_rules),
            user_rules: expressions(&self.user_rules),
            username: self.mappings.username.mapping(),
            groups: self.mappings.groups.mapping(),
            uid: self.mappings.uid.mapping(),
            extra: self.mappings.extra,
            issuer: self.url,
            discovery_url: self.discovery_url,
            authority: self.authority,
            audiences: self.audiences,
        }
    }
}

impl Rule {
    fn read(strict: &mut Strict, part: &Part<'_>) -> Self {
        Self {
            claim: strict.text(part, "claim"),
            required: strict.text(part, "requiredValue"),
            expression: strict.text(part, "expression"),
            message: strict.text(part, "message"),
        }
    }
}

fn validate(issuers: &[Issuer], disallowed: &[String]) -> ErrorList {
    let mut errors = ErrorList::new();
    let root = Path::new("jwt");
    if issuers.len() > ISSUERS_MAX {
        errors.too_many(root, issuers.len(), ISSUERS_MAX);
        return errors;
    }
    let (mut urls, mut discovery_urls) = (HashSet::new(), HashSet::new());
    for (at, one) in issuers.iter().enumerate() {
        let path = root.index(at);
        let of_issuer = path.child("issuer");
        validate_issuer(&mut errors, &of_issuer, one, disallowed);
        let verified = mappings::validate_claim_rules(
            &mut errors,
            &path.child("claimValidationRules"),
            &one.claim_rules,
        );
        one.mappings.validate(&mut errors, &path.child("claimMappings"), verified);
        mappings::validate_user_rules(&mut errors, &path.child("userValidationRules"), &one.user_rules);
        if !urls.insert(&one.url) {
            errors.duplicate(of_issuer.child("url"), quoted(&one.url));
        }
        if !one.discovery_url.is_empty() && !discovery_urls.insert(&one.discovery_url) {
            errors.duplicate(of_issuer.child("discoveryURL"), quoted(&one.discovery_url));
        }
    }
    errors
}

fn validate_issuer(errors: &mut ErrorList, path: &Path, issuer: &Issuer, disallowed: &[String]) {
    validate_url(errors, path.child("url"), &issuer.url, disallowed);
    let discovery = &issuer.discovery_url;
    if !discovery.is_empty() {
        if issuer.url.trim_end_matches('/') == discovery.trim_end_matches('/') && !issuer.url.is_empty() {
            let detail = "discoveryURL must be different from URL";
            errors.invalid(path.child("discoveryURL"), quoted(discovery), detail);
        }
        validate_url(errors, path.child("discoveryURL"), discovery, &[]);
    }
    validate_audiences(errors, path, issuer);
    if !issuer.authority.is_empty()
        && let Err(why) = authority_fault(&issuer.authority)
    {
        errors.invalid(path.child("certificateAuthority"), quoted("<omitted>"), &why);
    }
    match issuer.egress.as_str() {
        "" => {}
        "controlplane" | "cluster" => errors.forbidden(
            path.child("egressSelectorType"),
            "this server has no egress selectors: calls go out directly",
        ),
        other => errors.invalid(
            path.child("egressSelectorType"),
            quoted(other),
            "egress selector must be either controlplane or cluster",
        ),
    }
}

fn validate_url(errors: &mut ErrorList, path: Path, url: &str, disallowed: &[String]) {
    if url.is_empty() {
        errors.required(path, "");
        return;
    }
    if disallowed.iter().any(|one| one == url) {
        let mut sorted = disallowed.to_vec();
        sorted.sort();
        let detail = format!("URL must not overlap with disallowed issuers: [{}]", sorted.join(" "));
        errors.invalid(path.clone(), quoted(url), &detail);
    }
    let parsed = match Url::parse(url) {
        Ok(parsed) => parsed,
        Err(why) => return errors.invalid(path, quoted(url), &why),
    };
    for (is_wrong, detail) in [
        (parsed.scheme != "https", "URL scheme must be https"),
        (parsed.user.is_some(), "URL must not contain a username or password"),
        (!parsed.query.is_empty(), "URL must not contain a query"),
        (!parsed.fragment.is_empty(), "URL must not contain a fragment"),
    ] {
        if is_wrong {
            errors.invalid(path.clone(), quoted(url), detail);
        }
    }
}

fn validate_audiences(errors: &mut ErrorList, path: &Path, issuer: &Issuer) {
    let audiences = path.child("audiences");
    if issuer.audiences.is_empty() {
        let detail = format!("at least one {audiences} is required");
        errors.required(audiences, &detail);
        return;
    }
    let mut seen = HashSet::new();
    for (at, audience) in issuer.audiences.iter().enumerate() {
        if audience.is_empty() {
            errors.required(audiences.index(at), "");
        }
        if !seen.insert(audience) {
            errors.duplicate(audiences.index(at), quoted(audience));
        }
    }
    let policy = issuer.match_policy.as_str();
    let detail = match issuer.audiences.len() {
        1 if matches!(policy, "" | "MatchAny") => return,
        1 => "audienceMatchPolicy must be empty or MatchAny for single audience",
        _ if policy == "MatchAny" => return,
        _ => "audienceMatchPolicy must be MatchAny for multiple audiences",
    };
    errors.invalid(path.child("audienceMatchPolicy"), quoted(policy), detail);
}

fn authority_fault(pem: &str) -> Result<(), String> {
    use rustls::pki_types::CertificateDer;
    use rustls::pki_types::pem::PemObject;
    let none = "data does not contain any valid RSA or ECDSA certificates";
    let mut certificates = CertificateDer::pem_slice_iter(pem.as_bytes());
    match certificates.next() {
        Some(Ok(_)) => Ok(()),
        Some(Err(_)) | None => Err(none.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jwt::Mapping;

    fn read(rest: &str) -> Result<AuthenticationConfiguration, String> {
        let text =
            format!("apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\n{rest}\n");
        AuthenticationConfiguration::read(text.as_bytes(), &["https://us".to_owned()])
    }

    #[test]
    fn issuers_and_the_anonymous() {
        let found = read(
            "anonymous: {enabled: true, conditions: [{path: /livez}]}\n\
             jwt:\n\
             - issuer: {url: 'https://idp.example', audiences: [a, b], audienceMatchPolicy: MatchAny}\n\
            \x20 claimValidationRules: [{claim: hd, requiredValue: example.com}, {expression: 'claims.x == 1', message: never}]\n\
            \x20 claimMappings:\n\
            \x20   username: {claim: sub, prefix: 'idp:'}\n\
            \x20   groups: {expression: 'claims.roles.split(\",\")'}\n\
            \x20   uid: {claim: sub}\n\
            \x20   extra: [{key: example.com/tenant, valueExpression: claims.tenant}]\n\
            \x20 userValidationRules: [{expression: \"!user.username.startsWith('system:')\", message: reserved}]\n",
        )
        .unwrap();
        assert_eq!(found.anonymous, Some(Anonymous { enabled: true, paths: vec!["/livez".into()] }));
        let [issuer] = found.issuers.as_slice() else { panic!("{found:?}") };
        let rule = |expression: &str, message: &str| ValidationRule {
            expression: expression.into(),
            message: message.into(),
        };
        let expected = JwtOptions {
            issuer: "https://idp.example".into(),
            audiences: vec!["a".into(), "b".into()],
            algorithms: ALGORITHMS.map(str::to_owned).to_vec(),
            required_claims: vec![("hd".into(), "example.com".into())],
            claim_rules: vec![rule("claims.x == 1", "never")],
            username: Mapping::Claim { claim: "sub".into(), prefix: "idp:".into() },
            groups: Mapping::Expression("claims.roles.split(\",\")".into()),
            uid: Mapping::Claim { claim: "sub".into(), prefix: String::new() },
            extra: vec![("example.com/tenant".into(), "claims.tenant".into())],
            user_rules: vec![rule("!user.username.startsWith('system:')", "reserved")],
            ..JwtOptions::default()
        };
        assert_eq!(*issuer, expected);
    }

    #[test]
    fn faults() {
        let issuer = |issuer: &str, rest: &str| {
            format!(
                "jwt: [{{issuer: {{{issuer}}}, claimMappings: {{username: {{claim: sub, prefix: ''}}}}{rest}}}]"
            )
        };
        let sound = "url: 'https://idp.example', audiences: [a]";
        #[rustfmt::skip]
        let table = [
            ("anonymous: {enabled: false, conditions: [{path: /livez}]}".to_owned(), "anonymous.conditions: Invalid value: [{\"Path\":\"/livez\"}]: enabled should be set to true when conditions are defined"),
            (issuer("audiences: [a]", ""), "jwt[0].issuer.url: Required value"),
            (issuer("url: 'http://x/?a#b', audiences: [a]", ""), "[jwt[0].issuer.url: Invalid value: \"http://x/?a#b\": URL scheme must be https, jwt[0].issuer.url: Invalid value: \"http://x/?a#b\": URL must not contain a query, jwt[0].issuer.url: Invalid value: \"http://x/?a#b\": URL must not contain a fragment]"),
            (issuer("url: 'https://us', audiences: [a]", ""), "jwt[0].issuer.url: Invalid value: \"https://us\": URL must not overlap with disallowed issuers: [https://us]"),
            (issuer("url: 'https://x', audiences: []", ""), "jwt[0].issuer.audiences: Required value: at least one jwt[0].issuer.audiences is required"),
            (issuer("url: 'https://x', audiences: [a, b]", ""), "jwt[0].issuer.audienceMatchPolicy: Invalid value: \"\": audienceMatchPolicy must be MatchAny for multiple audiences"),
            (issuer(&format!("{sound}, discoveryURL: 'https://idp.example/'"), ""), "jwt[0].issuer.discoveryURL: Invalid value: \"https://idp.example/\": discoveryURL must be different from URL"),
            (issuer(&format!("{sound}, certificateAuthority: x"), ""), "jwt[0].issuer.certificateAuthority: Invalid value: \"<omitted>\": data does not contain any valid RSA or ECDSA certificates"),
            (issuer(sound, ", claimValidationRules: [{claim: a, expression: 'true'}, {}, {claim: b, message: m}, {expression: claims.x + 1}]"),
             "[jwt[0].claimValidationRules[0]: Invalid value: \"a\": claim and expression can't both be set, jwt[0].claimValidationRules[1]: Required value: claim or expression is required, jwt[0].claimValidationRules[2].message: Invalid value: \"m\": may not be specified when claim is set, jwt[0].claimValidationRules[3].expression: Invalid value: \"claims.x + 1\": must evaluate to bool]"),
            (issuer(sound, ", userValidationRules: [{expression: ''}, {expression: user.username}]"),
             "[jwt[0].userValidationRules[0].expression: Required value, jwt[0].userValidationRules[1].expression: Invalid value: \"user.username\": must evaluate to bool]"),
            (format!("jwt: [{{issuer: {{{sound}}}, claimMappings: {{username: {{claim: sub}}, groups: {{claim: g, expression: claims.g}}, extra: [{{key: Foo, valueExpression: ''}}, {{key: a.k8s.io/x, valueExpression: claims.x}}]}}}}]"),
             "[jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing, jwt[0].claimMappings.groups: Invalid value: \"\": claim and expression can't both be set, jwt[0].claimMappings.extra[0].key: Invalid value: \"Foo\": must be a domain-prefixed path (such as \"acme.io/foo\"), jwt[0].claimMappings.extra[0].key: Invalid value: \"Foo\": must be lowercase, jwt[0].claimMappings.extra[0].valueExpression: Required value, jwt[0].claimMappings.extra[1].key: Invalid value: \"a.k8s.io/x\": k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use]"),
            (format!("jwt: [{{issuer: {{{sound}}}, claimMappings: {{username: {{expression: claims.email}}}}}}]"),
             "jwt[0].claimMappings.username.expression: Invalid value: \"claims.email\": claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"),
            ("jwt: [{issuer: {color: red}}]".to_owned(), "failed to load AuthenticationConfiguration from file: strict decoding error: unknown field \"jwt[0].issuer.color\""),
        ];
        for (rest, expected) in table {
            assert_eq!(read(&rest).unwrap_err(), expected, "{rest}");
        }
        let sound = "jwt: [{issuer: {url: 'https://idp.example', audiences: [a]}, claimMappings: {username: {expression: 'claims.email_verified ? claims.email : claims.sub'}}}]";
        assert!(read(sound).is_ok());
    }
}
