//! Mistakes in the configuration of servers, pools and hosts.

use tidegate_gate::config::Config;

const UPSTREAM: &str = "[upstream]\nurl = \"http://127.0.0.1:8080\"\n";

#[track_caller]
fn assert_mistake(text: &str, expected: &str) {
    let found = Config::from_toml(text, "gate.toml").map(drop);
    assert_eq!(found.map_err(|mistakes| mistakes.to_string()), Err(expected.to_owned()), "{text}");
}

#[test]
fn a_wrong_server_is_told_by_itself() {
    assert_mistake(
        "[upstream]\nurl = [\"http://10.0.0.1\", \"10.0.0.2:80\"]\n",
        "gate.toml:2: upstream.url[1] = \"10.0.0.2:80\": must be a URL of http:// or https:// with \
         a host and no path, or unix:/PATH; try \"http://10.0.0.2:80\"",
    );
    let rule = "must be a URL, or 1 to 100 different ones in an array";
    assert_mistake(
        "[upstream]\nurl = [\"http://a\", \"http://a:80\"]\n",
        &format!(
            "gate.toml:2: upstream.url = [\"http://a\", \"http://a:80\"]: {rule}; leave out one \
             http://a:80"
        ),
    );
    assert_mistake(
        "[upstream]\nurl = []\n",
        &format!("gate.toml:2: upstream.url = []: {rule}; write [\"http://127.0.0.1:8080\"]"),
    );
}

#[test]
fn a_bad_pool_is_refused_with_its_line_and_remedy() {
    for (keys, expected) in [
        (
            "name = \"a\"",
            "3: pools[0].members: must be set; add members = [\"http://10.0.0.1:8080\", \
             \"http://10.0.0.2:8080\"]",
        ),
        (
            "name = \"a b\"\nmembers = \"http://b\"",
            "4: pools[0].name = \"a b\": must be a name: at most 64 letters, digits, - and _; try \
             \"checkout\"",
        ),
        (
            "name = \"upstream\"\nmembers = \"http://b\"",
            "4: pools[0].name = \"upstream\": must not be the name of [upstream]; choose another",
        ),
        (
            "name = \"a\"\nmembers = \"http://b\"\nurl = \"http://c\"",
            "6: pools[0].url = \"http://c\": is not a known key; known keys: name, members, ",
        ),
        (
            "name = \"a\"\nmembers = \"http://b\"\neject_time = \"1ms\"",
            "6: pools[0].eject_time = \"1ms\": must be a duration of 100ms to 1h; try \"100ms\"",
        ),
        (
            "name = \"a\"\nmembers = \"http://b\"\ncheck_path = \"/a\"\ncheck_interval = \"0s\"",
            "6: pools[0].check_path = \"/a\": has no effect while check_interval is 0s; set \
             check_interval = \"2s\", or leave it out",
        ),
        (
            "name = \"a\"\nmembers = \"http://b\"\ncheck_path = \"a\"",
            "6: pools[0].check_path = \"a\": must be the path of a request, with its query if it \
             has one; try \"/healthz\"",
        ),
        (
            "name = \"a\"\nmembers = \"http://b\"\ncheck_status = \"399-200\"",
            "6: pools[0].check_status = \"399-200\": must be a status code or a range of them, \
             100 to 599; write \"200\" or \"200-399\"",
        ),
        (
            "name = \"a\"\nmembers = \"http://b\"\n[[pools]]\nname = \"a\"\nmembers = \"http://c\"",
            "7: pools[1].name = \"a\": is the name of another pool; choose another",
        ),
    ] {
        let text = format!("{UPSTREAM}[[pools]]\n{keys}");
        let found = Config::from_toml(&text, "gate.toml").unwrap_err().to_string();
        assert!(found.starts_with(&format!("gate.toml:{expected}")), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

#[test]
fn a_bad_host_or_pool_of_a_route_is_refused_with_its_line_and_remedy() {
    let pool = "[[pools]]\nname = \"checkout\"\nmembers = \"http://b\"\n";
    for (keys, expected) in [
        (
            "path = \"/\"\npool = \"chekout\"",
            "8: routes[0].pool = \"chekout\": is the name of no pool; did you mean checkout?",
        ),
        (
            "path = \"/\"\npool = \"checkout\"\nurl = \"http://c\"",
            "9: routes[0].url = \"http://c\": cannot be set beside pool; make two routes of it",
        ),
        (
            "path = \"/\"\npool = \"checkout\"\ncgroup = \"/a\"",
            "9: routes[0].cgroup = \"/a\": has no effect without url; leave it out",
        ),
        (
            "host = \"https://shop.example:443/\"\npool = \"checkout\"",
            "7: routes[0].host = \"https://shop.example:443/\": must be a host name without a \
             port, or *. and a name; try \"shop.example\"",
        ),
        (
            "host = \"a.example\"\npool = \"checkout\"\n[[routes]]\nhost = \"A.example\"\n\
             path = \"/\"\npool = \"checkout\"",
            "10: routes[1].host = \"A.example\": has this path in another route; leave one of them \
             out",
        ),
    ] {
        assert_mistake(
            &format!("{UPSTREAM}{pool}[[routes]]\n{keys}"),
            &format!("gate.toml:{expected}"),
        );
    }
}

#[test]
fn what_a_pool_does_not_say_is_as_in_upstream_but_for_its_processes() {
    let text = "[upstream]\nurl = \"http://a\"\nprocesses = \"none\"\nmax_connections = 7\n\
                check_status = 204\nslow_start = \"1s\"\n\
                [[pools]]\nname = \"b\"\nmembers = [\"http://b\", \"unix:/run/b\"]\nslow_start = \"2s\"\n";
    let config = Config::from_toml(text, "gate.toml").unwrap_or_else(|m| panic!("{m}"));
    let (base, pool) = (&config.upstream, &config.named_pools[0].upstream);
    assert_eq!((base.check_status, pool.check_status), ((204, 204), (204, 204)));
    assert_eq!((pool.max_connections, pool.slow_start.as_secs()), (7, 2));
    assert_eq!(pool.processes, tidegate_gate::config::Processes::Auto);
    assert_eq!(pool.url.to_string(), "http://b:80, unix:/run/b");
    let warning = "the pool b gets no requests: no route names it; add pool = \"b\" to a table \
                   [[routes]]";
    assert!(config.warnings().contains(&warning.to_owned()), "{:?}", config.warnings());
}
