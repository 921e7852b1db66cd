//! Writes of the server itself: the way of any client's below HTTP, admission included, under a name of its own.

use std::sync::Arc;

use apiwright_admission::{Admission, Operation};
use apiwright_json::{Duplicates, Object, Value};
use apiwright_meta::status::Result;
use apiwright_meta::{Status, time};
use apiwright_registry::store::{Freshness, Paging, Selection, Transform, WriteOptions, Writer as User};
use apiwright_registry::{Catalogue, DeleteOptions, Deleted, Resource, Store, Written};
use apiwright_schema::apply::{self, Apply};
use apiwright_schema::decode::{ObjectKind, Source};
use apiwright_schema::defaults::apply_defaults;
use apiwright_schema::fieldset::Filter;
use apiwright_schema::managed::{self, OneVersion};
use apiwright_storage::Entry;
use futures::future::BoxFuture;

use crate::asked::{Asked, settle};

/// Who a writer is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The user.
    pub user: &'static str,
    /// The manager of the fields that it writes.
    pub manager: &'static str,
}

/// Somebody who writes.
#[derive(Clone)]
pub struct Writer {
    /// Who it is.
    pub identity: Identity,
    user: User,
    admission: Arc<Admission>,
    catalogue: Option<&'static Catalogue>,
}

impl Identity {
    /// kube-apiserver itself.
    pub const API_SERVER: Self = Self { user: "system:apiserver", manager: "kube-apiserver" };

    /// One of kube-controller-manager's controllers, by the name of its service account's user.
    pub const fn manager(user: &'static str) -> Self {
        Self { user, manager: "kube-controller-manager" }
    }

    /// The groups of the user: a service account's, or those of who may do everything.
    pub fn groups(self) -> Vec<String> {
        let mut groups = match self.user.strip_prefix("system:serviceaccount:") {
            Some(account) => {
                let namespace = account.split(':').next().unwrap_or_default();
                vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
            }
            None => vec!["system:masters".to_owned()],
        };
        groups.push("system:authenticated".to_owned());
        groups
    }

    /// A writer whom nobody asks: for what the server needs to be one, and for elections.
    pub fn unasked(self) -> Writer {
        Writer { identity: self, user: self.as_user(), admission: Arc::default(), catalogue: None }
    }

    /// A writer whom these plugins ask, as they ask clients.
    pub fn writer(self, admission: Arc<Admission>, catalogue: &'static Catalogue) -> Writer {
        Writer { identity: self, user: self.as_user(), admission, catalogue: Some(catalogue) }
    }

    fn as_user(self) -> User {
        User { name: self.user.to_owned(), groups: self.groups(), ..User::default() }
    }
}

impl Writer {
    /// Creates an object, which is decoded and gets its defaults as a request's body does.
    ///
    /// # Errors
    /// As [`Store::create`]; 400 where it is no such object; what admission says.
    pub async fn create(&self, store: &Store, namespace: &str, object: Value) -> Result<Written> {
        let resource = &*store.resource;
        let api_version = resource.api_version();
        let kind = ObjectKind { api_version: &api_version, kind: &resource.kind };
        let decoded = apiwright_schema::decode::decode(
            &resource.schema,
            kind,
            object,
            &Duplicates::default(),
            Source::Json,
        )
        .map_err(|why| Status::bad_request(why.to_string()))?;
        if !decoded.strict.is_empty() {
            return Err(Status::bad_request(decoded.strict.join(", ")));
        }
        let mut object = decoded.value;
        apply_defaults(&resource.schema, &mut object);
        resource.hooks.default(&mut object);
        self.own(resource, None, &mut object, "");
        let name = apiwright_meta::object::name(&object).to_owned();
        let asked = self.asked(resource, "", (namespace, &name), options("CreateOptions"));
        asked.mutate(Operation::Create, Some(&mut object), None).await?;
        store.create(&self.options(""), namespace, object, &asked).await
    }

    /// Changes an object, or one of its subresources; called again where another writer was faster.
    /// What `change` leaves as it is is not written, and nobody is asked about it.
    ///
    /// # Errors
    /// As [`Store::update`], those of `change`, and what admission says.
    pub async fn update(
        &self,
        store: &Store,
        place: (&str, &str),
        subresource: &'static str,
        change: impl FnMut(&mut Value) -> Result<()> + Send,
    ) -> Result<Arc<Entry>> {
        let mut change = change;
        let make = |old: &Value| {
            // Where an update may create, the registry asks for a new object.
            if old.is_null() {
                return Err(Status::not_found(&store.resource.group_resource(), place.1));
            }
            let mut new = old.clone();
            change(&mut new)?;
            if new != *old {
                self.own(&store.resource, Some(old), &mut new, subresource);
            }
            Ok(new)
        };
        self.write(store, place, subresource, make).await
    }

    /// Applies a configuration to an object that is there, or to one of its subresources, taking over the fields that it
    /// names.
    ///
    /// # Errors
    /// As [`Store::update`]; what is wrong with the configuration; what admission says.
    pub async fn apply(
        &self,
        store: &Store,
        place: (&str, &str),
        subresource: &'static str,
        config: &Value,
    ) -> Result<Arc<Entry>> {
        let resource = &*store.resource;
        let make = |old: &Value| {
            let finish = |merged| settle(resource, merged, Source::Unstructured);
            let (api_version, now, filter) =
                (resource.api_version(), time::now(), filter(resource, subresource));
            let request = self.request(&api_version, subresource, &now, &filter);
            let apply = Apply { request, kind: &resource.kind, force: true, finish: &finish };
            apply::apply(&resource.schema, Some(old), config, &apply)
        };
        self.write(store, place, subresource, make).await
    }

