//! The server's seats: who has how many, and who gets the next one.
//!
//! Levels lend each other what they do not use. A level's floor is always kept for it; above it
//! seats go to whoever is furthest below its own number. Everything happens when a request comes
//! or ends, nothing by the clock. Invariant: a seat that was given comes back exactly once.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::level::{Level, Overflow, Part, divide};
use super::queues::{Queues, Waiter};

/// All seats.
pub(crate) struct Seats {
    total: u32,
    room: Mutex<Room>,
}

#[derive(Default)]
struct Room {
    tables: Vec<Table>,
    next_id: u64,
}

/// One level's seats.
struct Table {
    id: u64,
    level: Level,
    part: Part,
    taken: u32,
    /// Whether its object is gone; it stays until nobody sits or waits here.
    is_leaving: bool,
    queues: Queues<Ticket>,
    counts: Counts,
}

/// What has happened at a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) dispatched: u64,
    pub(super) queue_full: u64,
    pub(super) concurrency_limit: u64,
    pub(super) time_out: u64,
    pub(super) cancelled: u64,
}

/// A level's figures.
pub(super) struct Figures {
    pub(super) level: String,
    pub(super) nominal: u32,
    pub(super) taken: u32,
    pub(super) waiting: usize,
    pub(super) counts: Counts,
}

/// Somebody who waits.
struct Ticket {
    id: u64,
    call: oneshot::Sender<Seat>,
}

/// Some seats of a level, given back when dropped.
pub(crate) struct Seat(Option<Taken>);

struct Taken {
    seats: Arc<Seats>,
    table: u64,
    queue: usize,
    width: u32,
    since: Instant,
}

/// Why there was no seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// The level lets nobody wait.
    ConcurrencyLimit,
    /// The flow has too many waiting already.
    QueueFull,
    /// It waited for as long as requests may wait.
    TimedOut,
}

/// What wants a seat.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Which level's, as [`Seats::arrange`] told.
    pub(super) table: u64,
    /// Tells flows apart.
    pub(super) hash: u64,
    /// How many seats.
    pub(super) width: u32,
}

impl Seats {
    /// So many seats.
    pub(super) fn new(total: u32) -> Arc<Self> {
        Arc::new(Self { total, room: Mutex::default() })
    }

    /// Divides the seats among these levels, and tells each one's table. Who sits stays; who
    /// waits at a level that has changed waits on by its new rules, as far as they let it.
    pub(super) fn arrange(self: &Arc<Self>, levels: &[Level]) -> Vec<u64> {
        let parts = divide(levels, self.total);
        let mut room = self.room.lock();
        for table in &mut room.tables {
            table.is_leaving = true;
        }
        let ids = levels.iter().zip(parts).map(|(level, part)| room.set(level, part)).collect();
        room.tables.retain(|table| !table.is_leaving || table.taken > 0 || table.queues.waiting() > 0);
        room.dispatch(self);
        ids
    }

    /// A seat, now or within `patience`.
    ///
    /// # Errors
    /// When there is none in time.
    pub(super) async fn take(self: &Arc<Self>, wanted: Wanted, patience: Duration) -> Result<Seat, Refused> {
        let mut waiting = match self.sit_or_queue(wanted) {
            Ok(Ok(seat)) => return Ok(seat),
            Ok(Err(waiting)) => waiting,
            Err(refused) => return Err(refused),
        };
        match tokio::time::timeout(patience, &mut waiting.called).await {
            Ok(Ok(seat)) => {
                waiting.is_over = true;
                Ok(seat)
            }
            Ok(Err(_)) => {
                waiting.is_over = true;
                Err(Refused::QueueFull)
            }
            Err(_) => {
                waiting.is_late = true;
                Err(Refused::TimedOut)
            }
        }
    }

    /// Every level's figures.
    pub(super) fn figures(&self) -> Vec<Figures> {
        let room = self.room.lock();
        let figures = |table: &Table| Figures {
            level: table.level.name.clone(),
            nominal: table.part.nominal,
            taken: table.taken,
            waiting: table.queues.waiting(),
            counts: table.counts,
        };
        room.tables.iter().map(figures).collect()
    }

