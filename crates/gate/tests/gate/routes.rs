//! Requests that go to different upstreams by their path.

use crate::common::plain::{clear_gate, connect_plain, while_served};
use crate::common::*;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::Ordering::Relaxed;
use tidegate_gate::Gate;
use tidegate_gate::config::{Config, Mistakes};
use tidegate_gate::telemetry::labels::{Bucket, Class, End, UpstreamFault};

/// An upstream that answers with its name and the path that it received.
fn named(name: &'static str) -> SocketAddr {
    answering(move |got| ok(&format!("{name} {}", got.line.split(' ').nth(1).unwrap())))
}

fn route(path: &str, url: SocketAddr) -> String {
    format!("[[routes]]\npath = \"{path}\"\nurl = \"http://{url}\"\nprocesses = \"none\"\n")
}

fn answer(gate: &Gate, path: &str) -> String {
    get(&mut connect_plain(gate), path).unwrap().text().to_owned()
}

/// The text of a configuration for a reload of [`clear_gate`].
fn configuration(upstream: SocketAddr, more: &str) -> Result<Config, Mistakes> {
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\ncores = \"{}\"\n[admin]\naddress = \"off\"\n\
         [admission]\npolicy = \"off\"\n[upstream]\nprocesses = \"none\"\ncheck_interval = \"0s\"\n\
         url = \"http://{upstream}\"\n{more}",
        a_core()
    );
    Config::from_toml(&text, "test.toml")
}

#[test]
fn the_longest_route_decides_and_the_path_is_passed_on_as_it_came() {
    let routes = [
        route("/checkout/", named("checkout")),
        route("/checkout/help", named("help")),
        route("/api", named("api")),
    ];
    let gate = clear_gate(named("main"), &routes.concat());
    for (path, upstream) in [
        ("/", "main"),
        ("/check", "main"),
        ("/checkouts", "main"),
        ("/checkout", "checkout"),
        ("/checkout/", "checkout"),
        ("/checkout/pay?order=1", "checkout"),
        ("/checkout/help", "help"),
        ("/checkout/helper", "checkout"),
        ("/api/v1", "api"),
        ("//api///v1", "api"),
        ("/x/../api/v1", "api"),
        ("/x/%2e%2e/api", "api"),
        ("/%61pi", "api"),
        ("/api/../x", "main"),
        ("/api%2fv1", "main"),
        ("/API", "main"),
    ] {
        assert_eq!(answer(&gate, path), format!("{upstream} {path}"));
    }
}

#[test]
fn what_a_directory_does_not_have_goes_to_the_upstream_of_its_path() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("checkout/help")).unwrap();
    fs::write(root.path().join("checkout/help/a.html"), "page").unwrap();
    fs::write(root.path().join("b.html"), "page").unwrap();
    let directory = |path| {
        format!("[[routes]]\npath = \"{path}\"\ndirectory = \"{}\"\n", root.path().display())
    };
    let routes =
        [directory("/"), route("/checkout", named("checkout")), directory("/checkout/help")];
    let gate = clear_gate(named("main"), &routes.concat());
    for (path, text) in [
        ("/b", "page"),
        ("/c", "main /c"),
        ("/checkout/help/a", "page"),
        ("/checkout/help/b", "checkout /checkout/help/b"),
        ("/checkout/b", "checkout /checkout/b"),
    ] {
        assert_eq!(answer(&gate, path), text);
    }
}

#[test]
fn each_upstream_has_connections_of_its_own() {
    let gate = clear_gate(named("main"), &route("/checkout", named("checkout")));
    let mut connection = connect_plain(&gate);
    for _ in 0..5 {
        assert_eq!(get(&mut connection, "/a").unwrap().text(), "main /a");
        assert_eq!(get(&mut connection, "/checkout").unwrap().text(), "checkout /checkout");
    }
    counted(&gate, "both are kept", |totals| {
        totals.upstream_connects == 2 && totals.upstream_open == 2
    });
    let snapshot = gate.snapshot();
    assert_eq!(snapshot.routed_upstreams.len(), 1);
    assert_eq!(snapshot.routed_upstreams[0].responses, 5);
    assert_eq!(snapshot.routes[0].upstream, Some(snapshot.routed_upstreams[0].url.clone()));
    assert_eq!(gate.totals().upstream_responses, 10);
}

#[test]
fn a_dead_upstream_of_a_route_is_told_by_its_url_and_the_others_serve_on() {
    let dead = nobody();
    let route = format!("[[routes]]\npath = \"/checkout\"\nurl = \"http://{dead}\"\n");
    let gate = gate_with(named("main"), &route, |config| {
        config.listen.clear = Some("127.0.0.1:0".parse().unwrap());
        for upstream in config.routes.iter_mut() {
            if let tidegate_gate::config::Destination::Upstream(upstream) = &mut upstream.to {
                upstream.check_interval = std::time::Duration::from_millis(5);
            }
        }
    });
    let url = format!("http://{dead}");
    until("found dead", || gate.snapshot().routed_upstreams[0].problem.is_some());
    assert_eq!(get(&mut connect_plain(&gate), "/checkout").unwrap().code, 502);
    assert_eq!(answer(&gate, "/a"), "main /a");
    assert!(gate.snapshot().upstream_problem.is_none(), "that of [upstream] is another one");
    assert_eq!(gate.totals().upstream_faults[UpstreamFault::Connect], 1);
    let told = || {
        let failures = gate.snapshot().upstream_failures;
        failures.into_iter().find(|failure| failure.first.is_some())
    };
    until("it is told", || told().is_some());
    assert_eq!(told().unwrap().upstream.as_deref(), Some(&*url));
    let metrics = gate.snapshot().prometheus();
    let line = format!("tidegate_route_upstream_reachable{{upstream=\"{url}\"}} 0\n");
    assert!(metrics.contains(&line), "{metrics}");
}