    async fn write(
        &self,
        store: &Store,
        (namespace, name): (&str, &str),
        subresource: &'static str,
        make: impl FnMut(&Value) -> Result<Value> + Send,
    ) -> Result<Arc<Entry>> {
        let asked = self.asked(&store.resource, subresource, (namespace, name), options("UpdateOptions"));
        let mut edit = Edit { asked: &asked, make };
        let written = store.update(&self.options(subresource), namespace, name, &mut edit, &asked).await?;
        Ok(written.entry)
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`Store::delete`]; what admission says.
    pub async fn delete(
        &self,
        store: &Store,
        place: (&str, &str),
        options: &DeleteOptions,
    ) -> Result<Deleted> {
        let asked = self.asked(&store.resource, "", place, delete_options(options));
        store.delete(&self.options(""), place.0, place.1, options, &asked).await
    }

    /// Deletes all objects of a namespace.
    ///
    /// # Errors
    /// As [`Store::delete_collection`]; what admission says.
    pub async fn delete_all(&self, store: &Store, namespace: &str, options: &DeleteOptions) -> Result<()> {
        let selection = Selection { namespace: namespace.to_owned(), ..Selection::default() };
        let (write, all) = (self.options(""), Paging::default());
        // Who asks about a collection is told no name.
        let asked = self.asked(&store.resource, "", (namespace, ""), delete_options(options));
        store
            .delete_collection(&write, &selection, Freshness::Latest, &all, options, &asked)
            .await
            .map(|_| ())
    }

    /// How this writer writes.
    fn options(&self, subresource: &str) -> WriteOptions {
        WriteOptions {
            user: self.user.clone(),
            subresource: subresource.to_owned(),
            ..WriteOptions::default()
        }
    }

    /// Notes who wrote what.
    fn own(&self, resource: &Resource, old: Option<&Value>, object: &mut Value, subresource: &str) {
        let (api_version, now, filter) = (resource.api_version(), time::now(), filter(resource, subresource));
        managed::update(
            &resource.schema,
            old,
            object,
            &self.request(&api_version, subresource, &now, &filter),
        );
    }

    fn request<'a>(
        &self,
        api_version: &'a str,
        subresource: &'a str,
        now: &'a str,
        filter: &'a Filter,
    ) -> managed::Request<'a> {
        let manager = self.identity.manager;
        managed::Request { manager, api_version, subresource, now, filter, versions: &OneVersion }
    }

    fn asked<'a>(
        &'a self,
        resource: &'a Resource,
        subresource: &'a str,
        (namespace, name): (&'a str, &'a str),
        options: Value,
    ) -> Asked<'a> {
        let versions = match (self.admission.is_empty(), self.catalogue) {
            (false, Some(catalogue)) => catalogue.siblings(resource),
            _ => Vec::new(),
        };
        Asked {
            admission: &self.admission,
            user: &self.user,
            resource,
            subresource,
            namespace,
            name,
            options,
            versions,
        }
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writer").field("identity", &self.identity).finish_non_exhaustive()
    }
}

/// Makes a new object of the old one, and asks about it.
struct Edit<'a, F> {
    asked: &'a Asked<'a>,
    make: F,
}

impl<F: FnMut(&Value) -> Result<Value> + Send> Transform for Edit<'_, F> {
    fn apply<'a>(&'a mut self, old: Option<&'a Value>) -> BoxFuture<'a, Result<Value>> {
        let nothing = Value::default();
        let made = (self.make)(old.unwrap_or(&nothing));
        Box::pin(async move {
            let mut new = made?;
            if old != Some(&new) {
                self.asked.mutate(Operation::Update, Some(&mut new), old).await?;
            }
            Ok(new)
        })
    }
}

/// Which fields a write owns.
fn filter(resource: &Resource, subresource: &str) -> Filter {
    match subresource {
        "status" => Filter::without(&["spec"]),
        _ if resource.strategy.status_subresource => Filter::without(&["status"]),
        _ => Filter::All,
    }
}

fn options(kind: &str) -> Value {
    Object::from_iter([("kind", kind), ("apiVersion", "meta.k8s.io/v1")]).into()
}

fn delete_options(of: &DeleteOptions) -> Value {
    let mut options = Object::from_iter([("kind", "DeleteOptions"), ("apiVersion", "meta.k8s.io/v1")]);
    if let Some(seconds) = of.grace_period_seconds {
        options.push("gracePeriodSeconds", seconds);
    }
    if of.uid.is_some() || of.resource_version.is_some() {
        let preconditions = options.object("preconditions");
        for (name, value) in [("uid", &of.uid), ("resourceVersion", &of.resource_version)] {
            if let Some(value) = value {
                preconditions.push(name, value.as_str());
            }
        }
    }
    if let Some(propagation) = of.propagation {
        options.push("propagationPolicy", format!("{propagation:?}"));
    }
    options.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_have_groups() {
        for (user, expected) in [
            (
                "system:serviceaccount:kube-system:namespace-controller",
                "system:serviceaccounts system:serviceaccounts:kube-system system:authenticated",
            ),
            ("system:apiserver", "system:masters system:authenticated"),
        ] {
            assert_eq!(Identity::manager(user).groups().join(" "), expected);
        }
    }

    #[test]
    fn options_of_deletions_are_told() {
        use apiwright_registry::store::Propagation;
        let options = DeleteOptions {
            grace_period_seconds: Some(0),
            uid: Some("u".into()),
            resource_version: Some("7".into()),
            propagation: Some(Propagation::Background),
        };
        assert_eq!(
            apiwright_json::to_string(&delete_options(&options)),
            r#"{"kind":"DeleteOptions","apiVersion":"meta.k8s.io/v1","gracePeriodSeconds":0,"preconditions":{"uid":"u","resourceVersion":"7"},"propagationPolicy":"Background"}"#
        );
    }
}
