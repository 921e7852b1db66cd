//! What only a real cluster does: it goes away and comes back, wants certificates and passwords,
//! and holds more than fits into one answer.

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use apiwright_storage::{At, Change, Error, Event, Expect, Key, Outcome, Range, Storage};
use apiwright_storage_etcd::{Etcd, Options, Root, Tls, User};
use bytes::Bytes;
use futures::StreamExt;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use support::Server;

async fn put(engine: &Etcd, key: &str, expect: Expect, value: &str) -> Result<u64, Error> {
    let change = Change::Put { value: Bytes::copy_from_slice(value.as_bytes()), ttl_seconds: None };
    match engine.commit(Key::from(key), expect, change).await? {
        Outcome::Done { revision, .. } => Ok(revision),
        Outcome::Mismatch { current, .. } => panic!("{key} is {current:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn members_that_are_down_cost_no_request() {
    if !support::available() {
        return;
    }
    let server = Server::start();
    let dead = || format!("http://127.0.0.1:{}", support::free_port());
    let options = Options { endpoints: vec![dead(), server.url(), dead()], ..server.options() };
    let engine = server.connect(options).await;
    for number in 0..50 {
        let key = format!("/a/{number}");
        put(&engine, &key, Expect::Absent, "x").await.unwrap();
        assert!(engine.get(&key, At::Latest).await.unwrap().1.is_some());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_resumes_after_an_outage() {
    if !support::available() {
        return;
    }
    let mut server = Server::start();
    let engine = server.connect(server.options()).await;
    let start = engine.revision().await.unwrap();
    let mut watch = engine.watch("/a/", start).await.unwrap();
    let mut expect = Expect::Absent;
    let mut written = 0;
    let mut next = 0;
    for outage in 0..3 {
        for _ in 0..10 {
            expect = Expect::Revision(put(&engine, "/a/x", expect, &written.to_string()).await.unwrap());
            written += 1;
        }
        // Some are read before the outage, some after it.
        let until = written - outage * 3;
        while next < until {
            if let Event::Put { entry, .. } = watch.next().await.unwrap().unwrap() {
                assert_eq!(&*entry.value, next.to_string().as_bytes());
                next += 1;
            }
        }
        server.kill();
        let began = Instant::now();
        let error = engine.get("/a/x", At::Latest).await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
        let error = put(&engine, "/a/x", expect, "lost").await.unwrap_err();
        assert!(matches!(error, Error::Unavailable(_) | Error::Unknown(_)), "{error:?}");
        assert!(engine.health().await.is_err());
        assert!(began.elapsed() < Duration::from_secs(35), "{:?}", began.elapsed());
        server.restart();
        drop(server.connect(server.options()).await);
    }
    put(&engine, "/a/x", expect, &written.to_string()).await.unwrap();
    while next <= written {
        let event = tokio::time::timeout(Duration::from_secs(20), watch.next()).await.expect("it resumes");
        if let Event::Put { entry, previous } = event.unwrap().unwrap() {
            assert_eq!(&*entry.value, next.to_string().as_bytes());
            assert_eq!(previous.is_none(), next == 0);
            next += 1;
        }
    }
}

#[tokio::test]
async fn nobody_there_is_said_in_time() {
    let options = Options {
        request_timeout: Duration::from_secs(1),
        connect_timeout: Duration::from_millis(500),
        ..Options::new([format!("http://127.0.0.1:{}", support::free_port())])
    };
    let engine = Etcd::connect(options).await.unwrap();
    let began = Instant::now();
    assert!(matches!(engine.get("/a", At::Latest).await, Err(Error::Unavailable(_))));
    assert!(matches!(engine.revision().await, Err(Error::Unavailable(_))));
    assert!(matches!(engine.health().await, Err(Error::Unavailable(_))));
    assert!(began.elapsed() < Duration::from_secs(5));
    let error = Etcd::connect(Options::new(["http://["])).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(Etcd::connect(Options::new([""; 0])).await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_ranges_are_read_at_one_revision() {
    if !support::available() {
        return;
    }
    let server = Server::start();
    let engine = server.connect(server.options()).await;
    let puts = futures::stream::iter(0..4500).map(|number| {
        let engine = &engine;
        async move { put(engine, &format!("/many/{number:05}"), Expect::Absent, "v").await.unwrap() }
    });
    puts.buffer_unordered(64).collect::<Vec<_>>().await;
    for (limit, want) in [(0, 4500), (4400, 4400), (4500, 4500), (9000, 4500), (1, 1)] {
        let page =
            engine.range(Range { prefix: "/many/", after: None, limit, at: At::Latest }).await.unwrap();
        assert_eq!((page.entries.len(), page.remaining), (want, 4500 - want as u64));
        assert!(page.entries.is_sorted_by(|a, b| a.key < b.key));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_share_a_cluster() {
    if !support::available() {
        return;
    }
    let server = Server::start();
    let root = |theirs: &str| Some(Root { ours: "/registry/".into(), theirs: theirs.into() });
    let blue = server.connect(Options { root: root("/blue/"), ..server.options() }).await;
    let green = server.connect(Options { root: root("/green/"), ..server.options() }).await;
    let plain = server.connect(server.options()).await;
    let start = blue.revision().await.unwrap();
    let mut watch = blue.watch("/registry/pods/", start).await.unwrap();
    put(&green, "/registry/pods/a", Expect::Absent, "green").await.unwrap();
    let revision = put(&blue, "/registry/pods/a", Expect::Absent, "blue").await.unwrap();
    put(&blue, "/registry/pods/b", Expect::Absent, "blue").await.unwrap();
    let event = loop {
        match watch.next().await.unwrap().unwrap() {
            Event::Progress(_) => {}
            event => break event,
        }
    };
    assert_eq!((event.key().map(|key| &**key), event.revision()), (Some("/registry/pods/a"), revision));
    let range = Range { prefix: "/registry/", after: Some("/registry/pods/a"), limit: 0, at: At::Latest };
    let keys = |page: apiwright_storage::Page| {
        page.entries.iter().map(|entry| entry.key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(keys(blue.range(range).await.unwrap()), ["/registry/pods/b"]);
    assert!(keys(green.range(range).await.unwrap()).is_empty());
    let range = Range { prefix: "/", after: None, ..range };
    assert_eq!(keys(plain.range(range).await.unwrap()), ["/blue/pods/a", "/blue/pods/b", "/green/pods/a"]);
    let (_, entry) = blue.get("/registry/pods/a", At::Latest).await.unwrap();
    let entry = entry.unwrap();
    assert_eq!((&*entry.key, &*entry.value), ("/registry/pods/a", &b"blue"[..]));
}

/// A certificate authority's and a member's files, and what a client needs.
fn certificates(dir: &Path) -> Tls {
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let issue = |name: &str| {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(["etcd.test".into(), "127.0.0.1".into()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let certificate = params.signed_by(&key, &authority).unwrap();
        (certificate.pem(), key.serialize_pem())
    };
    let (server, server_key) = issue("server");
    let (client, client_key) = issue("client");
    for (name, pem) in [("ca", authority.pem()), ("server", server), ("key", server_key)] {
        std::fs::write(dir.join(name), pem).unwrap();
    }
    Tls {
        ca: authority.pem().into_bytes(),
        identity: Some((client.into_bytes(), client_key.into_bytes())),
        server_name: Some("etcd.test".into()),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_checked_both_ways() {
    if !support::available() {
        return;
    }
    let mut tls = Tls::default();
    let server = Server::start_tls(|dir| {
        tls = certificates(dir);
        let file = |flag: &str, name: &str| format!("--{flag}={}", dir.join(name).display());
        vec![
            file("cert-file", "server"),
            file("key-file", "key"),
            file("trusted-ca-file", "ca"),
            "--client-cert-auth".into(),
        ]
    });
    let options =
        |tls| Options { tls: Some(tls), request_timeout: Duration::from_secs(3), ..server.options() };
    let engine = server.connect(options(tls.clone())).await;
    put(&engine, "/tls", Expect::Absent, "v").await.unwrap();

    let anonymous = Etcd::connect(options(Tls { identity: None, ..tls.clone() })).await.unwrap();
    assert!(matches!(anonymous.health().await, Err(Error::Unavailable(_))));
    let other = tempfile::tempdir().unwrap();
    let stranger = Tls { ca: certificates(other.path()).ca, ..tls };
    let stranger = Etcd::connect(options(stranger)).await.unwrap();
    assert!(matches!(stranger.health().await, Err(Error::Unavailable(_))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_have_passwords() {
    if !support::available() {
        return;
    }
    let server = Server::start();
    drop(server.connect(server.options()).await);
    let mut admin = etcd_client::Client::connect([server.url()], None).await.unwrap();
    admin.user_add("root", "secret", None).await.unwrap();
    admin.user_grant_role("root", "root").await.unwrap();
    admin.auth_enable().await.unwrap();
    let options = |user| Options { user, ..server.options() };
    let user = |password: &str| Some(User { name: "root".into(), password: password.into() });

    let engine = Etcd::connect(options(user("secret"))).await.unwrap();
    put(&engine, "/user", Expect::Absent, "v").await.unwrap();
    assert!(Etcd::connect(options(user("wrong"))).await.is_err());
    let nobody = Etcd::connect(options(None)).await.unwrap();
    let error = put(&nobody, "/nobody", Expect::Absent, "v").await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    assert!(nobody.health().await.is_err());
}

/// A member takes the name in a client's certificate for a user; this one may use our keys only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_are_users() {
    if !support::available() {
        return;
    }
    let mut tls = Tls::default();
    let server = Server::start_tls(|dir| {
        tls = certificates(dir);
        let file = |flag: &str, name: &str| format!("--{flag}={}", dir.join(name).display());
        vec![
            file("cert-file", "server"),
            file("key-file", "key"),
            file("trusted-ca-file", "ca"),
            "--client-cert-auth".into(),
        ]
    });
    let options = || Options { tls: Some(tls.clone()), ..server.options() };
    drop(server.connect(options()).await);
    let ca = etcd_client::Certificate::from_pem(&tls.ca);
    let (certificate, key) = tls.identity.as_ref().unwrap();
    let identity = etcd_client::Identity::from_pem(certificate, key);
    let connection = etcd_client::TlsOptions::new().ca_certificate(ca).identity(identity);
    let connection = etcd_client::ConnectOptions::new().with_tls(connection.domain_name("etcd.test"));
    let mut admin = etcd_client::Client::connect([server.url()], Some(connection)).await.unwrap();
    for user in ["root", "client"] {
        admin.user_add(user, "secret", None).await.unwrap();
        admin.role_add(user).await.unwrap();
        admin.user_grant_role(user, user).await.unwrap();
    }
    let permission = etcd_client::Permission::read_write("/registry/").with_prefix();
    admin.role_grant_permission("client", permission).await.unwrap();
    admin.auth_enable().await.unwrap();

    let cached = server.cached(options(), "/registry/").await;
    for round in 0..3 {
        let key = format!("/registry/{round}");
        let change = Change::Put { value: Bytes::from_static(b"v"), ttl_seconds: None };
        cached.commit(Key::from(&*key), Expect::Absent, change).await.unwrap();
        let (_, entry) = cached.get(&key, At::Latest).await.unwrap();
        assert!(entry.is_some());
    }
    let error = cached.get("/elsewhere", At::Latest).await.unwrap_err();
    assert!(matches!(error, Error::Unavailable(_)), "{error:?}");
    cached.health().await.unwrap();
}

/// Servers that compact the same cluster take turns: one revision is compacted at each interval, and
/// that is the newest of one interval ago.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compaction_is_agreed_upon() {
    const INTERVAL: Duration = Duration::from_millis(500);
    if !support::available() {
        return;
    }
    let server = Server::start();
    let mut engines = Vec::new();
    for _ in 0..3 {
        engines.push(server.connect(server.options()).await);
    }
    let first = put(&engines[0], "/a", Expect::Absent, "1").await.unwrap();
    for engine in &engines {
        tokio::spawn(engine.compact_every(INTERVAL));
    }
    let began = Instant::now();
    // Nothing is compacted before an interval has passed since the first look.
    let mut revision = first;
    while engines[1].get("/a", At::Revision(first)).await.is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20), "nothing is compacted");
        revision = put(&engines[2], "/a", Expect::Revision(revision), "more").await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(began.elapsed() > INTERVAL * 3 / 2, "compacted after {:?}", began.elapsed());
    let mut client = etcd_client::Client::connect([server.url()], None).await.unwrap();
    let version = async |client: &mut etcd_client::Client| {
        client.get("compact_rev_key", None).await.unwrap().kvs()[0].version()
    };
    let count = version(&mut client).await;
    tokio::time::sleep(INTERVAL * 4).await;
    let rounds = version(&mut client).await - count;
    assert!((3..=5).contains(&rounds), "three servers compacted {rounds} times in 4 intervals");
    engines[0].get("/a", At::Revision(revision)).await.unwrap_err();
    for engine in engines {
        engine.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn entries_that_expire_share_leases() {
    if !support::available() {
        return;
    }
    let server = Server::start();
    let engine = server.connect(server.options()).await;
    let put = async |number: usize, ttl_seconds| {
        let change = Change::Put { value: Bytes::from_static(b"v"), ttl_seconds: Some(ttl_seconds) };
        engine.commit(Key::from(format!("/events/{number}")), Expect::Absent, change).await.unwrap();
    };
    futures::future::join_all((0..50).map(|number| put(number, 3600))).await;
    let mut client = etcd_client::Client::connect([server.url()], None).await.unwrap();
    let leases = client.leases().await.unwrap().leases().to_vec();
    assert_eq!(leases.len(), 1);
    // Somebody ends it: the next entry gets another one.
    client.lease_revoke(leases[0].id()).await.unwrap();
    put(50, 3600).await;
    let range = Range { prefix: "/events/", after: None, limit: 0, at: At::Latest };
    assert_eq!(engine.range(range).await.unwrap().entries.len(), 1);
    let leases = client.leases().await.unwrap();
    assert_eq!(leases.leases().len(), 1);
    let life = client.lease_time_to_live(leases.leases()[0].id(), None).await.unwrap();
    assert_eq!(life.granted_ttl(), 3660);
}
