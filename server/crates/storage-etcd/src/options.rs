//! Where the cluster is and how to talk to it.

use std::fmt;
use std::time::Duration;

/// The connection to a cluster.
#[derive(Clone, Debug)]
pub struct Options {
    /// The members' client URLs, `https://10.0.0.1:2379`; at least one.
    pub endpoints: Vec<String>,
    /// Where our keys are in the cluster, if not under their own names.
    pub root: Option<Root>,
    /// Needed for `https` URLs.
    pub tls: Option<Tls>,
    /// Where the cluster has authentication enabled.
    pub user: Option<User>,
    /// How long one request may take.
    pub request_timeout: Duration,
    /// How long the cluster may take to show that it is healthy.
    pub health_timeout: Duration,
    /// How long connecting to one member may take.
    pub connect_timeout: Duration,
    /// How often a silent connection is tried. etcd refuses less than 5 seconds.
    pub keep_alive_interval: Duration,
    /// How long such a trial may take before the connection counts as lost.
    pub keep_alive_timeout: Duration,
    /// How often the cluster is asked how far a watch has come.
    pub progress_interval: Duration,
    /// The longest wait before a lost watch is tried again.
    pub backoff_max: Duration,
}

/// A part of the key space under another name. Keys outside of it keep their names.
#[derive(Clone, Debug)]
pub struct Root {
    /// How keys begin that are renamed, `/registry/`.
    pub ours: String,
    /// How they begin in the cluster instead, `/clusters/blue/`.
    pub theirs: String,
}

/// The certificates of a connection, each as PEM.
#[derive(Clone, Default)]
pub struct Tls {
    /// Who may sign the members' certificates.
    pub ca: Vec<u8>,
    /// The client's own certificate and key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
    /// The name that the members' certificates have, where it is not their host's.
    pub server_name: Option<String>,
}

/// A user of the cluster.
#[derive(Clone)]
pub struct User {
    /// The name.
    pub name: String,
    /// The password.
    pub password: String,
}

impl Options {
    /// The defaults for some members.
    pub fn new(endpoints: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self {
            endpoints: endpoints.into_iter().map(Into::into).collect(),
            root: None,
            tls: None,
            user: None,
            request_timeout: Duration::from_secs(10),
            health_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(3),
            keep_alive_interval: Duration::from_secs(30),
            keep_alive_timeout: Duration::from_secs(10),
            progress_interval: Duration::from_secs(5),
            backoff_max: Duration::from_secs(5),
        }
    }
}

// Keys and passwords are not for logs.

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("server_name", &self.server_name).finish_non_exhaustive()
    }
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("name", &self.name).finish_non_exhaustive()
    }
}
