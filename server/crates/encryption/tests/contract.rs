//! What every engine promises is promised by sealed ones, too, with and without a cache in front.
#![allow(missing_docs)]

use std::sync::Arc;

use apiwright_cache::{self as cache, Cached};
use apiwright_encryption::{Configuration, Encrypted, GroupResource, ResourceOf};
use apiwright_storage::Storage;
use apiwright_storage_embedded::{Embedded, Options};
use apiwright_storage_testing::contract::Subject;

const EVERYTHING: &str = r#"{"apiVersion":"apiserver.config.k8s.io/v1","kind":"EncryptionConfiguration","resources":[
    {"resources":["*.*"],"providers":[{"aesgcm":{"keys":[{"name":"a","secret":"MDEyMzQ1Njc4OWFiY2RlZg=="}]}},{"identity":{}}]}]}"#;

async fn sealed() -> Encrypted {
    let any: ResourceOf = Arc::new(|_| Some(GroupResource::parse("secrets")));
    let transformers = Configuration::read(EVERYTHING.as_bytes()).unwrap().transformers().await.unwrap();
    Encrypted::new(Arc::new(Embedded::memory(Options::default())), transformers, any, "/registry/")
}

mod alone {
    use super::*;

    async fn engine(_: &str) -> Option<Subject<()>> {
        Some(Subject::new(sealed().await, ()))
    }

    apiwright_storage_testing::storage_contract! { engine }
}

mod cached {
    use super::*;

    async fn engine(_: &str) -> Option<Subject<()>> {
        let options = cache::Options { root: "/".into(), ..cache::Options::default() };
        let cached = Cached::open(Arc::new(sealed().await) as Arc<dyn Storage>, options).await.unwrap();
        Some(Subject::new(cached, ()))
    }

    apiwright_storage_testing::storage_contract! { engine }
}