    fn sit_or_queue(self: &Arc<Self>, wanted: Wanted) -> Result<Result<Seat, Waiting>, Refused> {
        let mut room = self.room.lock();
        let Some(at) = room.tables.iter().position(|table| table.id == wanted.table) else {
            // The level went away between the look at it and now.
            return Ok(Ok(Seat(None)));
        };
        let width = wanted.width.clamp(1, room.tables[at].part.ceiling.max(1));
        let queue = room.tables[at].queues.pick(wanted.hash);
        if room.tables[at].queues.waiting() == 0 && room.fits(at, width) {
            return Ok(Ok(room.sit(self, at, queue, width)));
        }
        room.next_id += 1;
        let id = room.next_id;
        let table = &mut room.tables[at];
        if table.level.overflow == Overflow::Reject {
            table.counts.concurrency_limit += 1;
            return Err(Refused::ConcurrencyLimit);
        }
        let (call, called) = oneshot::channel();
        let waiter = Waiter { what: Ticket { id, call }, hash: wanted.hash, width };
        if table.queues.push(queue, waiter).is_err() {
            table.counts.queue_full += 1;
            return Err(Refused::QueueFull);
        }
        let waiting =
            Waiting { seats: Arc::clone(self), table: table.id, id, called, is_over: false, is_late: false };
        Ok(Err(waiting))
    }

    fn give_back(self: &Arc<Self>, taken: &Taken) {
        let mut room = self.room.lock();
        if let Some(table) = room.tables.iter_mut().find(|table| table.id == taken.table) {
            table.taken -= taken.width;
            table.queues.end(taken.queue, taken.width, taken.since.elapsed());
        }
        room.dispatch(self);
        room.tables.retain(|table| !table.is_leaving || table.taken > 0 || table.queues.waiting() > 0);
    }
}

impl Room {
    /// Lays a level's table, or changes the one that is there.
    fn set(&mut self, level: &Level, part: Part) -> u64 {
        let known = self.tables.iter_mut().find(|table| table.level.name == level.name);
        if let Some(table) = known {
            table.is_leaving = false;
            table.part = part;
            if table.level.overflow != level.overflow {
                let waiting = table.queues.drain();
                table.queues = queues(level.overflow);
                for waiter in waiting {
                    let at = table.queues.pick(waiter.hash);
                    // Who finds no place any more is told by the end of the call.
                    if table.queues.push(at, waiter).is_err() {
                        table.counts.queue_full += 1;
                    }
                }
            }
            table.level = level.clone();
            return table.id;
        }
        self.next_id += 1;
        self.tables.push(Table {
            id: self.next_id,
            level: level.clone(),
            part,
            taken: 0,
            is_leaving: false,
            queues: queues(level.overflow),
            counts: Counts::default(),
        });
        self.next_id
    }

    /// Whether a table can have so many seats more.
    fn fits(&self, at: usize, width: u32) -> bool {
        let table = &self.tables[at];
        let wanted = u64::from(table.taken) + u64::from(width);
        if wanted <= u64::from(table.part.floor) {
            return true;
        }
        // A request wider than all that there is gets what there is, when it is alone.
        if wanted > u64::from(table.part.ceiling) && table.taken > 0 {
            return false;
        }
        let sum = |of: fn(&Table) -> u32| self.tables.iter().map(|table| u64::from(of(table))).sum::<u64>();
        let all = sum(|table| if table.is_leaving { 0 } else { table.part.nominal });
        let taken = sum(|table| table.taken);
        let kept = sum(|table| table.part.floor.saturating_sub(table.taken))
            - u64::from(table.part.floor.saturating_sub(table.taken));
        taken + kept + u64::from(width) <= all || taken == 0
    }

