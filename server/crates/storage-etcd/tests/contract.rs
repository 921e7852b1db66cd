//! The etcd engine keeps the storage contract, by itself and behind a cache.

mod support;

use apiwright_storage_testing::contract::Subject;

use support::Server;

mod alone {
    use super::*;

    apiwright_storage_testing::storage_contract!(async |_: &str| {
        if !support::available() {
            return None;
        }
        let server = Server::start();
        let engine = server.connect(server.options()).await;
        Some(Subject::new(engine, server))
    });
}

mod cached {
    use super::*;

    apiwright_storage_testing::storage_contract!(async |_: &str| {
        if !support::available() {
            return None;
        }
        let server = Server::start();
        let cached = server.cached(server.options(), "").await;
        Some(Subject::new(cached, server))
    });
}
