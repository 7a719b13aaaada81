//! Who gets a place and who gives way, as examples and as properties.

use super::*;
use crate::limits::UNPROVEN_AT_ONCE;
use proptest::prelude::*;

fn places(most: usize) -> Rc<Places> {
    Places::new(most, PrefixLengths { ipv4: 24, ipv6: 56 }, Arc::default())
}

fn prefix(n: u8) -> Prefix {
    PrefixLengths { ipv4: 24, ipv6: 56 }.prefix_of([10, 0, n, 1].into())
}

fn take(places: &Rc<Places>, n: u8, kind: PlaceKind) -> Result<Place, Full> {
    places.make_room(prefix(n), kind).map(|()| places.take(prefix(n), kind))
}

/// Places of one kind that a prefix takes until there is none.
fn fill(places: &Rc<Places>, n: u8, kind: PlaceKind) -> Vec<Place> {
    std::iter::from_fn(|| take(places, n, kind).ok()).collect()
}

fn has_ended(place: &Place) -> bool {
    place.is_displaced(&std::task::Context::from_waker(std::task::Waker::noop()))
}

fn ended(of: &[Place]) -> usize {
    of.iter().filter(|place| has_ended(place)).count()
}

#[test]
fn one_prefix_alone_may_take_all_that_its_kinds_may() {
    let places = places(32);
    let unknown = fill(&places, 1, PlaceKind::FirstFlight);
    let new = fill(&places, 1, PlaceKind::New);
    let unproven = fill(&places, 1, PlaceKind::Unproven);
    assert_eq!((unknown.len(), new.len(), unproven.len()), (16, 12, 4));
    assert_eq!(ended(&unknown) + ended(&new) + ended(&unproven), 0);
}

#[test]
fn a_place_is_free_again_when_it_is_left_or_given_up() {
    let places = places(8);
    let mut taken = fill(&places, 1, PlaceKind::New);
    assert_eq!(taken.len(), 7);
    let other = take(&places, 2, PlaceKind::New).unwrap();
    assert_eq!(ended(&taken), 1);
    // The connection that gives way is open until its task has run.
    assert_eq!(places.counters.open.get(), 8);
    taken.retain(|place| !has_ended(place));
    assert_eq!(places.counters.open.get(), 7);
    drop(other);
    assert!(take(&places, 1, PlaceKind::New).is_ok());
    drop(taken);
    let table = places.table.borrow();
    assert_eq!((table.slots.len(), table.taken(Group::All)), (0, 0));
}

#[test]
fn newcomers_make_others_equal_to_themselves_and_no_less() {
    let places = places(16);
    let flood = fill(&places, 1, PlaceKind::New);
    let crowd = fill(&places, 2, PlaceKind::New);
    assert_eq!((flood.len() - ended(&flood), crowd.len()), (7, 7));
    assert!(fill(&places, 1, PlaceKind::New).is_empty());
    assert_eq!(fill(&places, 3, PlaceKind::New).len(), 4);
}

#[test]
fn active_sessions_give_way_to_newcomers_only_where_a_prefix_has_more_than_half() {
    let places = places(16);
    let returning: Vec<_> = (0..8)
        .map(|_| {
            let place = take(&places, 1, PlaceKind::Unproven).unwrap();
            place.change(PlaceKind::Returning);
            place
        })
        .collect();
    let _more: Vec<_> = (3..9).map(|n| take(&places, n, PlaceKind::New).unwrap()).collect();
    assert!(!places.has_place(prefix(2), PlaceKind::Queued));
    assert_eq!(take(&places, 2, PlaceKind::Queued).err(), Some(Full::ForThisPrefix));
    let ninth = take(&places, 1, PlaceKind::Unproven).unwrap();
    ninth.change(PlaceKind::Returning);
    let _newcomer = take(&places, 2, PlaceKind::Queued).unwrap();
    assert_eq!(ended(&returning) + ended(&[ninth]), 1);
}

#[test]
fn customers_who_wait_use_up_nothing_of_what_sessions_behind_their_address_may_begin() {
    let places = places(16);
    for _ in 0..3 * UNPROVEN_AT_ONCE {
        assert!(places.may_prove(prefix(1)));
        take(&places, 1, PlaceKind::Unproven).unwrap().change(PlaceKind::New);
    }
    for _ in 0..3 * UNPROVEN_AT_ONCE {
        take(&places, 2, PlaceKind::Unproven).unwrap();
    }
    assert!(!places.may_prove(prefix(2)), "none of these finished");
}

