//! What the expressions of policies may name.

use std::sync::{Arc, LazyLock};

use apiwright_cel::{Decl, Env, Type, types};

/// Which names there are besides those that there always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// `params`
    pub params: bool,
    /// `authorizer`
    pub authorizer: bool,
    /// What mutations make.
    pub mutations: bool,
}

impl Names {
    /// What validations, variables and match conditions may name.
    pub fn asking(params: bool) -> Self {
        Self { params, authorizer: true, mutations: false }
    }

    /// What messages and annotations may name.
    pub fn telling(params: bool) -> Self {
        Self { params, authorizer: false, mutations: false }
    }

    /// What mutations may name.
    pub fn mutating(params: bool) -> Self {
        Self { params, authorizer: true, mutations: true }
    }
}

/// A name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Object,
    OldObject,
    NamespaceObject,
    Request,
    Params,
    Authorizer,
    RequestResource,
    Variables,
}

/// The names of an environment, in the order of its variables.
pub(crate) fn names(names: Names) -> Vec<Name> {
    let mut all = vec![Name::Object, Name::OldObject, Name::NamespaceObject, Name::Request];
    if names.params {
        all.push(Name::Params);
    }
    if names.authorizer {
        all.extend([Name::Authorizer, Name::RequestResource]);
    }
    all.push(Name::Variables);
    all
}

/// The environment of these names; `variables` are those that a policy defines.
pub fn env(with: Names, variables: &[(String, Type)]) -> Env {
    let mut env = Env::new();
    for name in names(with) {
        env = match name {
            Name::Object => env.with("object", Type::Dyn, None),
            Name::OldObject => env.with("oldObject", Type::Dyn, None),
            Name::NamespaceObject => env.with_decl("namespaceObject", &NAMESPACE),
            Name::Request => env.with_decl("request", &REQUEST),
            Name::Params => env.with("params", Type::Dyn, None),
            Name::Authorizer => env.with("authorizer", types::AUTHORIZER, None),
            Name::RequestResource => env.with("authorizer.requestResource", types::RESOURCE_CHECK, None),
            Name::Variables if variables.is_empty() => env,
            Name::Variables => {
                let fields =
                    variables.iter().map(|(name, ty)| (name.as_str(), Decl::of_type(ty.clone()))).collect();
                env.with_decl("variables", &Decl::object("kubernetes.variables", fields))
            }
        };
    }
    if with.mutations { env.with_mutations() } else { env }
}

/// The environment in which a policy's types are checked: of objects, and of parameters where there are some, it is
/// known what they are.
pub(crate) fn typed_env(object: &Arc<Decl>, params: Option<&Arc<Decl>>, variables: &[(String, Type)]) -> Env {
    let mut env = Env::new().with_decl("namespaceObject", &NAMESPACE).with_decl("request", &REQUEST);
    env = env.with_decl("object", object).with_decl("oldObject", object);
    if let Some(params) = params {
        env = env.with_decl("params", params);
    }
    let fields = variables.iter().map(|(name, ty)| (name.as_str(), Decl::of_type(ty.clone()))).collect();
    env.with("authorizer", types::AUTHORIZER, None)
        .with_decl("variables", &Decl::object("kubernetes.variables", fields))
}

/// How `request` is read.
pub(crate) static REQUEST: LazyLock<Arc<Decl>> = LazyLock::new(|| {
    let text = Decl::string;
    let kind = || {
        Decl::object(
            "kubernetes.GroupVersionKind",
            vec![("group", text()), ("version", text()), ("kind", text())],
        )
    };
    let resource = || {
        let fields = vec![("group", text()), ("version", text()), ("resource", text())];
        Decl::object("kubernetes.GroupVersionResource", fields)
    };
    let user = Decl::object(
        "kubernetes.UserInfo",
        vec![
            ("username", text()),
            ("uid", text()),
            ("groups", Decl::list_of(text())),
            ("extra", Decl::map_of(Decl::list_of(text()))),
        ],
    );
    Decl::object(
        "kubernetes.AdmissionRequest",
        vec![
            ("kind", kind()),
            ("resource", resource()),
            ("subResource", text()),
            ("requestKind", kind()),
            ("requestResource", resource()),
            ("requestSubResource", text()),
            ("name", text()),
            ("namespace", text()),
            ("operation", text()),
            ("userInfo", user),
            ("dryRun", Decl::bool()),
            ("options", Decl::dynamic()),
        ],
    )
});

/// How `namespaceObject` is read: some of its fields are left out by design.
pub(crate) static NAMESPACE: LazyLock<Arc<Decl>> = LazyLock::new(|| {
    let text = Decl::string;
    let texts = || Decl::list_of(text());
    let metadata = Decl::object(
        "kubernetes.NamespaceMetadata",
        vec![
            ("name", text()),
            ("generateName", text()),
            ("namespace", text()),
            ("labels", Decl::map_of(text())),
            ("annotations", Decl::map_of(text())),
            ("UID", text()),
            ("creationTimestamp", Decl::timestamp()),
            ("deletionGracePeriodSeconds", Decl::int()),
            ("deletionTimestamp", Decl::timestamp()),
            ("generation", Decl::int()),
            ("resourceVersion", text()),
            ("finalizers", texts()),
        ],
    );
    let condition = Decl::object(
        "kubernetes.NamespaceCondition",
        vec![
            ("status", text()),
            ("type", text()),
            ("lastTransitionTime", Decl::timestamp()),
            ("message", text()),
            ("reason", text()),
        ],
    );
    let status = vec![("conditions", Decl::list_of(condition)), ("phase", text())];
    Decl::object(
        "kubernetes.Namespace",
        vec![
            ("metadata", metadata),
            ("spec", Decl::object("kubernetes.NamespaceSpec", vec![("finalizers", texts())])),
            ("status", Decl::object("kubernetes.NamespaceStatus", status)),
        ],
    )
});

/// The type of what `ApplyConfiguration` mutations give.
pub(crate) fn is_object(ty: &Type) -> bool {
    matches!(ty, Type::Struct(object) if object.open && object.name == "Object")
}

/// The type of what `JSONPatch` mutations give.
pub(crate) fn is_patches(ty: &Type) -> bool {
    let Type::List(item) = ty else { return false };
    matches!(&**item, Type::Struct(object) if object.name == "JSONPatch")
}
