//! The lists that come with resources: they all look alike, so specs say no more than how they are described.

use crate::check::index::Home;
use crate::ir::{Field, ListKind, Node, Shape, Struct};
use crate::lower::types::{definition, kind_name, plain};
use crate::lower::{Context, names};
use crate::spec::{self, TypeName};

/// A kind whose `kind` and `apiVersion` are described; all kinds describe them alike.
const DESCRIBED_KIND: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Status";

impl<'a> Context<'a> {
    /// The list of a resource's objects; `None` where it cannot be listed or the spec has its own.
    pub(super) fn list_type(&self, home: Home<'a>, resource: &spec::Resource) -> Option<Struct> {
        let kind = resource.kind.as_str();
        let name = format!("{kind}List");
        if !resource.verbs.iter().any(|verb| verb.value == "list") || self.index.local(home, &name).is_some()
        {
            return None;
        }
        let meta = TypeName { home: Some(("meta".into(), "v1".into())), name: "ListMeta".into() };
        let item = TypeName { home: None, name: kind.into() };
        let text = || plain(Shape::String(String::new()));
        let items =
            Shape::List { item: Box::new(plain(self.reference(home, &item))), kind: ListKind::Atomic };
        let described = |field| self.descriptions.of_field(DESCRIBED_KIND, field).to_owned();
        let docs = &resource.list;
        let said = |doc: &Option<String>, usual: String| doc.clone().unwrap_or(usual);
        let metadata = said(&docs.metadata, described("metadata"));
        let items_doc = said(&docs.items, format!("Items is the list of {kind} objects."));
        Some(Struct {
            ident: names::constant(&name),
            definition: definition(home, &name),
            doc: said(&docs.doc, format!("{name} is a list of {kind} objects.")),
            kind: Some(kind_name(home, &name)),
            columns: Vec::new(),
            atomic: false,
            granular: false,
            unions: Vec::new(),
            fields: vec![
                field("kind", described("kind"), text(), None),
                field("apiVersion", described("apiVersion"), text(), None),
                field("metadata", metadata, plain(self.reference(home, &meta)), Some(1)),
                Field { required: true, keep: true, ..field("items", items_doc, plain(items), Some(2)) },
            ],
        })
    }
}

fn field(name: &str, doc: String, node: Node, pb: Option<u32>) -> Field {
    Field {
        name: name.into(),
        doc,
        node,
        required: false,
        pointer: false,
        keep: false,
        patch: None,
        proto: pb.map(|tag| (tag, Vec::new())),
    }
}
