//! From a body to the object that it describes: parsed, known for what it is, in the normal form
//! of its type, with its defaults.

mod custom;
mod protobuf;

use std::sync::Arc;

use apiwright_chain::Media;
use apiwright_chain::respond::Warnings;
use apiwright_json::{Duplicates, Value, yaml};
use apiwright_meta::field::quoted;
use apiwright_meta::status::Result;
use apiwright_meta::{ErrorList, GroupKind, Path, Status};
use apiwright_registry::{Catalogue, Resource};
use apiwright_schema::decode::refusal;
use apiwright_schema::decode::{self as schema, Decoded, ObjectKind, Source};
use apiwright_schema::patch::{self, FieldValidation, Patch};
use apiwright_schema::{Struct, defaults, prune};

use crate::old;
use crate::server::{Flavour, Target};

/// What a body is to be.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    /// Whether its type is compiled in.
    pub(crate) flavour: Flavour,
    /// Its group.
    pub(crate) group: &'a str,
    /// Its version.
    pub(crate) version: &'a str,
    /// Its kind.
    pub(crate) kind: &'a str,
    /// Its type.
    pub(crate) ty: &'a Struct,
    /// The kinds that a wrong body may be of.
    pub(crate) catalogue: &'a Catalogue,
    /// The other versions that are served.
    pub(crate) siblings: &'a [Arc<Resource>],
}

/// A body as it came.
#[derive(Clone, Copy)]
pub(crate) struct Body<'a> {
    /// The format.
    pub(crate) media: Media,
    /// The text.
    pub(crate) bytes: &'a [u8],
}

/// A body as a tree, not yet of any type.
struct Parsed {
    value: Value,
    duplicates: Duplicates,
    /// What a strict YAML reader complains of.
    complaints: Vec<String>,
}

impl<'a> Wanted<'a> {
    /// The kind of a resource's objects, or that of a subresource.
    pub(crate) fn of(target: Target<'a>) -> Result<Self> {
        let (resource, catalogue) = (target.resource(), target.server.shared.catalogue);
        let own = Self {
            flavour: target.server.flavour,
            group: &resource.group,
            version: &resource.version,
            kind: &resource.kind,
            ty: &resource.schema,
            catalogue,
            siblings: &target.server.siblings,
        };
        let Some(kind) = target.subresource.map(|one| &one.kind) else { return Ok(own) };
        if (&*kind.group, &*kind.version, &*kind.kind) == (own.group, own.version, own.kind) {
            return Ok(own);
        }
        let known = catalogue.kind(&kind.group, &kind.version, &kind.kind);
        let known =
            known.ok_or_else(|| Status::internal(format!("no type is known for kind {}", &*kind.kind)))?;
        Ok(Self {
            flavour: Flavour::BuiltIn,
            group: &known.kind.group,
            version: &known.kind.version,
            kind: &known.kind.kind,
            ty: known.schema,
            catalogue,
            siblings: &[],
        })
    }

    /// `apps/v1`, or `v1` in the core group.
    pub(crate) fn api_version(&self) -> String {
        api_version(self.group, self.version)
    }
}

/// The object that a body describes.
///
/// # Errors
/// 400 where it is not what is wanted, in upstream's words; 422 where a custom resource is of
/// another kind of its group.
pub(crate) fn object(
    wanted: Wanted<'_>,
    body: Body<'_>,
    validation: FieldValidation,
    warnings: &Warnings,
) -> Result<Value> {
    let unrecognized = |why: String| Status::bad_request(refusal::unrecognized(wanted.kind, why, body.bytes));
    let mut parsed = parse(body, wanted).map_err(unrecognized)?;
    let (api_version, kind) = identify(wanted, &parsed.value, body.bytes).map_err(unrecognized)?;
    let version = api_version.rsplit('/').next().unwrap_or_default().to_owned();
    let unfit = |why: String| Status::bad_request(refusal::unfit(&kind, &version, wanted.kind, why));
    check_kind(wanted, &api_version, &kind).map_err(&unfit)?;

    let value = std::mem::take(&mut parsed.value);
    let disowns = disowns(&value);
    let mut decoded = typed(wanted, &api_version, &kind, value, &parsed.duplicates).map_err(&unfit)?;
    if disowns {
        disown(&mut decoded.value);
    }
    let faults: Vec<String> = parsed.complaints.into_iter().chain(decoded.strict).collect();
    match validation {
        FieldValidation::Strict if !faults.is_empty() => return Err(unfit(refusal::strict(&faults))),
        FieldValidation::Warn => faults.iter().for_each(|fault| warnings.extend(as_warnings(fault))),
        FieldValidation::Strict | FieldValidation::Ignore => {}
    }
    check_version(wanted, &api_version)?;
    if kind != wanted.kind {
        return Err(other_type(wanted, &api_version, &kind, &decoded.value));
    }
    Ok(decoded.value)
}

