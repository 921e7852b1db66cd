//! Reservations around writes: what was taken is kept, given back or released, once each.
#![allow(missing_docs)]

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use apiwright_json::Value;
use apiwright_meta::object;
use apiwright_meta::status::Result;
use apiwright_registry::{DeleteOptions, Fate, Held, Reservation, Reserve, Store};
use futures::FutureExt;
use futures::future::BoxFuture;
use support::*;

/// Reserves the text of `data.seat`.
#[derive(Clone, Default)]
struct Seats(Arc<Mutex<BTreeSet<String>>>);

struct Taken {
    seats: Seats,
    fresh: Option<String>,
    given_up: Option<String>,
}

fn seat(object: &Value) -> Option<String> {
    Some(object.text_at(&["data", "seat"]).to_owned()).filter(|seat| !seat.is_empty())
}

impl Seats {
    fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().cloned().collect()
    }

    fn take(&self, new: &Value, old: Option<&Value>, dry_run: bool) -> Result<Reservation> {
        let (new, old) = (seat(new), old.and_then(seat));
        let changed = new != old && !dry_run;
        if let Some(seat) = new.as_ref().filter(|_| changed)
            && !self.0.lock().unwrap().insert(seat.clone())
        {
            return Err(apiwright_meta::Status::bad_request("taken"));
        }
        let [fresh, given_up] = [new, old].map(|seat| seat.filter(|_| changed));
        Ok(Box::new(Taken { seats: self.clone(), fresh, given_up }))
    }
}

impl Reserve for Seats {
    fn create<'a>(&'a self, object: &'a mut Value, dry_run: bool) -> BoxFuture<'a, Result<Reservation>> {
        async move {
            assert!(!object::name(object).is_empty(), "names are there first");
            self.take(object, None, dry_run)
        }
        .boxed()
    }

    fn update<'a>(
        &'a self,
        object: &'a mut Value,
        old: &'a Value,
        dry_run: bool,
    ) -> BoxFuture<'a, Result<Reservation>> {
        async move { self.take(object, Some(old), dry_run) }.boxed()
    }

    fn release(&self, object: Value) -> BoxFuture<'static, ()> {
        if let Some(seat) = seat(&object) {
            self.0.lock().unwrap().remove(&seat);
        }
        async {}.boxed()
    }
}

impl Held for Taken {
    fn settle(self: Box<Self>, fate: Fate) -> BoxFuture<'static, ()> {
        let back = match fate {
            Fate::Kept => self.given_up,
            Fate::Failed => self.fresh,
            Fate::Unknown => None,
        };
        if let Some(seat) = back {
            self.seats.0.lock().unwrap().remove(&seat);
        }
        async {}.boxed()
    }
}

fn seated() -> (Store, Seats) {
    let seats = Seats::default();
    (config_maps(&memory()).with_reserve(Arc::new(seats.clone())), seats)
}

fn body(name: &str, seat: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"seat":"{seat}"}}}}"#)
}

#[tokio::test]
async fn creations_keep_what_they_take_and_deletions_release_it() {
    let (store, seats) = seated();
    create(&store, &body("a", "1")).await.unwrap();
    assert_eq!(seats.all(), ["1"]);
    assert_eq!(create(&store, &body("b", "1")).await.unwrap_err().message, "taken");
    create(&store, r#"{"metadata":{"generateName":"c-"},"data":{"seat":"2"}}"#).await.unwrap();
    assert_eq!(seats.all(), ["1", "2"]);
    delete(&store, "a", DeleteOptions::default()).await.unwrap();
    assert_eq!(seats.all(), ["2"]);
}

#[tokio::test]
async fn refused_creations_give_back() {
    let (store, seats) = seated();
    create(&store, &body("a", "1")).await.unwrap();
    for (name, code) in [("a", 409), ("Not A Name", 422)] {
        assert_eq!(create(&store, &body(name, "2")).await.unwrap_err().code, code);
        assert_eq!(seats.all(), ["1"], "{name}");
    }
}

#[tokio::test]
async fn updates_exchange() {
    let (store, seats) = seated();
    create(&store, &body("a", "1")).await.unwrap();
    for (seat, expected) in [("2", "2"), ("2", "2"), ("3", "3")] {
        put(&store, "a", &body("a", seat)).await.unwrap();
        assert_eq!(seats.all(), [expected]);
    }
    let bad = body("a", "4").replace("\"name\"", "\"labels\":{\"a b\":\"\"},\"name\"");
    put(&store, "a", &bad).await.unwrap_err();
    assert_eq!(seats.all(), ["3"], "what was refused changes nothing");
}

#[tokio::test]
async fn dry_runs_take_nothing() {
    let (store, seats) = seated();
    store.create(&dry_run(), "ns", parsed(&body("a", "1")), &Yes).await.unwrap();
    assert!(seats.all().is_empty());
}
