//! A real etcd for one test.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use apiwright_cache::{self as cache, Cached};
use apiwright_storage::Storage;
use apiwright_storage_etcd::{Etcd, Options};

/// A running member, stopped when dropped.
pub(crate) struct Server {
    child: Option<Child>,
    dir: tempfile::TempDir,
    client_port: u16,
    peer_port: u16,
    arguments: Vec<String>,
    scheme: &'static str,
}

/// Whether there is an etcd to test with; without one, tests are skipped unless they must not be.
pub(crate) fn available() -> bool {
    let found = Command::new("etcd").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_ok_and(|status| status.success()) {
        return true;
    }
    assert!(std::env::var_os("APIWRIGHT_REQUIRE_ETCD").is_none(), "there is no etcd, and one is required");
    println!("skipped: there is no etcd to test with (APIWRIGHT_REQUIRE_ETCD=1 makes that a failure)");
    false
}

impl Server {
    /// A member of its own.
    pub(crate) fn start() -> Self {
        let mut server = Self {
            child: None,
            dir: tempfile::tempdir().expect("a directory"),
            client_port: free_port(),
            peer_port: free_port(),
            arguments: vec!["--experimental-watch-progress-notify-interval=200ms".into()],
            scheme: "http",
        };
        server.restart();
        server
    }

    /// A member that wants certificates; `files` writes them to a directory and names them.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub(crate) fn start_tls(files: impl FnOnce(&Path) -> Vec<String>) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let arguments = files(dir.path());
        let mut server = Self {
            child: None,
            dir,
            client_port: free_port(),
            peer_port: free_port(),
            arguments,
            scheme: "https",
        };
        server.restart();
        server
    }

    /// Starts it again on the same data.
    pub(crate) fn restart(&mut self) {
        let client = self.url();
        let peer = format!("http://127.0.0.1:{}", self.peer_port);
        let log = std::fs::File::create(self.dir.path().join("log")).expect("a log");
        let child = Command::new("etcd")
            .args(["--name", "test", "--logger", "zap", "--data-dir"])
            .arg(self.dir.path().join("data"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("test={peer}")])
            .args(&self.arguments)
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .expect("etcd starts");
        self.child = Some(child);
    }

    /// Ends it without warning.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        format!("{}://127.0.0.1:{}", self.scheme, self.client_port)
    }

    /// Where it listens to clients.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub(crate) fn port(&self) -> u16 {
        self.client_port
    }

    /// Options to reach it, with short times.
    pub(crate) fn options(&self) -> Options {
        Options {
            progress_interval: Duration::from_millis(200),
            backoff_max: Duration::from_millis(400),
            ..Options::new([self.url()])
        }
    }

    /// An engine, once the member serves.
    pub(crate) async fn connect(&self, options: Options) -> Etcd {
        let mut last = String::new();
        for _ in 0..300 {
            match Etcd::connect(options.clone()).await {
                Ok(engine) => match engine.health().await {
                    Ok(()) => return engine,
                    Err(error) => last = error.to_string(),
                },
                Err(error) => last = error.to_string(),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let log = std::fs::read_to_string(self.log()).unwrap_or_default();
        panic!("etcd does not come up: {last}\n{log}");
    }

    /// A cache of a part of the member's keys.
    #[allow(dead_code, reason = "not every test file needs it")]
    pub(crate) async fn cached(&self, options: Options, root: &str) -> Cached {
        let engine = Arc::new(self.connect(options).await);
        let options = cache::Options {
            root: root.into(),
            progress_interval: Duration::from_millis(200),
            backoff_max: Duration::from_millis(400),
            ..cache::Options::default()
        };
        Cached::open(engine, options).await.expect("the member can be read")
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port that was free a moment ago.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

/// A way to the member that can be cut, so that one client loses it and others do not.
#[allow(dead_code, reason = "not every test file needs it")]
pub(crate) struct Relay {
    port: u16,
    is_cut: tokio::sync::watch::Sender<bool>,
}

#[allow(dead_code, reason = "not every test file needs it")]
impl Relay {
    /// Listens, and connects whoever comes to a port.
    pub(crate) async fn start(to: u16) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let is_cut = tokio::sync::watch::Sender::new(false);
        let watch = is_cut.subscribe();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut is_cut = watch.clone();
                if *is_cut.borrow() {
                    continue;
                }
                tokio::spawn(async move {
                    let Ok(mut far) = tokio::net::TcpStream::connect(("127.0.0.1", to)).await else { return };
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                        _ = is_cut.wait_for(|is_cut| *is_cut) => {}
                    }
                });
            }
        });
        Self { port, is_cut }
    }

    /// The same options through the relay.
    pub(crate) fn options(&self, options: Options) -> Options {
        Options { endpoints: vec![format!("http://127.0.0.1:{}", self.port)], ..options }
    }

    /// Ends all connections, and lets none be made.
    pub(crate) fn cut(&self) {
        self.is_cut.send_replace(true);
    }

    /// Lets them be made again.
    pub(crate) fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}