/// Whether an object asks to forget who owns its fields, by an empty list: normal form has none.
pub(crate) fn disowns(value: &Value) -> bool {
    let given = value.at(&["metadata", "managedFields"]);
    given.and_then(Value::as_array).is_some_and(Vec::is_empty)
}

/// Puts that wish into an object in normal form, for ownership to see.
pub(crate) fn disown(value: &mut Value) {
    apiwright_meta::object::metadata_mut(value).insert("managedFields", Vec::<Value>::new());
}

/// Sets the defaults of an object in normal form: those of its type, then those of its hooks.
pub(crate) fn set_defaults(target: Target<'_>, value: &mut Value) {
    set_defaults_of(target.resource(), value);
}

/// As [`set_defaults`], of whichever version.
pub(crate) fn set_defaults_of(resource: &Resource, value: &mut Value) {
    let disowns = disowns(value);
    defaults::apply_defaults(&resource.schema, value);
    resource.hooks.default(value);
    if resource.is_custom() {
        prune::sort(value);
    } else {
        schema::arrange(&resource.schema, value);
    }
    if disowns {
        disown(value);
    }
}

/// What a patch makes of a custom resource.
///
/// # Errors
/// 400 and 422 as for built-in kinds.
pub(crate) fn patched(
    wanted: Wanted<'_>,
    patch: &Patch,
    old: &Value,
    validation: FieldValidation,
    warnings: &Warnings,
) -> Result<Decoded> {
    let edited = patch.edit(wanted.ty, old)?;
    let shown = || apiwright_json::to_string(&edited);
    let invalid = |why: String| patch::Error::Invalid { shown: shown(), why }.into_status();
    let (api_version, kind) = refusal::type_meta(&edited).map_err(|error| invalid(error.0))?;
    let (api_version, kind) = (api_version.to_owned(), kind.to_owned());
    let mut decoded =
        typed(wanted, &api_version, &kind, edited.clone(), &Duplicates::default()).map_err(invalid)?;
    decoded.strict.splice(0..0, patch.strict().iter().cloned());
    match validation {
        FieldValidation::Ignore => decoded.strict.clear(),
        FieldValidation::Strict if !decoded.strict.is_empty() => {
            return Err(invalid(refusal::strict(&decoded.strict)));
        }
        FieldValidation::Warn | FieldValidation::Strict => {}
    }
    if kind != wanted.kind || api_version != wanted.api_version() {
        warnings.extend(decoded.strict);
        return Err(other_type(wanted, &api_version, &kind, &decoded.value));
    }
    Ok(decoded)
}

/// A body as a tree, for options that are read member by member.
pub(crate) fn untyped(media: Media, bytes: &[u8], catalogue: &Catalogue) -> Result<Value, String> {
    let parsed = match media {
        Media::Json => from_json(bytes)?,
        Media::Yaml => from_yaml(bytes)?,
        Media::Protobuf => Parsed {
            value: protobuf::delete_options(bytes, catalogue)?,
            duplicates: Duplicates::default(),
            complaints: Vec::new(),
        },
    };
    refusal::type_meta(&parsed.value).map_err(|error| error.0)?;
    Ok(parsed.value)
}

/// What a strict decoding error says as warnings: YAML readers complain in several lines.
pub(crate) fn as_warnings(fault: &str) -> Vec<String> {
    match fault.strip_prefix("yaml: unmarshal errors:\n") {
        Some(lines) => lines.lines().map(|line| line.trim().to_owned()).collect(),
        None => vec![fault.to_owned()],
    }
}

/// The name of upstream's package for a group's internal types.
pub(crate) fn go_package(group: &str) -> &str {
    match group {
        "" | "events.k8s.io" => "core",
        "internal.apiserver.k8s.io" => "apiserverinternal",
        group => group.split('.').next().unwrap_or_default(),
    }
}

/// `apps/v1`, or `v1` in the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

fn parse(body: Body<'_>, wanted: Wanted<'_>) -> Result<Parsed, String> {
    match body.media {
        Media::Json => from_json(body.bytes),
        Media::Yaml => from_yaml(body.bytes),
        Media::Protobuf => {
            let value = protobuf::object(body.bytes, wanted)?;
            Ok(Parsed { value, duplicates: Duplicates::default(), complaints: Vec::new() })
        }
    }
}

fn from_json(bytes: &[u8]) -> Result<Parsed, String> {
    let (value, duplicates) =
        apiwright_json::decode(bytes).map_err(|error| refusal::not_json(error.message))?;
    Ok(Parsed { value, duplicates, complaints: Vec::new() })
}

