use super::*;

const FIRST_COME: Order = Order { opens_ms: None, shut: false };
const START: u64 = 1_700_000_000_000;

/// An identifier that nobody has, with bytes in no order, so that lots differ.
fn new_id() -> Option<WaitingId> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let n = NEXT.fetch_add(1, Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut id = [0; 16];
    id[..8].copy_from_slice(&n.to_be_bytes());
    id[8..].copy_from_slice(&n.to_le_bytes());
    Some(id)
}

/// Somebody new, at this time.
fn arrives(room: &WaitingRoom, at_ms: u64) -> Standing {
    room.visit(None, FIRST_COME, at_ms, new_id).unwrap()
}

/// Somebody with a token asks for their page again.
fn refreshes(room: &WaitingRoom, token: WaitingToken, at_ms: u64) -> Standing {
    room.visit(Some(token), FIRST_COME, at_ms, new_id).unwrap()
}

/// Calls one customer a second, for so many seconds from then on: nobody asks.
fn calls(room: &WaitingRoom, from_ms: u64, seconds: u64) {
    (0..=seconds * 10).for_each(|tick| {
        room.tick(FIRST_COME, 0, Duration::ZERO, from_ms + tick * 100);
    });
}

#[test]
fn places_follow_the_order_of_arrival_and_those_who_have_gone_do_not_count() {
    let room = WaitingRoom::default();
    let tokens: Vec<_> = (0..10).map(|n| arrives(&room, START + n * 1000).token).collect();
    let later = START + 10_000;
    let places: Vec<_> = tokens.iter().map(|it| refreshes(&room, *it, later).place).collect();
    assert_eq!(places, (1..=10).collect::<Vec<_>>());
    assert_eq!(room.waiting(), 10);
    // The first five are not seen again.
    let gone = later + 20_000;
    for token in &tokens[5..] {
        refreshes(&room, *token, gone);
    }
    room.tick(Order { shut: true, ..FIRST_COME }, 0, Duration::ZERO, gone + 5_000);
    assert_eq!((room.waiting(), room.lapsed()), (5, 5));
    assert_eq!(refreshes(&room, tokens[9], gone + 5_000).place, 5);
}

#[test]
fn the_threshold_calls_in_the_order_of_arrival() {
    let room = WaitingRoom::default();
    let tokens: Vec<_> = (0..6).map(|n| arrives(&room, START + 5_000 + n * 100).token).collect();
    calls(&room, START + 6_000, 3);
    let may: Vec<_> =
        tokens.iter().map(|it| refreshes(&room, *it, START + 9_000).may_ask).collect();
    let called = may.iter().filter(|may| **may).count();
    assert!((2..=4).contains(&called), "one a second at first: {may:?}");
    assert!(may[..called].iter().all(|may| *may), "{may:?}");
}

#[test]
fn a_place_that_was_called_stays_so_for_five_minutes() {
    let room = WaitingRoom::default();
    let token = arrives(&room, START).token;
    calls(&room, START + 1_000, 3);
    let late = START + KEPT.as_millis() as u64;
    room.tick(FIRST_COME, 0, Duration::ZERO, late);
    assert_eq!(room.waiting(), 0, "they are not counted meanwhile");
    assert!(refreshes(&room, token, late).may_ask);
}

#[test]
fn a_place_lapses_after_five_minutes() {
    let room = WaitingRoom::default();
    let token = arrives(&room, START).token;
    let too_late = START + KEPT.as_millis() as u64 + 1;
    let standing = refreshes(&room, token, too_late);
    assert_ne!(standing.token.id, token.id);
    assert_eq!(standing.token.arrived_ms, too_late);
}

#[test]
fn a_token_asks_once_at_a_time_and_admits_once_however_many_share_it() {
    let room = WaitingRoom::default();
    let token = arrives(&room, START).token;
    calls(&room, START + 1_000, 3);
    let at = START + 5_000;
    let first = refreshes(&room, token, at);
    assert!(first.may_ask && !refreshes(&room, token, at).may_ask);
    room.asks_no_more(&token, FIRST_COME, at);
    assert!(refreshes(&room, token, at).may_ask, "not admitted: they ask again");
    room.admits(&token, FIRST_COME, [9; 16], at);
    assert!(room.has_admitted(&token.id) && room.has_admitted(&[9; 16]));
    for replayed in [token, first.token, WaitingToken { seen_ms: at + 1, ..token }] {
        let standing = refreshes(&room, replayed, at + 10);
        assert_ne!(standing.token.id, token.id, "the end of the line");
        assert!(!standing.may_ask);
    }
}

