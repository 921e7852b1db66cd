//! What admission asks the authorizer: a request that nobody made, put as one.

use std::sync::Arc;

use apiwright_admission::{Ask, Permits, User};
use apiwright_chain::{Authorizer, Decision, RequestInfo};
use futures::FutureExt;
use futures::future::BoxFuture;

/// The authorizer, as plugins ask it.
pub(crate) struct AuthorizerPermits(pub(crate) Arc<dyn Authorizer>);

impl Permits for AuthorizerPermits {
    fn may<'a>(&'a self, user: User<'a>, what: Ask<'a>) -> BoxFuture<'a, bool> {
        async move {
            let user = apiwright_chain::User {
                name: user.name.into(),
                uid: user.uid.into(),
                groups: user.groups.to_vec(),
                extra: user.extra.to_vec(),
            };
            let info = RequestInfo {
                is_resource: true,
                verb: what.verb.into(),
                group: what.group.into(),
                version: what.version.into(),
                resource: what.resource.into(),
                namespace: what.namespace.into(),
                name: what.name.into(),
                ..RequestInfo::default()
            };
            matches!(self.0.authorize(&user, &info).await, Decision::Allow(_))
        }
        .boxed()
    }
}
