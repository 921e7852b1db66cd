//! Says of APIServices without a Service that they are available.

use apiwright_controllers::{Cache, Next, Result, Writer};
use apiwright_json::Value;

use super::condition::{Available, done};
use crate::generated::controllers::local_available::{ApiService, Controller, Facts};

/// The controller.
pub(super) struct LocalAvailable {
    pub(super) services: Cache,
    pub(super) writer: Writer,
}

impl Controller for LocalAvailable {
    type Observed = Value;

    async fn observe(&self, key: &str) -> Result<(Facts, Value)> {
        let service = self.services.object("", key)?;
        let api_service = match &service {
            None => ApiService::Absent,
            Some(service) if service.at(&["spec", "service"]).is_none_or(Value::is_null) => ApiService::Local,
            Some(_) => ApiService::Remote,
        };
        let service = service.unwrap_or_default();
        Ok((Facts { api_service, said: Available::local().is_said_by(&service) }, service))
    }

    async fn say(&self, _key: &str, service: Value) -> Result<Next> {
        done(Available::local(), &self.writer, &self.services.store, &service).await
    }
}