#[test]
fn a_place_of_a_clock_ahead_asks_once_at_a_time_however_often_it_is_shown() {
    let room = WaitingRoom::default();
    let ahead = WaitingToken { id: [1; 16], arrived_ms: START + 60_000, seen_ms: START };
    let places = [0, 1, 2, 3, 4].map(|n| refreshes(&room, ahead, START + n).token);
    calls(&room, START + 1_000, 12);
    assert!(!room.someone_is_first(), "all were called");
    let asking = |at| places.iter().filter(|it| refreshes(&room, **it, at).may_ask).count();
    assert_eq!(asking(START + 14_000), 1);
    room.admits(&places[0], FIRST_COME, [1; 16], START + 14_000);
    assert_eq!(asking(START + 15_000), 0, "it was used");
}

#[test]
fn a_request_under_way_when_the_line_is_ordered_anew_is_the_only_one_of_its_place() {
    let room = WaitingRoom::default();
    let token = arrives(&room, START).token;
    calls(&room, START + 1_000, 3);
    assert!(refreshes(&room, token, START + 5_000).may_ask);
    let opened = Order { opens_ms: Some(START + 1), shut: false };
    let again = |at| room.visit(Some(token), opened, at, new_id).unwrap();
    assert!(!again(START + 6_000).may_ask, "nobody is called yet");
    (0..30).for_each(|tick| room.tick(opened, 1, Duration::ZERO, START + 6_000 + tick * 100));
    assert!(!again(START + 9_000).may_ask, "it asks");
    room.asks_no_more(&token, FIRST_COME, START + 9_000);
    assert!(again(START + 10_000).may_ask);
}

#[test]
fn whoever_comes_newly_need_not_wait_for_those_who_were_called() {
    let room = WaitingRoom::default();
    assert!(!room.someone_is_first());
    for n in 0..2 {
        arrives(&room, START + n);
    }
    assert!(room.someone_is_first());
    calls(&room, START + 1_000, 3);
    assert_eq!((room.waiting(), room.someone_is_first()), (2, false));
}

#[test]
fn a_shared_token_is_one_place_in_the_line() {
    let room = WaitingRoom::default();
    let token = arrives(&room, START).token;
    for n in 0..20 {
        refreshes(&room, token, START + n);
    }
    assert_eq!(room.waiting(), 1);
}

#[test]
fn a_clock_that_was_ahead_gives_no_better_place() {
    let room = WaitingRoom::default();
    // Two gates with one key: the clock of the other was an hour ahead.
    let hour = 3_600_000;
    let ahead = WaitingToken { id: [1; 16], arrived_ms: START + hour, seen_ms: START + hour };
    let standing = refreshes(&room, ahead, START + 1_000);
    assert_eq!(standing.token.arrived_ms, START + 1_000, "as if they came now");
    assert_eq!(standing.place, 1);
    let later = arrives(&room, START + 3_000);
    assert_eq!(later.place, 2);
}

#[test]
fn before_the_opening_nobody_is_called_and_afterwards_the_lot_decides() {
    let order = Order { opens_ms: Some(START + 60_000), shut: false };
    let room = WaitingRoom::default();
    let arrive = |n: u64| room.visit(None, order, START + n * 100, new_id).unwrap().token;
    let tokens: Vec<_> = (0..100).map(arrive).collect();
    let late = room.visit(None, order, START + 61_000, new_id).unwrap().token;
    (0..590).for_each(|tick| room.tick(order, 0, Duration::ZERO, START + tick * 100));
    let rank = |token: &WaitingToken| order.rank(token);
    let mut drawn = tokens.clone();
    drawn.sort_by_key(rank);
    assert_ne!(drawn, tokens, "not in the order of arrival");
    assert!(tokens.iter().all(|token| rank(token) < rank(&late)), "who came in time is before");
    let again = |at| room.visit(Some(tokens[0]), order, at, new_id).unwrap();
    assert!(!again(START + 59_000).may_ask);
    (600..1600).for_each(|tick| room.tick(order, 0, Duration::ZERO, START + tick * 100));
    assert!(again(START + 160_000).may_ask);
}

#[test]
fn an_opening_that_is_set_on_a_moving_line_calls_nobody_by_their_former_place() {
    let room = WaitingRoom::default();
    let tokens: Vec<_> = (0..100).map(|n| arrives(&room, START + n * 100).token).collect();
    calls(&room, START + 10_000, 8);
    // Ten minutes later: five sixths of the lots are before those who were called.
    let opens_ms = START + 610_000;
    let order = Order { opens_ms: Some(opens_ms), shut: false };
    let may_ask = |from_ms: u64| {
        let visits =
            tokens.iter().map(|token| WaitingToken { seen_ms: from_ms - 60_000, ..*token });
        visits.filter(|it| room.visit(Some(*it), order, from_ms, new_id).unwrap().may_ask).count()
    };
    assert_eq!(may_ask(opens_ms - 20_000), 0);
    assert_eq!((room.waiting(), room.lapsed()), (100, 0), "each has one place");
    room.tick(order, 0, Duration::ZERO, opens_ms - 100);
    assert_eq!(may_ask(opens_ms), 0, "the threshold begins anew");
    (0..20).for_each(|tick| room.tick(order, 0, Duration::ZERO, opens_ms + tick * 100));
    assert!((1..=4).contains(&may_ask(opens_ms + 2_000)), "and moves");
}

