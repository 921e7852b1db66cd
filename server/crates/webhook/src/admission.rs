//! The two plugins over the webhooks that are configured.

use std::sync::Arc;

use apiwright_admission::{Objects, Plugin};
use apiwright_chain::{Authorizer, Drain};
use apiwright_storage::{Error, Storage};

use crate::client::Clients;
use crate::configurations::Configurations;
use crate::figures::Figures;
use crate::mutating::MutatingAdmissionWebhook;
use crate::validating::ValidatingAdmissionWebhook;

/// The webhooks that are configured.
pub struct AdmissionWebhooks {
    mutating: Arc<Configurations>,
    validating: Arc<Configurations>,
    figures: Arc<Figures>,
}

impl AdmissionWebhooks {
    /// None read yet: until [`AdmissionWebhooks::start`] has, the plugins refuse.
    pub fn new(clients: &Clients) -> Self {
        let configurations = |plural| Arc::new(Configurations::new(plural, clients.clone()));
        Self {
            mutating: configurations("mutatingwebhookconfigurations"),
            validating: configurations("validatingwebhookconfigurations"),
            figures: Arc::default(),
        }
    }

    /// The plugins; they look namespaces up in `objects`, and ask the authorizer what users may.
    pub fn plugins(&self, objects: &Objects, authorizer: &Arc<dyn Authorizer>) -> [Arc<dyn Plugin>; 2] {
        [
            Arc::new(MutatingAdmissionWebhook {
                configurations: Arc::clone(&self.mutating),
                objects: objects.clone(),
                authorizer: Arc::clone(authorizer),
                figures: Arc::clone(&self.figures),
            }),
            Arc::new(ValidatingAdmissionWebhook {
                configurations: Arc::clone(&self.validating),
                objects: objects.clone(),
                authorizer: Arc::clone(authorizer),
                figures: Arc::clone(&self.figures),
            }),
        ]
    }

    /// Appends how long calls took, in Prometheus' text format.
    pub fn render_metrics(&self, out: &mut String) {
        self.figures.render(out);
    }

    /// Reads the configurations, then follows storage until the drain begins.
    ///
    /// # Errors
    /// When storage cannot be read.
    pub async fn start(&self, storage: &Arc<dyn Storage>, drain: &Drain) -> Result<(), Error> {
        for configurations in [&self.mutating, &self.validating] {
            let from = configurations.load(storage.as_ref()).await?;
            tokio::spawn(Arc::clone(configurations).follow(Arc::clone(storage), from, drain.clone()));
        }
        Ok(())
    }
}
