//! Tells the aggregator of APIServices.

use std::sync::Arc;

use apiwright_aggregator::{ApiService, Registration};
use apiwright_controllers::{Cache, Next, Result};

use crate::generated::controllers::apiservice_registration::{ApiService as Found, Controller, Facts, Known};

/// The controller.
pub(super) struct Register {
    pub(super) services: Cache,
    pub(super) registration: Arc<Registration>,
}

impl Controller for Register {
    type Observed = Option<ApiService>;

    async fn observe(&self, key: &str) -> Result<(Facts, Option<ApiService>)> {
        let service = self.services.object("", key)?.map(|value| ApiService::read(&value));
        let known = self.registration.get(key);
        let facts = Facts {
            api_service: if service.is_some() { Found::There } else { Found::Absent },
            known: match &known {
                None => Known::Absent,
                Some(known) if Some(known) == service.as_ref() => Known::Same,
                Some(_) => Known::Other,
            },
        };
        Ok((facts, service))
    }

    async fn take(&self, _key: &str, service: Option<ApiService>) -> Result<Next> {
        if let Some(service) = service {
            self.registration.set(service);
        }
        Ok(Next::Done)
    }

    async fn forget(&self, key: &str, _: Option<ApiService>) -> Result<Next> {
        self.registration.remove(key);
        Ok(Next::Done)
    }
}