#[test]
fn at_the_opening_they_come_in_the_order_of_their_lots_at_the_rate_that_the_share_carries() {
    let opens_ms = START + 100_000;
    let order = Order { opens_ms: Some(opens_ms), shut: false };
    let room = WaitingRoom::default();
    let mut due = BTreeMap::new();
    let visits = |token, at: u64, n: u64| {
        let standing = room.visit(token, order, at, new_id).unwrap();
        (standing.refresh, (at + standing.refresh.as_millis() as u64, n), standing.token)
    };
    for n in 0..6_000 {
        let (_, next, token) = visits(None, START + n, n);
        due.insert(next, token);
    }
    // Pages of all take half of the share in a minute.
    room.state().least_refresh = Duration::from_secs(60);
    let mut came = BTreeMap::<u64, Vec<Rank>>::new();
    while let Some(((at, n), token)) = due.pop_first() {
        if at >= opens_ms {
            came.entry((at - opens_ms) / 1_000).or_default().push(order.rank(&token));
            continue;
        }
        let (refresh, next, token) = visits(Some(token), at, n);
        assert!(refresh.as_secs() >= 60 || next.0 >= opens_ms, "seldom, as the share allows");
        due.insert(next, token);
    }
    // A hundred a second on average.
    assert!(came.values().all(|ranks| ranks.len() < 150));
    let latest = came.values().map(|ranks| *ranks.iter().max().unwrap());
    let earliest = came.values().map(|ranks| *ranks.iter().min().unwrap());
    let before = latest.zip(earliest.skip(2));
    assert!(before.into_iter().all(|(latest, earliest)| latest < earliest));
}

#[test]
fn while_the_site_is_maintained_nobody_who_comes_as_told_counts_as_gone() {
    let shut = Order { shut: true, ..FIRST_COME };
    for least_refresh in [0, 60].map(Duration::from_secs) {
        let room = WaitingRoom::default();
        room.tick(shut, 0, least_refresh, START);
        let visit = |token, at| room.visit(token, shut, at, new_id).unwrap();
        let mut due: Vec<_> = (0..50)
            .map(|n| (START + n, visit(None, START + n)))
            .map(|(at, standing)| (at + standing.refresh.as_millis() as u64, standing))
            .collect();
        for tick in 0..3_000 {
            let now = START + tick * 100;
            for (at, standing) in due.iter_mut().filter(|(at, _)| *at <= now) {
                *standing = visit(Some(standing.token), now);
                assert_eq!(standing.doors, Doors::Maintenance);
                assert!(standing.refresh >= least_refresh.max(Duration::from_secs(30)));
                *at = now + standing.refresh.as_millis() as u64;
            }
            room.tick(shut, 0, least_refresh, now);
        }
        assert_eq!((room.waiting(), room.lapsed()), (50, 0));
    }
}

#[test]
fn a_line_that_the_service_has_closed_does_not_move() {
    let room = WaitingRoom::default();
    let token = arrives(&room, START).token;
    room.close_for(Duration::from_secs(100), START);
    calls(&room, START + 1_000, 5);
    assert!(!refreshes(&room, token, START + 7_000).may_ask);
    room.close_for(Duration::ZERO, START + 7_000);
    calls(&room, START + 8_000, 3);
    assert!(refreshes(&room, token, START + 12_000).may_ask);
}

#[test]
fn pages_come_more_often_near_the_turn_and_no_more_often_than_the_share_allows() {
    let room = WaitingRoom::default();
    for second in 0..20 {
        let now = START + second * 1000;
        (0..10).for_each(|_| room.state().admissions.note(now));
    }
    let now = START + 20_000;
    let tokens: Vec<_> = (0..3_000).map(|n| arrives(&room, now + n / 10).token).collect();
    let refresh = |at: usize| refreshes(&room, tokens[at], now + 1_000).refresh.as_secs();
    assert!(refresh(0) <= 3, "{}", refresh(0));
    assert!((30..=38).contains(&refresh(2_999)), "{}", refresh(2_999));
    room.tick(Order { shut: true, ..FIRST_COME }, 0, Duration::from_secs(60), now + 1_000);
    assert!(refresh(0) <= 3, "whose turn is near asks all the same: {}", refresh(0));
    assert!((60..=75).contains(&refresh(2_999)), "{}", refresh(2_999));
}