#[test]
fn an_upstream_that_hangs_holds_up_only_its_own_paths() {
    let (hanging, requested, go) = answering_on_request();
    let gate = clear_gate(named("main"), &route("/long", hanging));
    let mut waiting = connect_plain(&gate);
    send(&mut waiting, b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
    comes_to_the_upstream(&gate, &requested);
    for _ in 0..10 {
        assert_eq!(answer(&gate, "/a"), "main /a");
    }
    go.send(()).unwrap();
    assert_eq!(receive(&mut waiting, "GET").unwrap().text(), "hello");
}

#[test]
fn routes_change_and_no_request_is_lost() {
    let (one, two) = (named("one"), named("two"));
    let main = named("main");
    let gate = clear_gate(main, &route("/checkout", one));
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("checkout.html"), "page /checkout").unwrap();
    let directory =
        format!("[[routes]]\npath = \"/\"\ndirectory = \"{}\"\n", root.path().display());
    let changes = [String::new(), route("/checkout", two), directory, route("/checkout", one)];
    let sound = |text: &str| text.ends_with(" /checkout");
    while_served((&gate, "/checkout"), &[true, false], sound, |served| {
        for change in changes.iter().cycle().take(40) {
            let before = served.load(Relaxed);
            assert!(gate.reload(|| configuration(main, change)), "the configuration is sound");
            until("requests go on", || served.load(Relaxed) > before + 2);
        }
    });
    until("the last routes are in force", || answer(&gate, "/checkout") == "one /checkout");
    let totals = gate.totals();
    assert_eq!(totals.ends[End::Broken] + totals.ends[End::Truncated], 0);
}

#[test]
fn a_reload_keeps_the_connections_to_upstreams_that_stay() {
    let (main, checkout) = (named("main"), named("checkout"));
    let gate = clear_gate(main, &route("/checkout", checkout));
    answer(&gate, "/a");
    answer(&gate, "/checkout");
    let other = named("other");
    let routes = [route("/checkout", checkout), route("/other", other)].concat();
    assert!(gate.reload(|| configuration(main, &routes)));
    until("the new route is in force", || answer(&gate, "/other") == "other /other");
    answer(&gate, "/a");
    answer(&gate, "/checkout");
    assert_eq!(gate.totals().upstream_connects, 3);
    assert!(gate.reload(|| configuration(main, "")));
    until("the routes are gone", || answer(&gate, "/other") == "main /other");
    counted(&gate, "their connections are closed", |totals| totals.upstream_open == 1);
    assert!(gate.snapshot().routed_upstreams.is_empty());
}

#[test]
fn a_route_to_the_gate_itself_is_not_put_in_force() {
    let main = named("main");
    let gate = clear_gate(main, "");
    let own = gate.clear_address().unwrap();
    assert!(!gate.reload(|| configuration(main, &route("/a", own))));
    assert_eq!(answer(&gate, "/a"), "main /a");
}

#[test]
fn two_routes_to_one_url_share_its_connections() {
    let shared = named("shared");
    let second = format!("[[routes]]\npath = \"/b\"\nurl = \"http://{shared}\"\n");
    let gate = clear_gate(named("main"), &(route("/a", shared) + &second));
    let mut connection = connect_plain(&gate);
    for path in ["/a", "/b", "/a"] {
        assert_eq!(get(&mut connection, path).unwrap().text(), format!("shared {path}"));
    }
    assert_eq!(gate.totals().upstream_connects, 1);
    assert_eq!(gate.config().upstreams().len(), 2);
}

#[test]
fn requests_and_their_times_are_counted_by_route() {
    let routes = route("/checkout/", named("checkout")) + &route("/none/", nobody());
    let gate = clear_gate(named("main"), &routes);
    for path in ["/checkout/a", "/", "/checkout/b", "/x", "/checkout", "/none/"] {
        get(&mut connect_plain(&gate), path).unwrap();
    }
    let over = |gate: &Gate| {
        let routes = gate.snapshot().route_totals;
        routes.iter().map(|it| it.requests).sum::<u64>() == 6
    };
    until("all are over and a tick has counted them", || gate.totals().open == 0 && over(&gate));
    let snapshot = gate.snapshot();
    let found: Vec<_> = snapshot.route_totals.iter().map(|it| &*it.route).collect();
    assert_eq!(found, ["/checkout", "/none", "upstream"]);
    let [checkout, none, rest] = &snapshot.route_totals[..] else { unreachable!() };
    assert_eq!([checkout, none, rest].map(|it| it.requests), [3, 1, 2]);
    assert_eq!([checkout, none, rest].map(|it| it.upstream_responses), [3, 0, 2]);
    for route in [checkout, rest] {
        assert!(route.cpu_s > 0.0 && 0.0 < route.upstream_s, "{route:?}");
        assert!(route.upstream_s <= route.duration_s, "{route:?}");
    }
    let totals = gate.totals();
    let requests =
        [Class::New, Class::Returning].map(|class| totals.cpu_ns[Bucket::request(class)]);
    let all = requests.iter().sum::<u64>() as f64 / 1e9;
    let of_routes = checkout.cpu_s + none.cpu_s + rest.cpu_s;
    assert!(of_routes <= all + 1e-9, "{of_routes} of {all} s");
    let metrics = gate.snapshot().prometheus();
    assert!(
        metrics.contains("tidegate_route_requests_total{route=\"/checkout\"} 3\n"),
        "{metrics}"
    );
}

/// An address at which nobody listens.
fn nobody() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
