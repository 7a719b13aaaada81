//! Turns by prefix, as examples and as properties.

use super::*;
use crate::places::PrefixLengths;
use proptest::prelude::*;
use std::time::Duration;

const TENTH: Duration = Duration::from_millis(100);

fn prefix(n: u8) -> Prefix {
    PrefixLengths { ipv4: 24, ipv6: 56 }.prefix_of([10, 0, n, 1].into())
}

fn queue() -> FairQueue<(u8, u32)> {
    FairQueue::new(4096, Arc::new(Turns::new(1)), 0)
}

/// The entry whose turn is next, served.
fn serve_one<T>(queue: &mut FairQueue<T>, order: Order, now: Instant) -> Option<Entry<T>> {
    let prefix = queue.next_turn(order)?;
    queue.serve(prefix, order, now)
}

/// Adds so many entries of each prefix, a prefix after the other.
fn fill(queue: &mut FairQueue<(u8, u32)>, of: &[(u8, u32)], now: Instant) {
    for (n, count) in of {
        (0..*count).for_each(|item| queue.push(prefix(*n), (*n, item), 100, now));
    }
}

fn serve(
    queue: &mut FairQueue<(u8, u32)>,
    order: Order,
    times: usize,
    now: Instant,
) -> Vec<(u8, u32)> {
    (0..times).filter_map(|_| serve_one(queue, order, now)).map(|entry| entry.item).collect()
}

#[test]
fn one_prefix_alone_is_served_in_the_order_of_arrival_or_the_reverse() {
    let now = Instant::now();
    let mut queue = queue();
    fill(&mut queue, &[(1, 5)], now);
    assert_eq!(serve(&mut queue, Order::Oldest, 2, now), [(1, 0), (1, 1)]);
    assert_eq!(serve(&mut queue, Order::Newest, 9, now), [(1, 4), (1, 3), (1, 2)]);
}

#[test]
fn prefixes_take_turns_and_each_keeps_its_order() {
    let now = Instant::now();
    let mut queue = queue();
    fill(&mut queue, &[(1, 100), (2, 2), (3, 1)], now);
    let served = serve(&mut queue, Order::Oldest, 6, now);
    assert_eq!(served, [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (1, 2)]);
    fill(&mut queue, &[(2, 2), (3, 1)], now);
    let served = serve(&mut queue, Order::Newest, 4, now);
    // The prefix with the newest entry begins.
    assert_eq!(served, [(3, 0), (2, 1), (1, 99), (2, 0)]);
}

#[test]
fn who_comes_one_by_one_has_one_turn_in_a_round_too() {
    let now = Instant::now();
    let mut queue = queue();
    fill(&mut queue, &[(1, 3), (2, 3), (3, 3)], now);
    let mut served = Vec::new();
    for _ in 0..4 {
        queue.push(prefix(9), (9, 0), 100, now);
        served.extend(serve(&mut queue, Order::Newest, 1, now));
    }
    assert_eq!(served.iter().filter(|(n, _)| *n == 9).count(), 1, "{served:?}");
}

#[test]
fn a_prefix_has_its_next_turn_when_those_who_waited_are_gone_though_new_ones_always_come() {
    let begin = Instant::now();
    let mut queue = queue();
    let mut crowd = 0;
    for step in 0..100_u8 {
        let now = begin + u32::from(step) * TENTH;
        fill(&mut queue, &[(100 + step, 2), (1, 2)], now);
        crowd += serve(&mut queue, Order::Newest, 1, now).iter().filter(|of| of.0 == 1).count();
        // Nobody waits longer than a second.
        while queue.oldest_since().is_some_and(|since| now - since >= 10 * TENTH) {
            queue.pop_oldest();
        }
    }
    assert!((8..=12).contains(&crowd), "{crowd} turns in ten seconds");
}

#[test]
fn who_comes_again_and_again_leaves_every_second_turn_to_those_who_come_now_and_then() {
    let begin = Instant::now();
    // Two admissions a second; one prefix comes ten times a second, others once a second.
    for order in [Order::Oldest, Order::Newest] {
        let mut queue = queue();
        let (mut others, mut came) = (0, 0);
        for step in 0..200_u32 {
            let now = begin + step * TENTH;
            queue.push(prefix(1), (1, step), 100, now);
            if step % 10 == 3 {
                came += 1;
                queue.push(prefix(100 + came), (100 + came, step), 100, now);
            }
            if step % 5 == 0 {
                others += serve(&mut queue, order, 1, now).iter().filter(|of| of.0 != 1).count();
            }
            while queue.oldest_since().is_some_and(|since| now - since >= 10 * TENTH) {
                queue.pop_oldest();
            }
        }
        assert!(others >= 19, "{others} of {came} others, {order:?}");
    }
}

#[test]
fn turns_are_those_of_all_cores() {
    let now = Instant::now();
    let at = |tenths: u32| now + tenths * TENTH;
    let turns = Arc::new(Turns::new(2));
    let mut here = FairQueue::new(4096, turns.clone(), 0);
    let mut there = FairQueue::new(4096, turns, 1);
    // One prefix comes to both cores, another to one of them.
    (0..9).for_each(|_| here.push(prefix(1), 1, 100, at(0)));
    (0..9).for_each(|_| there.push(prefix(1), 1, 100, at(0)));
    here.push(prefix(2), 2, 100, at(1));
    assert_eq!(serve_one(&mut there, Order::Oldest, at(2)).unwrap().item, 1);
    assert_eq!(here.next_turn(Order::Oldest), Some(prefix(2)), "the other had its turn there");
    assert_eq!(there.next_turn(Order::Oldest), None, "the other core's entry waited");
    assert_eq!(serve_one(&mut here, Order::Oldest, at(3)).unwrap().item, 2);
    assert_eq!(there.next_turn(Order::Oldest), Some(prefix(1)));
    assert_eq!(here.next_turn(Order::Oldest), Some(prefix(1)), "its own entries are no others");
    assert_eq!(serve_one(&mut there, Order::Oldest, at(4)).unwrap().item, 1);
    assert_eq!(here.next_turn(Order::Oldest), Some(prefix(1)));
}

