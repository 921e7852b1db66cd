//! Where a Service is reached.

use std::fmt;
use std::net::IpAddr;

use futures::future::BoxFuture;

/// A Service by name, as webhook configurations, definitions and APIServices refer to one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ServiceReference {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// The port that it listens on.
    pub port: u16,
}

impl ServiceReference {
    /// The name that its certificate must have.
    pub fn server_name(&self) -> String {
        format!("{}.{}.svc", self.name, self.namespace)
    }
}

/// A host, by name or address, and a port.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// The name or the address, without brackets.
    pub name: String,
    /// The port.
    pub port: u16,
}

impl Host {
    /// The host that an `https` address names; its port is 443 where it says none.
    pub fn of(uri: &http::Uri) -> Option<Self> {
        let name = uri.host()?.trim_start_matches('[').trim_end_matches(']');
        Some(Self { name: name.to_owned(), port: uri.port_u16().unwrap_or(443) })
    }
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.parse() {
            Ok(IpAddr::V6(ip)) => write!(f, "[{ip}]:{}", self.port),
            _ => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

/// Finds where a Service is reached now.
pub trait Resolver: Send + Sync + 'static {
    /// The host.
    ///
    /// # Errors
    /// Why it cannot be reached, in the words that clients see.
    fn resolve<'a>(&'a self, service: &'a ServiceReference) -> BoxFuture<'a, Result<Host, String>>;
}