fn from_yaml(bytes: &[u8]) -> Result<Parsed, String> {
    let (value, collisions) = yaml::decode(bytes).map_err(|error| error.message)?;
    let complaints = collisions.strict_error().into_iter().collect();
    Ok(Parsed { value, duplicates: Duplicates::default(), complaints })
}

/// The apiVersion and kind of a body: what it says, or what the address implies. Custom resources
/// must say what they are.
fn identify(wanted: Wanted<'_>, value: &Value, body: &[u8]) -> Result<(String, String), String> {
    let (said_version, said_kind) = refusal::type_meta(value).map_err(|error| error.0)?;
    if said_version.matches('/').count() > 1 {
        return Err(format!("unexpected GroupVersion string: {said_version}"));
    }
    if wanted.flavour == Flavour::Custom {
        if said_kind.is_empty() {
            return Err(format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body)));
        }
        return Ok((said_version.to_owned(), said_kind.to_owned()));
    }
    let version = if said_version.is_empty() { wanted.api_version() } else { said_version.to_owned() };
    let kind = if said_kind.is_empty() { wanted.kind } else { said_kind };
    Ok((version, kind.to_owned()))
}

/// Refuses built-in kinds other than the wanted one: known ones cannot be converted, others are
/// not registered.
fn check_kind(wanted: Wanted<'_>, api_version: &str, kind: &str) -> Result<(), String> {
    if wanted.flavour == Flavour::Custom || (kind == wanted.kind && api_version == wanted.api_version()) {
        return Ok(());
    }
    let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
    let group = match wanted.catalogue.kind(group, version, kind) {
        Some(_) => group,
        None => old::group_now(group, version, kind).ok_or_else(|| refusal::no_kind(kind, api_version))?,
    };
    if kind == wanted.kind && group == wanted.group {
        // The version is told below.
        return Ok(());
    }
    Err(refusal::other_kind(kind, version, wanted.kind, wanted.group))
}

fn typed(
    wanted: Wanted<'_>,
    api_version: &str,
    kind: &str,
    value: Value,
    duplicates: &Duplicates,
) -> Result<Decoded, String> {
    if wanted.flavour == Flavour::Custom {
        return custom::decode(wanted, api_version, kind, value, duplicates);
    }
    let value = if value.is_null() { Value::Object(apiwright_json::Object::new()) } else { value };
    schema::decode(wanted.ty, ObjectKind { api_version, kind }, value, duplicates, Source::Json)
        .map_err(|error| error.0)
}

/// An object that somebody else had, as JSON, back in normal form.
///
/// # Errors
/// What decoding says.
pub(crate) fn restored(wanted: Wanted<'_>, value: Value) -> Result<Value, String> {
    let api_version = wanted.api_version();
    let decoded = typed(wanted, &api_version, wanted.kind, value, &Duplicates::default())?;
    Ok(decoded.value)
}

/// An object that was merged of others, back in normal form.
///
/// # Errors
/// What decoding says.
pub(crate) fn merged(wanted: Wanted<'_>, value: Value) -> Result<Value, String> {
    let api_version = wanted.api_version();
    let decoded = match wanted.flavour {
        Flavour::Custom => custom::decode(wanted, &api_version, wanted.kind, value, &Duplicates::default())?,
        Flavour::BuiltIn => {
            let kind = ObjectKind { api_version: &api_version, kind: wanted.kind };
            schema::normalise(wanted.ty, kind, value, Source::Unstructured).map_err(|error| error.0)?
        }
    };
    Ok(decoded.value)
}

fn check_version(wanted: Wanted<'_>, api_version: &str) -> Result<()> {
    let expected = wanted.api_version();
    if api_version == expected || wanted.group == "policy" && old::is_accepted(api_version, wanted.kind) {
        return Ok(());
    }
    Err(Status::bad_request(format!(
        "the API version in the data ({api_version}) does not match the expected API version ({expected})"
    )))
}

/// Upstream's validation of custom resources begins with their kind and version.
fn other_type(wanted: Wanted<'_>, api_version: &str, kind: &str, value: &Value) -> Box<Status> {
    let mut errors = ErrorList::new();
    for (name, given, must) in
        [("kind", kind, wanted.kind), ("apiVersion", api_version, &wanted.api_version())]
    {
        if given != must {
            errors.invalid(Path::new(name), quoted(given), &format!("must be {must}"));
        }
    }
    let group_kind = GroupKind { group: wanted.group.into(), kind: kind.into() };
    Status::invalid(&group_kind, apiwright_meta::object::name(value), &errors)
}