#[test]
fn an_entry_that_is_not_served_takes_no_turn() {
    let now = Instant::now();
    let mut queue = queue();
    fill(&mut queue, &[(1, 2), (2, 1)], now);
    let prefix = queue.next_turn(Order::Oldest).unwrap();
    assert_eq!(queue.remove(prefix, Order::Oldest).unwrap().item, (1, 0));
    assert_eq!(serve(&mut queue, Order::Oldest, 2, now), [(1, 1), (2, 0)]);
}

#[test]
fn the_largest_prefix_makes_room_and_of_equal_ones_that_with_the_oldest_entry() {
    let now = Instant::now();
    let mut queue = queue();
    fill(&mut queue, &[(7, 1), (8, 3), (9, 1)], now);
    let mut made_room = || queue.pop_oldest_of_largest().unwrap().item;
    assert_eq!([(); 4].map(|()| made_room()), [(8, 0), (8, 1), (7, 0), (8, 2)]);
    // Few large entries weigh as much as many small ones.
    queue.push(prefix(1), (1, 0), 5 * 4096, now);
    fill(&mut queue, &[(2, 4)], now);
    assert_eq!(queue.pop_oldest_of_largest().unwrap().item, (1, 0));
}

#[test]
fn the_wait_that_counts_is_that_of_prefixes_whose_turn_is_to_come() {
    let begin = Instant::now();
    let mut queue = queue();
    fill(&mut queue, &[(1, 3)], begin);
    let later = begin + TENTH;
    fill(&mut queue, &[(2, 1)], later);
    assert_eq!(queue.oldest_due_since(), Some(begin));
    serve(&mut queue, Order::Oldest, 1, later);
    assert_eq!((queue.oldest_since(), queue.oldest_due_since()), (Some(begin), Some(later)));
    serve(&mut queue, Order::Oldest, 1, later);
    assert_eq!(queue.oldest_due_since(), Some(begin), "only those who have had their turn wait");
}

proptest! {
    /// While a prefix waits, no other is served twice more than it within a round.
    #[test]
    fn no_prefix_is_served_more_than_once_more_than_one_that_waits(
        counts in proptest::collection::vec(1u32..40, 2..6),
        newest in any::<bool>(),
    ) {
        let now = Instant::now();
        let mut queue = queue();
        let of: Vec<_> = counts.iter().enumerate().map(|(n, count)| (n as u8, *count)).collect();
        fill(&mut queue, &of, now);
        let order = if newest { Order::Newest } else { Order::Oldest };
        let mut served = vec![0; counts.len()];
        while let Some(entry) = serve_one(&mut queue, order, now) {
            served[usize::from(entry.item.0)] += 1;
            let most = served.iter().max().unwrap();
            for (count, served) in counts.iter().zip(&served) {
                prop_assert!(served + 1 >= *most || served == count, "{served} {most}");
            }
        }
        prop_assert_eq!(served, counts);
    }

    /// Whatever is added and removed, the numbers are right, every entry comes out once,
    /// and each queue keeps its order.
    #[test]
    fn every_entry_comes_out_once(steps in proptest::collection::vec((0u8..8, 0u8..5, 0usize..20_000), 0..200)) {
        let begin = Instant::now();
        let mut queue = queue();
        let (mut inside, mut next, mut not_held) = (Vec::<(u8, u32, usize)>::new(), 0, 0);
        for (at, (what, n, bytes)) in steps.into_iter().enumerate() {
            let now = begin + Duration::from_millis(37 * at as u64);
            let out = match what {
                0..=2 => {
                    queue.push(prefix(n), (n, next), bytes, now);
                    inside.push((n, next, bytes));
                    (next, not_held) = (next + 1, not_held + 1);
                    None
                }
                3 => serve_one(&mut queue, Order::Newest, now),
                4 => serve_one(&mut queue, Order::Oldest, now),
                5 => queue.pop_oldest(),
                6 => queue.pop_oldest_of_largest(),
                _ => {
                    prop_assert_eq!(queue.mark_held(), not_held);
                    not_held = 0;
                    queue.remove(prefix(n), Order::Oldest)
                }
            };
            if let Some(out) = out {
                not_held -= usize::from(!out.held);
                let place = inside.iter().position(|of| of.1 == out.item.1);
                let (n, number, _) = inside.remove(place.expect("it was inside"));
                let mut others = inside.iter().filter(|of| of.0 == n).map(|of| of.1);
                let first = others.clone().all(|other| other > number);
                prop_assert!(first || others.all(|other| other < number), "an end of its queue");
                if what == 5 {
                    prop_assert!(inside.iter().all(|of| of.1 > number), "the oldest of all");
                }
            } else if what > 2 && what < 7 {
                prop_assert!(inside.is_empty());
            }
            prop_assert_eq!(queue.len(), inside.len());
            prop_assert_eq!(queue.bytes(), inside.iter().map(|of| of.2).sum::<usize>());
            prop_assert_eq!(queue.due.fronts.len() + queue.had.fronts.len(), queue.queues.len());
            prop_assert_eq!(queue.weights.len(), queue.queues.len());
        }
    }
}
