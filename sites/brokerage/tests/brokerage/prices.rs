//! The price feed: it moves, it stops, and browsers follow it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tidegate_brokerage::app;

use crate::world::{Setup, World, buy, wait_until};

/// The events of the stream, one line each.
fn listen(world: &World) -> impl Iterator<Item = String> + use<> {
    let mut stream = TcpStream::connect(world.browser().address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /prices HTTP/1.1\r\nhost: site\r\n\r\n").unwrap();
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned))
}

#[test]
fn a_browser_follows_the_prices() {
    let lines = (1..3000).map(|tick| format!("{tick},ALEN,{}.00\n", 20 + tick % 50)).collect();
    let world = World::with(Setup { feed: Some(lines), ..Setup::default() });
    let mut seen = Vec::new();
    for event in listen(&world).take(3) {
        assert!(event.contains("\"stopped\":false"), "{event}");
        let alen = event.split("\"ALEN\":").nth(1).unwrap().split(',').next().unwrap().to_owned();
        seen.push(alen);
    }
    assert!(seen[0] != seen[1] || seen[1] != seen[2], "{seen:?}");
}

#[test]
fn a_feed_that_has_stopped_is_shown_and_orders_wait_for_it() {
    let feed = Some("1,ALEN,50.00\n2,ALEN,51.00\n".into());
    let mut world = World::with(Setup { feed, ..Setup::default() });
    let customer = world.customer(1);
    wait_until("the pages say so", || {
        customer.page("/portfolio").contains("price feed has stopped")
    });
    let placed = customer.order(buy("ALEN", "3", ""));
    assert_eq!(placed.status, 200, "a market order waits");
    assert!(placed.text.contains("price feed has stopped"), "{}", placed.text);
    assert!(placed.text.contains("It waits for its price"), "{}", placed.text);
    let event = listen(&world).next().unwrap();
    assert!(event.contains("\"stopped\":true") && event.contains("\"ALEN\":5100"), "{event}");

    // Another file is another feed, which begins with its first tick.
    let path = world.folder.path().join("next.csv");
    std::fs::write(&path, "1,ALEN,52.00\n30000,ALEN,52.00\n").unwrap();
    world.stop_app();
    world.app_options = app::Options { feed: app::Source::File(path), ..world.app_options.clone() };
    world.restart_app();
    wait_until("the order is carried out", || customer.page("/history").contains("$156.00"));
    assert!(!customer.page("/portfolio").contains("has stopped"));
    world.check();
}

#[test]
fn of_several_application_servers_one_feeds_and_another_takes_over() {
    let lines = (1..30_000).map(|tick| format!("{tick},ALEN,50.00\n")).collect();
    let mut world = World::with(Setup { feed: Some(lines), ..Setup::default() });
    let second = app::start(world.app_options.clone()).unwrap();
    let addresses = [world.app.as_ref().unwrap().address(), second.address()];
    world.restart_web(&addresses);
    let customer = world.customer(1);
    let tick = |world: &World| world.number("SELECT tick FROM feed");
    let (before, term) = (tick(&world), world.number("SELECT term FROM leases"));
    wait_until("prices tick", || tick(&world) > before + 20);
    assert_eq!(world.number("SELECT term FROM leases"), term, "one keeps the lease");
    world.app.take().unwrap().shutdown();
    wait_until("the other takes over", || world.number("SELECT term FROM leases") == term + 1);
    let before = tick(&world);
    wait_until("prices tick again", || tick(&world) > before + 5);
    let order = customer.order(buy("ALEN", "2", "60"));
    assert_eq!(order.status, 200, "the web tier passes over the one that is gone");
    wait_until("it is carried out", || customer.page("/history").contains("$100.00"));
    world.check();
    second.shutdown();
}

#[test]
fn a_stopping_web_tier_ends_its_streams() {
    // One that waits for its streams does so for five seconds each time; one that does not may
    // be late on a machine that is short of time.
    let took = || {
        let mut world = World::new();
        let mut events = listen(&world);
        assert!(events.next().is_some());
        let begin = std::time::Instant::now();
        world.web.take().unwrap().shutdown();
        let took = begin.elapsed();
        assert!(events.count() < 10);
        took
    };
    assert!((0..5).any(|_| took() < Duration::from_secs(4)), "it waits for its streams");
}
