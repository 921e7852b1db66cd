//! The end of a definition: its objects go, then it does.

use std::sync::Arc;

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Result;
use apiwright_registry::Store;
use apiwright_registry::store::{DeleteOptions, Freshness, Paging, Selection, WriteOptions};
use apiwright_storage::{At, Error, Event, Range};
use futures::StreamExt;

use crate::conditions;
use crate::definition::{CLEANUP_FINALIZER, Decision};
use crate::status::{self, Unchecked};

/// One definition on its way out.
pub(crate) struct Cleanup {
    /// The store of definitions.
    pub(crate) definitions: Arc<Store>,
    /// Its name.
    pub(crate) name: String,
    /// Tells it from the next one of that name.
    pub(crate) uid: String,
    /// Its objects; `None` where it was never established.
    pub(crate) objects: Option<Arc<Store>>,
}

impl Cleanup {
    /// Deletes the objects, waits until they are gone, lets the definition go.
    pub(crate) async fn run(&self) -> Result<()> {
        self.say("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress", false)
            .await?;
        let Some(objects) = &self.objects else {
            return self.say("False", "NeverEstablished", "resource was never established", true).await;
        };
        if let Err(why) = delete_all(objects).await {
            let message = format!("could not issue all deletes: {}", why.message);
            self.say("True", "InstanceDeletionFailed", &message, false).await?;
            return Err(why);
        }
        if let Err(why) = until_empty(objects).await {
            let message = format!("could not confirm zero CustomResources remaining: {why}");
            self.say("True", "InstanceDeletionCheck", &message, false).await?;
            return Err(apiwright_meta::Status::internal(why));
        }
        self.say("False", "InstanceDeletionCompleted", "removed all instances", true).await
    }

    /// Sets the condition `Terminating`, and takes the finalizer away at the end.
    async fn say(&self, status: &'static str, reason: &str, message: &str, done: bool) -> Result<()> {
        let decision = Decision { status, reason: reason.to_owned(), message: message.to_owned() };
        let change = |definition: &mut Value| {
            if object::uid(definition) != self.uid {
                return;
            }
            conditions::set(definition, "Terminating", &decision);
            if done {
                object::remove_finalizer(definition, CLEANUP_FINALIZER);
            }
        };
        status::write(&self.definitions, &self.name, &change).await.map(|_| ())
    }
}

async fn delete_all(objects: &Store) -> Result<()> {
    let write = WriteOptions { user: "system:apiserver".into(), ..WriteOptions::default() };
    let options = DeleteOptions::default();
    objects
        .delete_collection(
            &write,
            &Selection::default(),
            Freshness::Latest,
            &Paging::default(),
            &options,
            &Unchecked,
        )
        .await
        .map(|_| ())
}

/// Finalizers may hold objects for any time.
async fn until_empty(objects: &Store) -> std::result::Result<(), Error> {
    let prefix = format!("/registry/{}/", &*objects.resource.storage.prefix);
    let storage = &objects.storage;
    loop {
        let first = Range { prefix: &prefix, after: None, limit: 1, at: At::Latest };
        let page = storage.range(first).await?;
        if page.entries.is_empty() {
            return Ok(());
        }
        let mut watch = storage.watch(&prefix, page.revision).await?;
        while let Some(event) = watch.next().await {
            match event {
                Ok(Event::Delete { .. }) => break,
                Ok(_) => {}
                // Too slow for the window of events: look again.
                Err(Error::Compacted { .. }) => break,
                Err(why) => return Err(why),
            }
        }
    }
}