#[test]
fn those_who_are_answered_at_one_moment_come_back_at_several() {
    let room = WaitingRoom::default();
    let tokens: Vec<_> = (0..200).map(|n| arrives(&room, START + n).token).collect();
    room.state().called = (u64::MAX, [u8::MAX; 16]);
    let now = START + 5_000;
    let seconds = tokens.iter().map(|it| refreshes(&room, *it, now).refresh.as_secs());
    let later = seconds.clone().filter(|seconds| *seconds == 3).count();
    assert!((25..100).contains(&later), "{later}");
    assert!(seconds.into_iter().all(|seconds| seconds == 2 || seconds == 3));
}

#[test]
fn estimates_count_those_who_leave_for_good() {
    // Of 600 in the line 300 do not come again within their time; of these some are back later.
    let wait_s = |back: usize| {
        let room = WaitingRoom::default();
        let tokens: Vec<_> = (0..600).map(|n| arrives(&room, START + n).token).collect();
        for second in 0..40 {
            let now = START + 1_000 + second * 1000;
            (0..2).for_each(|_| room.note_admission(now));
            for token in &tokens[300..] {
                refreshes(&room, *token, now);
            }
            room.tick(Order { shut: true, ..FIRST_COME }, 0, Duration::ZERO, now);
        }
        assert_eq!(room.waiting(), 300);
        for token in &tokens[..back] {
            refreshes(&room, *token, START + 41_000);
        }
        let last = refreshes(&room, tokens[599], START + 41_000);
        last.estimate.unwrap().wait.as_secs_f64() / last.place as f64
    };
    // Two a second are admitted.
    assert!((wait_s(300) - 0.5).abs() < 0.01, "{}", wait_s(300));
    // 300 were watched for 40 s each and as many for half of 5 s: one in 42.5 s leaves, and
    // 42.5 · ln(1 + 300 / 85) = 64 s.
    assert!((wait_s(0) * 300.0 - 64.2).abs() < 1.0, "{}", wait_s(0) * 300.0);
}

/// A line of 4,000 customers, of whom `gone` of every five have gone. The others come when their
/// pages say, or up to 900 ms later. Ten a second are admitted, and whoever asks and waits for half a
/// second gets a page. Returns, for the second of two minutes, how many were admitted and how many
/// asked.
fn admits_ten_a_second(gone: usize) -> (u64, u64) {
    let room = WaitingRoom::default();
    (0..100).for_each(|n| room.note_admission(START - 10_000 + n * 100));
    let comes = |now: u64, refresh: Duration, n: u64| {
        now + refresh.as_millis() as u64 + (now / 100 * 7 + n) % 10 * 100
    };
    let mut next = BTreeMap::new();
    for n in 0..4_000 {
        let standing = arrives(&room, START + n / 4);
        if n as usize % 5 >= gone {
            next.insert((comes(START + n / 4, standing.refresh, n), n), standing.token);
        }
    }
    let mut asking: Vec<(u64, u64, WaitingToken, Duration)> = Vec::new();
    let (mut admitted, mut asked) = (0, 0);
    for tick in 0..1_200 {
        let now = START + 1_000 + tick * 100;
        let counts = u64::from(tick >= 600);
        while let Some(entry) = next.first_entry().filter(|entry| entry.key().0 <= now) {
            let ((_, n), token) = entry.remove_entry();
            let standing = refreshes(&room, token, now);
            if standing.may_ask {
                asked += counts;
                asking.push((now, n, standing.token, standing.refresh));
            } else {
                next.insert((comes(now, standing.refresh, n), n), standing.token);
            }
        }
        if !asking.is_empty() {
            let (_, _, token, _) = asking.remove(0);
            admitted += counts;
            room.note_admission(now);
            room.admits(&token, FIRST_COME, token.id, now);
        }
        for (_, n, token, refresh) in asking.extract_if(.., |(since, ..)| now >= *since + 500) {
            room.asks_no_more(&token, FIRST_COME, now);
            next.insert((comes(now, refresh, n), n), token);
        }
        room.tick(FIRST_COME, asking.len() as u64, Duration::ZERO, now);
    }
    (admitted, asked)
}

#[test]
fn the_controller_finds_somebody_who_asks_however_many_have_gone() {
    for gone in [0, 1, 3] {
        let (admitted, asked) = admits_ten_a_second(gone);
        assert!(admitted >= 594, "{gone} of 5 gone: {admitted} of 600 admitted");
        assert!(asked <= 3 * admitted, "{gone} of 5 gone: {asked} requests for {admitted}");
    }
}
