//! Match conditions: what else must hold for a webhook to be called.

use std::sync::Arc;

use apiwright_admission::Attributes;
use apiwright_admission::matching::Matched;
use apiwright_chain::Authorizer;
use apiwright_json::Value;
use apiwright_meta::status::Result;
use apiwright_policy::{Asked, Unmet};

use crate::hook::Hook;
use crate::validating::converted;

/// Whether the conditions of a webhook hold for a request that it matches.
///
/// # Errors
/// Where some fail and it may not be done without.
pub(crate) async fn hold(
    hook: &Hook,
    request: &Attributes<'_>,
    matched: Matched<'_>,
    (object, old): (Option<&Value>, Option<&Value>),
    authorizer: &Arc<dyn Authorizer>,
) -> Result<bool> {
    if hook.conditions.is_empty() {
        return Ok(true);
    }
    let converted = converted(request, matched, object, old).await?;
    let (seen, seen_old) = converted.objects(object, old);
    let asked = Asked::new(request, matched, seen, seen_old, None);
    match hook.conditions.hold(&asked, &request.user, authorizer) {
        Ok(()) => Ok(true),
        Err(Unmet::Condition(_)) => Ok(false),
        Err(Unmet::Failed(_)) if hook.ignores_failures => Ok(false),
        Err(Unmet::Failed(why)) => Err(request.forbid(object, why)),
    }
}