    fn sit(&mut self, seats: &Arc<Seats>, at: usize, queue: usize, width: u32) -> Seat {
        let table = &mut self.tables[at];
        table.taken += width;
        table.counts.dispatched += 1;
        table.queues.begin(queue, width);
        Seat(Some(Taken { seats: Arc::clone(seats), table: table.id, queue, width, since: Instant::now() }))
    }

    /// Gives seats to those who wait, as long as there are any: first where a level has the least
    /// of its own.
    fn dispatch(&mut self, seats: &Arc<Seats>) {
        loop {
            let used = |at: &usize| {
                let table = &self.tables[*at];
                f64::from(table.taken) / f64::from(table.part.nominal.max(1))
            };
            let next = (0..self.tables.len())
                .filter(|at| {
                    let width = self.tables[*at].queues.next_width();
                    width.is_some_and(|width| self.fits(*at, width))
                })
                .min_by(|a, b| used(a).total_cmp(&used(b)));
            let Some(at) = next else { return };
            let Some((queue, waiter)) = self.tables[at].queues.pop() else { return };
            let seat = self.sit(seats, at, queue, waiter.width);
            if let Err(mut unwanted) = waiter.what.call.send(seat) {
                // Whoever waited is gone. The room is locked: the seat must not come back by itself.
                unwanted.0 = None;
                let table = &mut self.tables[at];
                table.taken -= waiter.width;
                table.counts.dispatched -= 1;
                table.queues.end(queue, waiter.width, Duration::ZERO);
            }
        }
    }
}

fn queues(overflow: Overflow) -> Queues<Ticket> {
    match overflow {
        Overflow::Queue { queues, hand, length } => Queues::new(queues, hand, length),
        Overflow::Exempt | Overflow::Reject => Queues::new(1, 1, 0),
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if let Some(taken) = self.0.take() {
            let seats = Arc::clone(&taken.seats);
            seats.give_back(&taken);
        }
    }
}

