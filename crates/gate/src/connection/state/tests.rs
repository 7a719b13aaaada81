//! Tests of the state of a connection.

use super::*;
use crate::connection::deadlines::UpstreamTimes;
use crate::connection::delivery::DeliveryLimits;
use crate::telemetry::labels::UpstreamFault;
use std::time::Duration;
use tidegate_control::CensusCounts;

const SECOND: Duration = Duration::from_secs(1);

fn deadlines(upload_rate: u64) -> RequestDeadlines {
    RequestDeadlines {
        idle: SECOND,
        head: SECOND,
        body: 10 * SECOND,
        upload_rate,
        delivery: DeliveryLimits { pause: 60 * SECOND, rate: 64 },
        upstream: UpstreamTimes {
            response: 30 * SECOND,
            pause: 10 * SECOND,
            stream: 3_600 * SECOND,
            whole: None,
        },
    }
}

/// The deadline with a body of which so many bytes have passed, the last of them so
/// long after the head; from the head on.
fn ends(upload_rate: u64, bytes: usize, last: Duration) -> Duration {
    let now = Instant::now();
    let state = ConnectionState::new(Class::New, deadlines(upload_rate), Arc::default(), now);
    let requested = state.request(true).begun();
    state.exchange.upload().await_customer(requested);
    state.exchange.upload().pass(bytes, requested + last);
    state.exchange.upload().await_customer(requested + last);
    state.exchange.set_progress(requested + last);
    state.deadline() - requested
}

#[test]
fn a_customer_is_thinking_from_a_response_to_the_next_request_or_the_end() {
    let counters = Arc::<Counters>::default();
    let known = || {
        let mut counts = CensusCounts::default();
        counters.think_times.add_to(&mut counts);
        (counts.thinking.iter().sum::<u64>(), counts.requests_by_age[..2].to_vec())
    };
    let now = Instant::now();
    let state = ConnectionState::new(Class::New, deadlines(0), counters.clone(), now);
    let answer = || {
        state.received();
        state.request(false);
        state.response(&state.exchange, false, now);
        state.exchange.response_end();
        state.flushed();
    };
    // Before the first response there is no think time.
    assert_eq!(known(), (0, vec![0, 0]));
    answer();
    assert_eq!(known(), (1, vec![0, 0]));
    answer();
    assert_eq!(known(), (1, vec![1, 0]));
    counters.think_times.tick();
    state.received();
    assert_eq!(known(), (0, vec![1, 1]));
    state.request(false);
    state.response(&state.exchange, false, now);
    state.exchange.response_end();
    state.flushed();
    drop(state);
    assert_eq!(known(), (0, vec![1, 1]));
}

#[test]
fn a_request_without_a_response_counts_as_given_up_with_its_wait() {
    let counters = Arc::<Counters>::default();
    let begin = || {
        let now = Instant::now();
        let state = ConnectionState::new(Class::New, deadlines(0), counters.clone(), now);
        state.request(false);
        state.exchange.set_progress(clock::now() - SECOND);
        state
    };
    let answered = begin();
    answered.response(&answered.exchange, false, clock::now());
    drop(answered);
    assert_eq!(counters.given_up.get(), 0);
    drop(begin());
    let late = begin();
    assert_eq!(late.expire(false), Expiry::Answer);
    drop(late);
    assert_eq!(counters.given_up.get(), 2);
    let mean = counters.given_up_ln_micros.get() as f64 / 2.0 * 1e-6;
    assert!((mean - 1e9_f64.ln()).abs() < 0.5, "{mean}");
}

#[test]
fn a_body_must_keep_up_with_the_least_rate_after_the_first_deadline() {
    assert_eq!(ends(64, 0, Duration::ZERO), 10 * SECOND);
    assert_eq!(ends(64, 2, 18 * SECOND), 10 * SECOND + Duration::from_millis(31));
    assert_eq!(ends(64, 640, 15 * SECOND), 20 * SECOND);
}

#[test]
fn a_body_that_arrived_fast_may_pause_for_the_whole_deadline() {
    assert_eq!(ends(64, 6_400, 15 * SECOND), 25 * SECOND);
}

#[test]
fn without_a_rate_any_progress_suffices() {
    assert_eq!(ends(0, 1, 1_000 * SECOND), 1_010 * SECOND);
}

#[test]
fn the_rate_holds_for_each_request_alone() {
    let state = ConnectionState::new(Class::New, deadlines(64), Arc::default(), Instant::now());
    state.request(true);
    state.exchange.upload_progress(1_000_000);
    let requested = state.request(true).begun();
    state.exchange.upload().await_customer(requested);
    state.exchange.set_progress(requested + 9 * SECOND);
    assert_eq!(state.deadline() - requested, 10 * SECOND);
}

