//! A priority level, as its object declares it.

use apiwright_json::Value;
use apiwright_meta::object;

/// Shares of a level whose object does not say.
const SHARES_DEFAULT: u32 = 30;
const QUEUES_DEFAULT: usize = 64;
const HAND_DEFAULT: usize = 8;
const QUEUE_LENGTH_DEFAULT: usize = 50;

/// What a `PriorityLevelConfiguration` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) name: String,
    /// Its part of the server's seats is this over the sum of all shares.
    pub(super) shares: u32,
    /// How much of its seats others may use while it does not, in percent.
    pub(super) lendable_percent: u32,
    /// How many seats of others it may use, in percent of its own; `None` for any number.
    pub(super) borrowing_percent: Option<u32>,
    pub(super) overflow: Overflow,
}

/// What becomes of a request that finds no seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overflow {
    /// Requests of this level take no seats at all.
    Exempt,
    /// 429.
    Reject,
    /// It waits in one of these queues.
    Queue { queues: usize, hand: usize, length: usize },
}

impl Level {
    /// Reads an object; what has another form than it should counts as unset.
    pub(super) fn read(object: &Value) -> Self {
        let exempt = object.text_at(&["spec", "type"]) == "Exempt";
        let of = |path: &[&str]| object.at(path).and_then(Value::as_i64);
        let kind = if exempt { "exempt" } else { "limited" };
        let number = |name: &str| of(&["spec", kind, name]).and_then(|number| u32::try_from(number).ok());
        let queuing = |name: &str, default: usize| {
            let number = of(&["spec", "limited", "limitResponse", "queuing", name]);
            number
                .and_then(|number| usize::try_from(number).ok())
                .filter(|number| *number > 0)
                .unwrap_or(default)
        };
        let overflow = match object.text_at(&["spec", "limited", "limitResponse", "type"]) {
            _ if exempt => Overflow::Exempt,
            "Queue" => {
                let queues = queuing("queues", QUEUES_DEFAULT);
                Overflow::Queue {
                    queues,
                    hand: queuing("handSize", HAND_DEFAULT).min(queues),
                    length: queuing("queueLengthLimit", QUEUE_LENGTH_DEFAULT),
                }
            }
            _ => Overflow::Reject,
        };
        Self {
            name: object::name(object).to_owned(),
            shares: number("nominalConcurrencyShares").unwrap_or(if exempt { 0 } else { SHARES_DEFAULT }),
            lendable_percent: number("lendablePercent").unwrap_or_default().min(100),
            borrowing_percent: number("borrowingLimitPercent"),
            overflow,
        }
    }
}

/// A level's part of the server's seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// Its own seats.
    pub(super) nominal: u32,
    /// Those of them that nobody else may use.
    pub(super) floor: u32,
    /// The most that it may use, borrowed ones included.
    pub(super) ceiling: u32,
}

/// Divides the server's seats among the levels, as upstream rounds.
pub(super) fn divide(levels: &[Level], seats: u32) -> Vec<Part> {
    let sum: u64 = levels.iter().map(|level| u64::from(level.shares)).sum::<u64>().max(1);
    let percent = |of: u32, percent: u32| (u64::from(of) * u64::from(percent) + 50) / 100;
    let part = |level: &Level| {
        let nominal = (u64::from(seats) * u64::from(level.shares)).div_ceil(sum) as u32;
        let lendable = percent(nominal, level.lendable_percent) as u32;
        let borrowed = level.borrowing_percent.map_or(u64::from(u32::MAX), |limit| percent(nominal, limit));
        let ceiling = u32::try_from(u64::from(nominal) + borrowed).unwrap_or(u32::MAX);
        Part { nominal, floor: nominal - lendable, ceiling }
    };
    levels.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use apiwright_json::decode;

    fn level(text: &str) -> Level {
        Level::read(&decode(text.as_bytes()).unwrap().0)
    }

    #[test]
    fn objects() {
        let queue = level(
            r#"{"metadata":{"name":"q"},"spec":{"type":"Limited","limited":{"nominalConcurrencyShares":40,"lendablePercent":50,"borrowingLimitPercent":0,"limitResponse":{"type":"Queue","queuing":{"queues":4,"handSize":6,"queueLengthLimit":7}}}}}"#,
        );
        assert_eq!((queue.shares, queue.lendable_percent, queue.borrowing_percent), (40, 50, Some(0)));
        assert_eq!(queue.overflow, Overflow::Queue { queues: 4, hand: 4, length: 7 });
        let reject = level(r#"{"spec":{"type":"Limited","limited":{"limitResponse":{"type":"Reject"}}}}"#);
        assert_eq!((reject.shares, reject.overflow), (SHARES_DEFAULT, Overflow::Reject));
        let exempt = level(r#"{"spec":{"type":"Exempt"}}"#);
        assert_eq!((exempt.shares, exempt.overflow), (0, Overflow::Exempt));
    }

    #[test]
    fn parts() {
        let of = |shares, lendable_percent, borrowing_percent| Level {
            name: String::new(),
            shares,
            lendable_percent,
            borrowing_percent,
            overflow: Overflow::Reject,
        };
        // The levels that every server starts with: 245 shares.
        let levels =
            [of(30, 33, None), of(40, 25, None), of(10, 0, Some(50)), of(165, 90, None), of(0, 0, None)];
        let parts = divide(&levels, 600);
        let part = |nominal, floor, ceiling| Part { nominal, floor, ceiling };
        assert_eq!(
            parts,
            [
                part(74, 50, u32::MAX),
                part(98, 73, u32::MAX),
                part(25, 25, 38),
                part(405, 40, u32::MAX),
                part(0, 0, u32::MAX)
            ]
        );
    }
}
