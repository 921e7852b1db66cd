//! What a token says.

use apiwright_json::{Object, Value};

/// An object that a token names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bound {
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
}

/// A token's content, the issuer aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claims {
    /// Whom it is for.
    pub audiences: Vec<String>,
    /// From when, in seconds since 1970.
    pub not_before: i64,
    /// Until when.
    pub expires: i64,
    /// The token's own id.
    pub id: String,
    /// The account's namespace.
    pub namespace: String,
    /// Whose it is.
    pub account: Bound,
    /// The pod that it is bound to.
    pub pod: Option<Bound>,
    /// The secret that it is bound to.
    pub secret: Option<Bound>,
    /// The node of that pod, or the node that it is bound to.
    pub node: Option<Bound>,
    /// From when a use deserves a warning.
    pub warn_after: Option<i64>,
}

impl Claims {
    /// The payload of a token, members in the order in which upstream writes them.
    pub(super) fn to_value(&self, issuer: &str) -> Value {
        let mut private = Object::new();
        private.push("namespace", self.namespace.as_str());
        if let Some(node) = &self.node {
            private.push("node", bound_value(node));
        }
        if let Some(pod) = &self.pod {
            private.push("pod", bound_value(pod));
        }
        if let Some(secret) = &self.secret {
            private.push("secret", bound_value(secret));
        }
        private.push("serviceaccount", bound_value(&self.account));
        if let Some(moment) = self.warn_after {
            private.push("warnafter", moment);
        }
        let audiences: Vec<Value> = self.audiences.iter().map(|audience| audience.as_str().into()).collect();
        let mut payload = Object::new();
        payload.push("aud", audiences);
        payload.push("exp", self.expires);
        payload.push("iat", self.not_before);
        payload.push("iss", issuer);
        payload.push("jti", self.id.as_str());
        payload.push("kubernetes.io", private);
        payload.push("nbf", self.not_before);
        payload.push("sub", format!("system:serviceaccount:{}:{}", self.namespace, self.account.name));
        payload.into()
    }

    /// Reads a payload.
    pub(super) fn read(payload: &Value) -> Result<Self, String> {
        let number = |key: &str| match payload.get(key) {
            Some(Value::Int(number)) => Ok(*number),
            Some(Value::Float(number)) => Ok(*number as i64),
            _ => Err(format!("a token without {key}")),
        };
        let audiences = match payload.get("aud") {
            Some(Value::String(one)) => vec![one.to_string()],
            Some(Value::Array(several)) => {
                several.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        };
        let Some(private) = payload.get("kubernetes.io") else {
            return Err("a token that names no service account".into());
        };
        let bound = |key: &str| {
            private
                .get(key)
                .map(|it| Bound { name: it.text_at(&["name"]).into(), uid: it.text_at(&["uid"]).into() })
        };
        let claims = Self {
            audiences,
            not_before: number("nbf")?,
            expires: number("exp")?,
            id: payload.text_at(&["jti"]).into(),
            namespace: private.text_at(&["namespace"]).into(),
            account: bound("serviceaccount").unwrap_or_default(),
            pod: bound("pod"),
            secret: bound("secret"),
            node: bound("node"),
            warn_after: private.get("warnafter").and_then(Value::as_i64),
        };
        let subject = format!("system:serviceaccount:{}:{}", claims.namespace, claims.account.name);
        if subject != payload.text_at(&["sub"]) {
            return Err("a token whose subject is not its service account".into());
        }
        Ok(claims)
    }
}

fn bound_value(bound: &Bound) -> Object {
    let mut object = Object::new();
    object.push("name", bound.name.as_str());
    object.push("uid", bound.uid.as_str());
    object
}
