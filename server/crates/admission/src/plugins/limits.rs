//! The constraints of a `LimitRange`, one quantity at a time.

use apiwright_meta::quantity::Quantity;

/// A constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Constraint {
    /// Neither the request nor the limit is below.
    Minimum,
    /// Neither the limit nor the request is above.
    Maximum,
    /// The request is not above.
    MaximumRequest,
    /// The limit is not more than so many times the request.
    Ratio,
}

/// What is asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage<'a> {
    pub(crate) request: Option<&'a Quantity>,
    pub(crate) limit: Option<&'a Quantity>,
}

/// The largest amount that is compared in thousandths.
const MILLI_MAX: i64 = i64::MAX / 1000;

impl Constraint {
    /// What is wrong with a usage, in upstream's words.
    pub(crate) fn fault(
        self,
        kind: &str,
        name: &str,
        enforced: &Quantity,
        usage: Usage<'_>,
    ) -> Option<String> {
        let (request, limit, bound) = comparable(usage, enforced);
        let low = |what: &str, amount: &Quantity| {
            Some(format!("minimum {name} usage per {kind} is {enforced}, but {what} is {amount}"))
        };
        let high = |what: &str, amount: &Quantity| {
            Some(format!("maximum {name} usage per {kind} is {enforced}, but {what} is {amount}"))
        };
        match (self, usage.request, usage.limit) {
            (Self::Minimum, None, _) => {
                Some(format!("minimum {name} usage per {kind} is {enforced}.  No request is specified"))
            }
            (Self::Minimum, Some(amount), _) if request < bound => low("request", amount),
            (Self::Minimum, _, Some(amount)) if limit < bound => low("limit", amount),
            (Self::Maximum, _, None) => {
                Some(format!("maximum {name} usage per {kind} is {enforced}.  No limit is specified"))
            }
            (Self::Maximum, _, Some(amount)) if limit > bound => high("limit", amount),
            (Self::Maximum | Self::MaximumRequest, Some(amount), _) if request > bound => {
                high("request", amount)
            }
            (Self::MaximumRequest, None, _) => {
                Some(format!("maximum {name} usage per {kind} is {enforced}.  No request is specified"))
            }
            (Self::Ratio, _, _) => ratio(kind, name, enforced, usage, request, limit),
            (Self::Minimum | Self::Maximum | Self::MaximumRequest, _, _) => None,
        }
    }
}

fn ratio(
    kind: &str,
    name: &str,
    enforced: &Quantity,
    usage: Usage<'_>,
    request: i64,
    limit: i64,
) -> Option<String> {
    let text =
        |why: String| Some(format!("{name} max limit to request ratio per {kind} is {enforced}, but {why}"));
    if usage.request.is_none() || request == 0 {
        return text("no request is specified or request is 0".into());
    }
    if usage.limit.is_none() || limit == 0 {
        return text("no limit is specified or limit is 0".into());
    }
    let observed = limit as f64 / request as f64;
    let exceeded = if enforced.value() <= MILLI_MAX {
        observed * 1000.0 > enforced.milli_value() as f64
    } else {
        observed > enforced.value() as f64
    };
    if exceeded { text(format!("provided ratio is {observed:.6}")) } else { None }
}

/// The three amounts in thousandths where all of them fit, else in whole units; absent ones as 0.
fn comparable(usage: Usage<'_>, enforced: &Quantity) -> (i64, i64, i64) {
    let none = Quantity::default();
    let amounts = [usage.request.unwrap_or(&none), usage.limit.unwrap_or(&none), enforced];
    let fine = amounts.iter().all(|amount| amount.value() <= MILLI_MAX);
    let [request, limit, bound] =
        amounts.map(|amount| if fine { amount.milli_value() } else { amount.value() });
    (request, limit, bound)
}