#[test]
fn a_body_that_waits_for_the_upstream_needs_no_rate_and_ends_with_its_fault() {
    let counters = Arc::<Counters>::default();
    let now = Instant::now();
    let state = ConnectionState::new(Class::New, deadlines(64), counters.clone(), now);
    let requested = state.request(true).begun();
    state.exchange.upload().await_customer(requested);
    // One byte, which the upstream takes only after an hour.
    state.exchange.upload().pass(1, requested);
    let hour = 3_600 * SECOND;
    state.exchange.set_progress(requested + hour);
    assert_eq!(state.deadline() - requested, hour + 5 * SECOND);
    state.exchange.upload().await_customer(requested + hour);
    assert_eq!(state.deadline() - requested, hour + 10 * SECOND);
    assert_eq!(state.expire(false), Expiry::Close(End::BodyDeadline), "the customer's");
    state.exchange.upload().pass(1, requested + hour);
    assert_eq!(state.expire(false), Expiry::Measure);
    assert_eq!(state.expire(true), Expiry::Measure, "there was nothing to be seen");
    assert_eq!(state.deadline() - requested, hour + 10 * SECOND);
    assert_eq!(state.expire(false), Expiry::Measure);
    assert_eq!(state.expire(true), Expiry::Answer);
    assert_eq!(state.exchange.upstream_late(), Some(UpstreamFault::Stalled));
    assert_eq!(counters.given_up.get(), 0, "it was not with the upstream yet");
}

#[test]
fn an_upstream_that_reads_slowly_is_not_late() {
    let state = ConnectionState::new(Class::New, deadlines(64), Arc::default(), Instant::now());
    let requested = state.request(true).begun();
    state.exchange.upload_progress(4_000_000);
    // The first measurement is the base of the next one.
    for unacknowledged in [4_000_000, 3_000_000, 2_000_000, 1] {
        state.exchange.set_progress(requested);
        assert_eq!(state.expire(false), Expiry::Measure);
        assert!(
            state.exchange.take_upload_measurement() && !state.exchange.take_upload_measurement()
        );
        state.exchange.upload_measured(unacknowledged);
        assert!(
            unacknowledged == 4_000_000 || state.deadline() >= clock::now() + 9 * SECOND,
            "{unacknowledged}"
        );
    }
    assert_eq!(state.expire(false), Expiry::Measure);
    state.exchange.upload_measured(1);
    assert_eq!(state.expire(true), Expiry::Answer);
}

/// A connection with a response under way.
fn responding(streams: bool) -> (ConnectionState, Instant) {
    let now = Instant::now();
    let state = ConnectionState::new(Class::New, deadlines(64), Arc::default(), now);
    state.request(false);
    state.response(&state.exchange, streams, now);
    state.exchange.set_progress(now);
    (state, now)
}

#[test]
fn a_silent_upstream_ends_a_response_unless_it_is_a_stream_of_events() {
    let (state, now) = responding(false);
    assert_eq!(state.deadline() - now, 10 * SECOND);
    assert_eq!(state.expire(false), Expiry::Close(End::Truncated));
    assert_eq!(state.exchange.counters.upstream_faults[UpstreamFault::Stalled].get(), 1);
    let (state, now) = responding(true);
    assert_eq!(state.deadline() - now, 3_600 * SECOND);
    state.response(&state.exchange, false, now);
    state.exchange.set_progress(now);
    assert_eq!(state.deadline() - now, 10 * SECOND, "the next one is none");
}

#[test]
fn a_response_that_waits_for_the_customer_ends_only_after_a_measurement() {
    let (state, _) = responding(true);
    state.bytes_sent(1_000);
    state.send_waits(|| 1_000);
    assert!(state.deadline() < clock::now() + 16 * SECOND, "a stream waits no longer");
    assert_eq!(state.expire(false), Expiry::Measure);
    let measured = Cell::new(false);
    state.send_waits(|| {
        measured.set(true);
        1_000
    });
    assert!(measured.get());
    assert_eq!(state.expire(true), Expiry::Close(End::BodyDeadline));
}

#[test]
fn a_customer_who_still_reads_the_last_response_is_not_idle() {
    let (state, _) = responding(false);
    state.bytes_sent(1_000);
    state.exchange.response_end();
    state.flushed();
    assert_eq!(state.activity(), Activity::Idle);
    assert!(state.deadline() <= clock::now() + SECOND);
    assert_eq!(state.expire(false), Expiry::Measure);
    assert!(state.measurement_due());
    state.measured(600);
    assert!(!state.measurement_due() && state.deadline() > clock::now() + 14 * SECOND);
    assert_eq!(state.expire(false), Expiry::Measure);
    state.measured(0);
    assert!(state.deadline() <= clock::now() + SECOND, "now the customer may think");
    assert_eq!(state.expire(true), Expiry::Close(End::Idle));
}

#[test]
fn with_a_websocket_the_customer_thinks_between_two_messages() {
    let counters = Arc::<Counters>::default();
    let known = || {
        let mut counts = CensusCounts::default();
        counters.think_times.add_to(&mut counts);
        (counts.thinking.iter().sum::<u64>(), counters.tunnel_messages[Class::New].get())
    };
    let state = ConnectionState::new(Class::New, deadlines(0), counters.clone(), Instant::now());
    state.tunnel_opens();
    assert_eq!(known(), (1, 0));
    state.tunnel_message();
    assert_eq!(known(), (0, 1));
    state.tunnel_answers();
    state.tunnel_answers();
    assert_eq!(known(), (1, 1));
    drop(state);
    assert_eq!(known(), (0, 1), "who has left thinks no more");
}