/// A place in a queue, left when dropped.
struct Waiting {
    seats: Arc<Seats>,
    table: u64,
    id: u64,
    called: oneshot::Receiver<Seat>,
    is_over: bool,
    is_late: bool,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut room = self.seats.room.lock();
        let Some(table) = room.tables.iter_mut().find(|table| table.id == self.table) else { return };
        let left = table.queues.remove(|ticket| ticket.id == self.id);
        if self.is_late {
            table.counts.time_out += 1;
        } else {
            table.counts.cancelled += 1;
        }
        if left.is_some() {
            // The one behind may be narrower.
            room.dispatch(&self.seats);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_millis(20);

    fn level(name: &str, shares: u32, lendable_percent: u32, overflow: Overflow) -> Level {
        Level { name: name.into(), shares, lendable_percent, borrowing_percent: None, overflow }
    }

    fn queue(name: &str, lendable_percent: u32) -> Level {
        level(name, 1, lendable_percent, Overflow::Queue { queues: 8, hand: 2, length: 3 })
    }

    fn wanted(table: u64, hash: u64) -> Wanted {
        Wanted { table, hash, width: 1 }
    }

    #[tokio::test(start_paused = true)]
    async fn a_level_keeps_its_floor_whatever_others_do() {
        let seats = Seats::new(8);
        let tables = seats.arrange(&[queue("greedy", 0), queue("modest", 50)]);
        let mut held = Vec::new();
        while let Ok(seat) = seats.take(wanted(tables[0], 1), SOON).await {
            held.push(seat);
        }
        // Its own four, and the two that the other lends.
        assert_eq!(held.len(), 6);
        let modest =
            [seats.take(wanted(tables[1], 2), SOON).await, seats.take(wanted(tables[1], 2), SOON).await];
        assert!(modest.iter().all(Result::is_ok));
        // What was lent comes back to its owner first.
        let (again, other) = (Arc::clone(&seats), Arc::clone(&seats));
        let (greedy, modest_one) = (wanted(tables[0], 1), wanted(tables[1], 2));
        let greedy = tokio::spawn(async move { again.take(greedy, SOON * 10).await.map(drop) });
        let owner = tokio::spawn(async move { other.take(modest_one, SOON * 10).await });
        tokio::time::sleep(SOON).await;
        held.pop();
        let seat = owner.await.unwrap().unwrap();
        assert!(!greedy.is_finished());
        drop((seat, held, modest));
        assert_eq!(greedy.await.unwrap(), Ok(()));
        assert!(seats.figures().iter().all(|figures| figures.taken == 0 && figures.waiting == 0));
    }

    #[tokio::test(start_paused = true)]
    async fn one_flow_cannot_keep_others_of_its_level_out() {
        let seats = Seats::new(1);
        let table =
            seats.arrange(&[level("one", 1, 0, Overflow::Queue { queues: 64, hand: 4, length: 50 })])[0];
        let seat = seats.take(wanted(table, 1), SOON).await.unwrap_or_else(|_| panic!("a seat"));
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (flow, hash) in [(0, 77); 20].into_iter().chain([(1, 123_456_789_123); 3]) {
            let (seats, order) = (Arc::clone(&seats), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let seat = seats.take(wanted(table, hash), SOON * 1000).await;
                order.lock().push(flow);
                tokio::time::sleep(Duration::from_millis(1)).await;
                drop(seat);
            }));
            tokio::task::yield_now().await;
        }
        drop(seat);
        for task in tasks {
            task.await.unwrap();
        }
        let last = order.lock().iter().rposition(|flow| *flow == 1).unwrap();
        assert!(last < 16, "{:?}", order.lock());
    }

    #[tokio::test(start_paused = true)]
    async fn refusals() {
        let seats = Seats::new(2);
        let tables = seats.arrange(&[queue("queue", 0), level("reject", 1, 0, Overflow::Reject)]);
        let held =
            (seats.take(wanted(tables[0], 1), SOON).await, seats.take(wanted(tables[1], 1), SOON).await);
        let refused = seats.take(wanted(tables[1], 1), SOON).await.map(drop);
        assert_eq!(refused, Err(Refused::ConcurrencyLimit));
        assert_eq!(seats.take(wanted(tables[0], 1), SOON).await.map(drop), Err(Refused::TimedOut));
        let one = wanted(tables[0], 1);
        let waiting: Vec<_> = (0..7)
            .map(|_| {
                let seats = Arc::clone(&seats);
                tokio::spawn(async move { seats.take(one, SOON).await.map(drop) })
            })
            .collect();
        let mut outcomes = Vec::new();
        for task in waiting {
            outcomes.push(task.await.unwrap());
        }
        // A hand of two queues, three places each.
        let count = |of: Refused| outcomes.iter().filter(|outcome| **outcome == Err(of)).count();
        assert_eq!((count(Refused::TimedOut), count(Refused::QueueFull)), (6, 1));
        let figures = seats.figures();
        assert_eq!((figures[0].waiting, figures[0].counts.time_out, figures[0].counts.queue_full), (0, 7, 1));
        drop(held);
        assert!(seats.figures().iter().all(|figures| figures.taken == 0));
    }

    #[tokio::test(start_paused = true)]
    async fn levels_come_and_go_under_load() {
        let seats = Seats::new(4);
        let table = seats.arrange(&[queue("old", 0)])[0];
        let wide = Wanted { table, hash: 1, width: 100 };
        // Wider than the server: it gets all of it.
        let held = seats.take(wide, SOON).await.unwrap_or_else(|_| panic!("a seat"));
        let other = Arc::clone(&seats);
        let waits = tokio::spawn(async move { other.take(wanted(table, 1), SOON * 10).await.map(drop) });
        tokio::time::sleep(SOON).await;
        let new = seats.arrange(&[queue("new", 0)])[0];
        assert_ne!(new, table);
        assert_eq!(seats.figures().len(), 2);
        drop(held);
        assert_eq!(waits.await.unwrap(), Ok(()));
        assert_eq!(seats.figures().len(), 1);
        // A level that is not there any more holds nobody up.
        assert!(seats.take(wanted(table, 1), SOON).await.is_ok());
    }
}