#[test]
fn a_customer_who_returns_to_a_full_gate_displaces_a_newcomer_first() {
    let places = places(16);
    let new: Vec<_> = (0..10).map(|_| take(&places, 1, PlaceKind::New).unwrap()).collect();
    let active = fill(&places, 2, PlaceKind::Unproven);
    active.iter().for_each(|place| place.change(PlaceKind::Returning));
    assert_eq!(active.len(), 6 + 2, "two newcomers gave way");
    let _back = take(&places, 3, PlaceKind::Unproven).unwrap();
    assert_eq!((ended(&new), ended(&active)), (3, 0));
}

#[test]
fn those_that_wait_in_the_queue_are_named_and_stay_until_they_leave() {
    let places = places(8);
    let mut queued = fill(&places, 1, PlaceKind::Queued);
    assert!(places.has_place(prefix(2), PlaceKind::Queued));
    let full = take(&places, 2, PlaceKind::Queued).err();
    assert_eq!((full, ended(&queued)), (Some(Full::UntilQueuedLeaves(prefix(1))), 0));
    queued.pop();
    assert!(take(&places, 2, PlaceKind::Queued).is_ok());
}

#[test]
fn the_connection_whose_end_loses_least_gives_way() {
    use crate::connection::deadlines::{RequestDeadlines, UpstreamTimes};
    use crate::connection::delivery::DeliveryLimits;
    use crate::connection::state::ConnectionState;
    use crate::telemetry::labels::Class;
    use std::time::{Duration, Instant};
    let places = places(8);
    let second = Duration::from_secs(1);
    let deadlines = RequestDeadlines {
        idle: second,
        head: second,
        body: second,
        upload_rate: 0,
        delivery: DeliveryLimits { pause: second, rate: 0 },
        upstream: UpstreamTimes { response: second, pause: second, stream: second, whole: None },
    };
    let taken = fill(&places, 1, PlaceKind::New);
    let states: Vec<_> = taken
        .iter()
        .map(|place| {
            let now = Instant::now();
            let state = ConnectionState::new(Class::New, deadlines, Arc::default(), now);
            let state = Rc::new(state);
            place.serve(&state);
            state
        })
        .collect();
    for (n, state) in states.iter().enumerate().filter(|(n, _)| *n != 4) {
        state.request(n % 2 == 0);
    }
    let _other = take(&places, 2, PlaceKind::New).unwrap();
    assert!(has_ended(&taken[4]), "the only one without a request");
}

proptest! {
    /// Whatever happens, the limits hold, nobody gives way to a prefix with as many, and
    /// the table counts what is there.
    #[test]
    fn limits_hold_and_nobody_gives_way_to_one_with_as_many(
        most in 1usize..40,
        steps in proptest::collection::vec((0u8..6, 0u8..8, any::<prop::sample::Index>()), 0..200),
    ) {
        let places = places(most);
        let mut open: Vec<(u8, Place)> = Vec::new();
        let kinds = [PlaceKind::FirstFlight, PlaceKind::Unproven, PlaceKind::Queued, PlaceKind::New];
        for (n, what, index) in steps {
            let count = |of: u8, open: &[(u8, Place)]| open.iter().filter(|(n, _)| *n == of).count();
            match what {
                0..=3 => {
                    let kind = kinds[usize::from(what)];
                    let (could, own) = (places.has_place(prefix(n), kind), count(n, &open));
                    match take(&places, n, kind) {
                        Ok(place) => {
                            prop_assert!(could);
                            let all: Vec<_> = (0..6).map(|of| count(of, &open)).collect();
                            open.retain(|(_, place)| !has_ended(place));
                            for of in (0..6_u8).filter(|of| count(*of, &open) < all[usize::from(*of)]) {
                                prop_assert!(of != n);
                            }
                            prop_assert!(own <= count(n, &open));
                            open.push((n, place));
                        }
                        Err(Full::UntilQueuedLeaves(of)) => prop_assert!(could && of != prefix(n)),
                        Err(Full::ForThisPrefix) => prop_assert!(!could),
                    }
                }
                4 | 5 if !open.is_empty() => {
                    let (_, place) = &open[index.index(open.len())];
                    place.change(if what == 4 { PlaceKind::New } else { PlaceKind::Returning });
                }
                _ if !open.is_empty() => drop(open.swap_remove(index.index(open.len()))),
                _ => {}
            }
            prop_assert!(open.len() <= most);
            let table = places.table.borrow();
            prop_assert_eq!(table.taken(Group::All), open.len());
            let here: std::collections::HashSet<_> = open.iter().map(|(n, _)| *n).collect();
            prop_assert_eq!(table.slots.len(), here.len());
            prop_assert_eq!(places.counters.open.get(), open.len() as u64);
        }
    }
}
