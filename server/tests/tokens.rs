//! Tokens of other issuers, bootstrap tokens, and all that is no credential.

mod support;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use apiwright_auth::service_account::{SigningKey, now};
use apiwright_json::{Value, to_string};
use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use support::api::Api;
use support::outside::Outside;
use support::process::Server;
use tempfile::TempDir;

/// An issuer, whose keys may change.
struct Issuer {
    outside: Outside,
    keys: Arc<Mutex<Vec<SigningKey>>>,
}

impl Issuer {
    async fn start(home: &Path) -> Self {
        let keys = Arc::new(Mutex::new(vec![key(home, "first")]));
        let (published, url) = (Arc::clone(&keys), Arc::new(Mutex::new(String::new())));
        let own = Arc::clone(&url);
        let outside = Outside::start(move |asked| {
            let url = own.lock().expect("no panic").clone();
            if asked.path == "/.well-known/openid-configuration" {
                return (200, format!(r#"{{"issuer":"{url}","jwks_uri":"{url}/keys"}}"#));
            }
            let keys = published.lock().expect("no panic");
            let keys: Vec<String> = keys.iter().map(|key| to_string(&key.public().to_jwk())).collect();
            (200, format!(r#"{{"keys":[{}]}}"#, keys.join(",")))
        })
        .await;
        outside.url.clone_into(&mut url.lock().expect("no panic"));
        Self { outside, keys }
    }

    /// A token of these claims, besides the usual ones, which they may override.
    fn token(&self, claims: &str) -> String {
        let key = self.keys.lock().expect("no panic").last().expect("a key").clone();
        self.token_by(&key, &format!(r#"{{"alg":"ES256","kid":"{}"}}"#, key.public().id()), claims)
    }

    fn token_by(&self, key: &SigningKey, header: &str, claims: &str) -> String {
        let usual = format!(
            r#"{{"iss":"{}","aud":"kubernetes","exp":{},"sub":"jane","email":"jane@example.com"}}"#,
            self.outside.url,
            now() + 600
        );
        let mut all = apiwright_json::decode(usual.as_bytes()).expect("JSON").0;
        let more = apiwright_json::decode(claims.as_bytes()).expect("JSON").0;
        let members = all.as_object_mut().expect("an object");
        for (claim, value) in more.as_object().expect("an object").iter() {
            members.insert(claim.clone(), value.clone());
        }
        let part = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
        let signed = format!("{}.{}", part(header), part(&to_string(&all)));
        let signature = BASE64_URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }
}

fn key(home: &Path, name: &str) -> SigningKey {
    let file = home.join(name);
    std::fs::write(&file, rcgen::KeyPair::generate().expect("a key").serialize_pem()).expect("a file");
    SigningKey::load(&file).expect("a key")
}

/// Whom the server takes a token's owner for; the code where it takes nobody.
async fn who(server: &Server, token: &str) -> Result<String, u16> {
    let api = Api(server.client().await.bearing(token));
    let answer = api.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}").await;
    if answer.code >= 300 {
        return Err(answer.code);
    }
    Ok(to_string(answer.object().at(&["status", "userInfo"]).expect("a user")))
}

async fn until(server: &Server, token: &str, expected: Result<&str, u16>) {
    let mut found = who(server, token).await;
    for _ in 0..100 {
        if found.as_deref().map_err(|code| *code) == expected {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        found = who(server, token).await;
    }
    panic!("{found:?} is not {expected:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_issuer_by_flags() {
    let home = TempDir::new().expect("a folder");
    let issuer = Issuer::start(home.path()).await;
    std::fs::write(home.path().join("issuer.crt"), &issuer.outside.certificate).expect("a file");
    let url = format!("--oidc-issuer-url={}", issuer.outside.url);
    let server = Server::start(
        home.path(),
        &[
            "--storage=memory",
            &url,
            "--oidc-client-id=kubernetes",
            "--oidc-ca-file=issuer.crt",
            "--oidc-username-prefix=idp:",
            "--oidc-groups-claim=roles",
            "--oidc-groups-prefix=idp:",
            "--oidc-required-claim=tenant=red",
            "--oidc-signing-algs=ES256,RS256",
        ],
    );
    let jane = r#"{"username":"idp:jane","groups":["idp:devs","system:authenticated"]}"#;
    let sound = r#"{"tenant":"red","roles":["devs"]}"#;
    until(&server, &issuer.token(sound), Ok(jane)).await;
    let with = |claims: &str| issuer.token(&format!(r#"{{"tenant":"red",{claims}}}"#));
    let stranger = key(home.path(), "stranger");
    let own = issuer.keys.lock().expect("no panic")[0].clone();
    let id = own.public().id().to_owned();
    let forged = issuer.token_by(&stranger, &format!(r#"{{"alg":"ES256","kid":"{id}"}}"#), sound);
    let none = issuer.token_by(&own, r#"{"alg":"none"}"#, sound);
    let unsigned = format!("{}.", none.rsplit_once('.').expect("a token").0);
    let (head, signature) = forged.rsplit_once('.').expect("a token");
    let (header, _) = head.split_once('.').expect("a token");
    let exchanged = format!(
        "{header}.{}.{signature}",
        BASE64_URL_SAFE_NO_PAD.encode(format!(
            r#"{{"iss":"{}","aud":"kubernetes","exp":9999999999,"sub":"root","tenant":"red"}}"#,
            issuer.outside.url
        ))
    );
    let symmetric = issuer.token_by(&own, r#"{"alg":"HS256"}"#, sound);
    let critical = issuer.token_by(&own, &format!(r#"{{"alg":"ES256","kid":"{id}","crit":["x"]}}"#), sound);
    for (what, token) in [
        ("another tenant", issuer.token(r#"{"tenant":"blue"}"#)),
        ("no tenant", issuer.token("{}")),
        ("another audience", with(r#""aud":"vault""#)),
        ("other audiences", with(r#""aud":["vault","bank"]"#)),
        ("no audience", with(r#""aud":null"#)),
        ("expired", with(r#""exp":1000000000"#)),
        ("never expiring", with(r#""exp":null"#)),
        ("of the future", with(r#""nbf":9000000000"#)),
        ("another issuer", with(r#""iss":"https://other.example""#)),
        ("no name", with(r#""sub":null"#)),
        ("a number for a name", with(r#""sub":7"#)),
        ("forged", forged.clone()),
        ("alg none", none),
        ("alg none, unsigned", unsigned),
        ("claims exchanged", exchanged),
        ("symmetric", symmetric),
        ("critical", critical),
        ("no token", "a.b.c".to_owned()),
    ] {
        assert_eq!(who(&server, &token).await, Err(401), "{what}");
    }
    let one_role = with(r#""roles":"devs","aud":["vault","kubernetes"]"#);
    assert_eq!(who(&server, &one_role).await.as_deref(), Ok(jane));
    // A new key is fetched when a token names it, the old one counts no more.
    let old = issuer.token(sound);
    *issuer.keys.lock().expect("no panic") = vec![key(home.path(), "second")];
    assert_eq!(who(&server, &issuer.token(sound)).await.as_deref(), Ok(jane));
    assert_eq!(who(&server, &old).await, Err(401));
    let review = format!(r#"{{"spec":{{"token":"{}","audiences":["vault"]}}}}"#, issuer.token(sound));
    let admin = Api(server.client().await);
    let reviewed = admin.post("/apis/authentication.k8s.io/v1/tokenreviews", &review).await.ok();
    assert_eq!(reviewed.at(&["status", "authenticated"]), None, "it is for this server only");
}

fn configure(file: &Path, issuer: &Issuer, username: &str) {
    let authority = issuer.outside.certificate.replace('\n', "\n        ");
    let text = format!(
        "apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\n\
         anonymous: {{enabled: true, conditions: [{{path: /livez}}, {{path: /readyz}}]}}\n\
         jwt:\n- issuer:\n    url: {}\n    audiences: [kubernetes, other]\n    audienceMatchPolicy: MatchAny\n\
        \x20   certificateAuthority: |\n        {authority}\n\
        \x20 claimValidationRules: [{{expression: 'claims.tenant == \"red\"', message: another tenant}}]\n\
        \x20 claimMappings:\n    username: {{expression: '{username}'}}\n\
        \x20   groups: {{expression: \"claims.?roles.orValue([])\"}}\n    uid: {{claim: sub}}\n\
        \x20   extra: [{{key: example.com/tenant, valueExpression: claims.tenant}}]\n\
        \x20 userValidationRules: [{{expression: \"!user.username.startsWith(''system:'')\", message: reserved}}]\n",
        issuer.outside.url
    );
    let text = text.replace("''", "'");
    std::fs::write(file, text).expect("a file");
}

#[tokio::test(flavor = "multi_thread")]
async fn issuers_by_a_file_that_changes() {
    let home = TempDir::new().expect("a folder");
    let issuer = Issuer::start(home.path()).await;
    let file = home.path().join("authentication.yaml");
    configure(&file, &issuer, "claims.sub");
    let server =
        Server::start(home.path(), &["--storage=memory", "--authentication-config=authentication.yaml"]);
    let sound = r#"{"tenant":"red","roles":["devs",""],"jti":"7"}"#;
    let jane = |name: &str| {
        format!(
            r#"{{"username":"{name}","uid":"jane","groups":["devs","system:authenticated"],"extra":{{"authentication.kubernetes.io/credential-id":["JTI=7"],"example.com/tenant":["red"]}}}}"#
        )
    };
    until(&server, &issuer.token(sound), Ok(&jane("jane"))).await;
    for (what, claims) in [
        ("another tenant", r#"{"tenant":"blue"}"#),
        ("no tenant", "{}"),
        ("a name of the system", r#"{"tenant":"red","sub":"system:admin"}"#),
        ("no name", r#"{"tenant":"red","sub":""}"#),
    ] {
        assert_eq!(who(&server, &issuer.token(claims)).await, Err(401), "{what}");
    }
    // Nobody is somebody at two places only.
    let nobody = async |path: &str| Api(server.client().await.with(&[])).get(path).await.code;
    assert_eq!((nobody("/livez").await, nobody("/readyz").await), (200, 200));
    assert_eq!(
        (nobody("/healthz").await, nobody("/livez/ping").await, nobody("/version").await),
        (401, 401, 401)
    );
    std::fs::write(
        &file,
        "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: [{}]\n",
    )
    .expect("a file");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(who(&server, &issuer.token(sound)).await, Ok(jane("jane")));
    configure(&file, &issuer, "claims.sub + \"@idp\"");
    until(&server, &issuer.token(sound), Ok(&jane("jane@idp"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bootstrap_tokens_are_secrets() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(
        home.path(),
        &[
            "--storage=memory",
            "--enable-bootstrap-token-auth",
            "--service-account-max-token-expiration=1h",
            "--service-account-jwks-uri=https://keys.example/jwks",
        ],
    );
    let admin = Api(server.client().await);
    let secret = |groups: &str| {
        let data = [
            ("token-id", "abcdef"),
            ("token-secret", "0123456789abcdef"),
            ("usage-bootstrap-authentication", "true"),
            ("auth-extra-groups", groups),
        ];
        let data = data.map(|(member, value)| format!(r#""{member}":"{}""#, BASE64_STANDARD.encode(value)));
        format!(
            r#"{{"metadata":{{"name":"bootstrap-token-abcdef"}},"type":"bootstrap.kubernetes.io/token","data":{{{}}}}}"#,
            data.join(",")
        )
    };
    let token = "abcdef.0123456789abcdef";
    assert_eq!(who(&server, token).await, Err(401));
    let secrets = "/api/v1/namespaces/kube-system/secrets";
    admin.post(secrets, &secret("system:bootstrappers:workers")).await.ok();
    let expected = r#"{"username":"system:bootstrap:abcdef","groups":["system:bootstrappers","system:bootstrappers:workers","system:authenticated"]}"#;
    assert_eq!(who(&server, token).await.as_deref(), Ok(expected));
    assert_eq!(who(&server, "abcdef.0123456789abcdee").await, Err(401));
    admin.delete(&format!("{secrets}/bootstrap-token-abcdef")).await.ok();
    assert_eq!(who(&server, token).await, Err(401));
    // What else flags say of tokens.
    let asked = r#"{"spec":{"expirationSeconds":7200}}"#;
    let made = admin.post("/api/v1/namespaces/default/serviceaccounts/default/token", asked).await;
    let warning = made.headers.get("warning").and_then(|value| value.to_str().ok());
    assert_eq!(warning, Some("299 - \"requested expiration of 7200 seconds shortened to 3600 seconds\""));
    assert_eq!(made.ok().at(&["spec", "expirationSeconds"]).and_then(Value::as_i64), Some(3600));
    let described = admin.get("/.well-known/openid-configuration").await.ok();
    assert_eq!(described.text_at(&["jwks_uri"]), "https://keys.example/jwks");
    let metrics = admin.get("/metrics").await.text();
    for line in
        ["authentication_attempts{result=\"error\"} 3", "authenticated_user_requests{username=\"admin\"} "]
    {
        assert!(metrics.contains(line), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_credential() {
    let home = TempDir::new().expect("a folder");
    let server = Server::start(
        home.path(),
        &["--storage=memory", "--requestheader-client-ca-file=.apiwright/pki/ca.crt"],
    );
    // A proxy's word counts with the proxy's certificate only.
    let spoofed =
        server.client().await.with(&[("x-remote-user", "root"), ("x-remote-group", "system:masters")]);
    let answer = Api(spoofed).get("/api/v1/secrets").await;
    let why = "secrets is forbidden: User \"system:anonymous\" cannot list resource \"secrets\" in API group \"\" at the cluster scope";
    assert_eq!((answer.code, answer.object().text_at(&["message"])), (403, why));
    let both = [
        ("authorization", "Bearer nonsense"),
        ("x-remote-user", "root"),
        ("x-remote-group", "system:masters"),
    ];
    assert_eq!(Api(server.client().await.with(&both)).get("/api/v1/secrets").await.code, 401);
    let admin = Api(server.client().await);
    let made = admin.post("/api/v1/namespaces/default/serviceaccounts/default/token", "{}").await.ok();
    let token = made.text_at(&["status", "token"]).to_owned();
    assert!(who(&server, &token).await.is_ok());
    let (signed, signature) = token.rsplit_once('.').expect("a token");
    let (_, claims) = signed.split_once('.').expect("a token");
    let part = |text: &str| BASE64_URL_SAFE_NO_PAD.encode(text);
    let other = admin
        .post(
            "/api/v1/namespaces/default/serviceaccounts/default/token",
            r#"{"spec":{"audiences":["vault"]}}"#,
        )
        .await
        .ok();
    for (what, token) in [
        ("alg none", format!("{}.{claims}.", part(r#"{"alg":"none"}"#))),
        ("alg none, signed", format!("{}.{claims}.{signature}", part(r#"{"alg":"none"}"#))),
        ("another header", format!("{}.{claims}.{signature}", part(r#"{"alg":"ES256"}"#))),
        ("cut", format!("{signed}.{}", &signature[..signature.len() - 4])),
        ("for another audience", other.text_at(&["status", "token"]).to_owned()),
    ] {
        assert_eq!(who(&server, &token).await, Err(401), "{what}");
    }
    let reviews = "/apis/authentication.k8s.io/v1/tokenreviews";
    let review = format!(
        r#"{{"spec":{{"token":"{}","audiences":["vault","x"]}}}}"#,
        other.text_at(&["status", "token"])
    );
    let reviewed = admin.post(reviews, &review).await.ok();
    assert_eq!(reviewed.at(&["status", "audiences"]).map(to_string).as_deref(), Some(r#"["vault"]"#));
    assert_eq!(reviewed.at(&["status", "authenticated"]).and_then(Value::as_bool), Some(true));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_says_what_is_wrong() {
    let home = TempDir::new().expect("a folder");
    std::fs::write(home.path().join("a.yaml"), "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\njwt: [{issuer: {url: 'https://x', audiences: [a]}, claimMappings: {username: {claim: sub}}}]\n").expect("a file");
    std::fs::write(home.path().join("b.yaml"), "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: false}\n").expect("a file");
    for (flags, expected) in [
        (
            &["--authentication-config=a.yaml"][..],
            "jwt[0].claimMappings.username.prefix: Required value: prefix is required when claim is set. It can be set to an empty string to disable prefixing",
        ),
        (
            &["--authentication-config=b.yaml", "--anonymous-auth=false"],
            "--anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file",
        ),
        (
            &["--authentication-config=b.yaml", "--oidc-client-id=x"],
            "authentication-config file and oidc-* flags are mutually exclusive",
        ),
        (
            &["--service-account-max-token-expiration=59m"],
            "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds",
        ),
        (
            &["--service-account-jwks-uri=http://x"],
            "service-account-jwks-uri requires https scheme, parsed as: http://x",
        ),
        (
            &["--oidc-client-id=x"],
            "oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set",
        ),
        (
            &["--oidc-issuer-url=http://x", "--oidc-client-id=x"],
            "issuer.url: Invalid value: \"http://x\": URL scheme must be https",
        ),
        (
            &["--oidc-issuer-url=https://x", "--oidc-client-id=x", "--oidc-signing-algs=HS256"],
            "oidc: unsupported signing alg: \"HS256\"",
        ),
    ] {
        let server = Server::start(home.path(), &[&["--storage=memory"], flags].concat());
        let (status, complaints) = server.end();
        assert!(!status.success() && complaints.contains(expected), "{flags:?}: {complaints}");
    }
}
