//! The forms of a request's objects, for plugins that show them to others and take back what those
//! made of them.

use apiwright_admission::Forms;
use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_meta::{Status, object};
use apiwright_registry::Resource;
use apiwright_schema::decode::{ObjectKind, Source, normalise};
use apiwright_schema::defaults::apply_defaults;
use futures::future::BoxFuture;

use crate::decode::{self, Wanted, go_package};
use crate::server::{Flavour, Target};

/// Brings objects from one version of a kind to another, where that takes somebody else.
pub trait Convert: Send + Sync + 'static {
    /// An object in another version.
    fn convert<'a>(&'a self, object: Value, to: &'a Resource) -> BoxFuture<'a, Result<Value>>;
}

/// The forms of what a request is about.
#[derive(Clone, Copy)]
pub(crate) struct TargetForms<'a>(Target<'a>);

impl<'a> TargetForms<'a> {
    pub(crate) fn new(target: Target<'a>) -> Self {
        Self(target)
    }

    /// What is wanted: of the request's version, or of another one of the resource.
    fn wanted<'b>(&'b self, of: Option<&'b Resource>) -> Result<Wanted<'b>> {
        let own = Wanted::of(self.0)?;
        Ok(match of {
            None => own,
            Some(other) => Wanted {
                group: &other.group,
                version: &other.version,
                kind: &other.kind,
                ty: &other.schema,
                ..own
            },
        })
    }
}

impl TargetForms<'_> {
    fn converted<'a>(
        &'a self,
        object: Value,
        from: &'a Resource,
        to: &'a Resource,
    ) -> BoxFuture<'a, Result<Value>> {
        match &self.0.server.conversion {
            Some(conversion) => conversion.convert(object, to),
            None => Box::pin(std::future::ready(converted(object, from, to))),
        }
    }
}

impl Forms for TargetForms<'_> {
    fn convert<'a>(&'a self, object: &'a Value, to: &'a Resource) -> BoxFuture<'a, Result<Value>> {
        self.converted(object.clone(), self.0.resource(), to)
    }

    fn convert_back<'a>(&'a self, object: Value, from: &'a Resource) -> BoxFuture<'a, Result<Value>> {
        self.converted(object, from, self.0.resource())
    }

    fn settle(&self, changed: Value, of: Option<&Resource>) -> Result<Value> {
        let wanted = self.wanted(of)?;
        check_kind(wanted, &changed)?;
        let mut settled = decode::restored(wanted, changed).map_err(Status::internal)?;
        match self.0.subresource {
            Some(_) if of.is_none() && wanted.kind != &*self.0.resource().kind => {
                apply_defaults(wanted.ty, &mut settled);
            }
            _ => decode::set_defaults_of(of.unwrap_or(self.0.resource()), &mut settled),
        }
        Ok(settled)
    }
}

impl std::fmt::Debug for TargetForms<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.resource().group_resource())
    }
}

fn converted(object: Value, from: &Resource, to: &Resource) -> Result<Value> {
    let converted = apiwright_registry::convert(object, from, to)?;
    if to.is_custom() {
        return Ok(converted);
    }
    let api_version = to.api_version();
    let kind = ObjectKind { api_version: &api_version, kind: &to.kind };
    let decoded = normalise(&to.schema, kind, converted, Source::Json);
    decoded.map(|decoded| decoded.value).map_err(|why| Status::internal(why.0))
}

/// An object must stay what it is: upstream finds no way back.
fn check_kind(wanted: Wanted<'_>, changed: &Value) -> Result<()> {
    let kind = object::gvk(changed);
    if (&*kind.group, &*kind.version, &*kind.kind) == (wanted.group, wanted.version, wanted.kind) {
        return Ok(());
    }
    let name = |group: &str| if group.is_empty() { "core".to_owned() } else { go_package(group).to_owned() };
    Err(Status::unclassified(match wanted.flavour {
        Flavour::BuiltIn => format!(
            "converting ({}.{}) to ({}.{}): unknown conversion",
            kind.version,
            kind.kind,
            name(wanted.group),
            wanted.kind
        ),
        Flavour::Custom => format!(
            "unable to convert object type {} to {}",
            object::api_version(changed),
            wanted.api_version()
        ),
    }))
}
