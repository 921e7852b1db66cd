//! The etcd engine keeps the storage contract.

mod support;

use apiwright_storage_testing::contract::Subject;

use support::Server;

apiwright_storage_testing::storage_contract!(async |_: &str| {
    if !support::available() {
        return None;
    }
    let server = Server::start();
    let engine = server.connect(server.options()).await;
    Some(Subject::new(engine, server))
});
