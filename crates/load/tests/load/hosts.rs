//! Several hosts in one scenario: a shop behind a single sign-on, and an API.

use std::sync::OnceLock;
use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::{Error, Scenario, run};

static SHOP: OnceLock<String> = OnceLock::new();

fn to(location: String, more: &str) -> (&'static str, String, String) {
    ("302 Found", format!("Location: {location}\r\n{more}"), String::new())
}

fn sso(seen: &Seen) -> (&'static str, String, String) {
    let form = "<form method=post action=/login><input name=user></form>".to_owned();
    match (seen.method.as_str(), seen.path.as_str()) {
        ("GET", "/login?next=/") => ("200 OK", String::new(), form),
        ("POST", "/login") => {
            let back = format!("{}/?ticket=7", SHOP.get().unwrap());
            to(back, "Set-Cookie: sso=1; Path=/\r\n")
        }
        other => panic!("{other:?}"),
    }
}

fn api(seen: &Seen) -> (&'static str, String, String) {
    assert_eq!((seen.path.as_str(), seen.method.as_str()), ("/v1/items", "POST"));
    ("200 OK", String::new(), "{\"id\": 7}".to_owned())
}

static SSO: OnceLock<String> = OnceLock::new();

fn shop(seen: &Seen) -> (&'static str, String, String) {
    match seen.path.as_str() {
        "/" => to(format!("{}/login?next=/", SSO.get().unwrap()), ""),
        "/?ticket=7" => {
            let page = "<a href=/items/3>x</a>".to_owned();
            ("200 OK", "Set-Cookie: sid=1; Path=/\r\n".to_owned(), page)
        }
        "/items/3" => {
            assert_eq!(seen.cookie, "sid=1");
            ("200 OK", String::new(), String::new())
        }
        other => panic!("{other}"),
    }
}

fn server(site: crate::common::Site) -> Server {
    Server::with_site(Manner::Answer { after: Duration::ZERO }, site)
}

/// Cookies belong to hosts, not to ports: each server has a name of its own on loopback.
fn named(url: &str, name: &str) -> String {
    url.replace("127.0.0.1", name)
}

#[test]
fn customers_sign_in_at_one_host_and_return_to_the_target_and_use_an_api() {
    let (target, login, items) = (server(shop), server(sso), server(api));
    let sso_url = named(&login.url, "sso.localhost");
    SHOP.set(target.url.clone()).unwrap();
    SSO.set(sso_url.clone()).unwrap();
    let text = format!(
        "[session]\nsteps = [\"Home\", \"Login\", \"Item\", \"Api\", \"Item\"]\nthink = \"1ms\"\n\
         [hosts.sso]\nurl = \"{sso_url}\"\ninsecure = true\n[hosts.api]\nurl = \"{}\"\n\
         insecure = true\n[pages]\nHome = {{ path = \"/\", headers = {{ Authorization = \"b\" }} }}\n\
         Login = {{ host = \"sso\", form = \"/login\" }}\nItem = {{ link = \"/items/{{item}}\" }}\n\
         Api = {{ host = \"api\", path = \"/v1/items\", body = \"{{}}\" }}\n",
        named(&items.url, "api.localhost"),
    );
    // The last step follows no link of the API's answer.
    let text = text.replace(", \"Item\"]", "]");
    let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
    let mut plan = plan(scenario, &target, 200.0, 3);
    let port = |url: &str| url.rsplit(':').next().unwrap().to_owned();
    plan.resolve = [("sso", &login), ("api", &items)]
        .map(|(name, server)| {
            let given = format!("{name}.localhost:{}:127.0.0.1", port(&server.url));
            tidegate_load::Resolve::parse(&given).unwrap()
        })
        .to_vec();
    let summary = run(plan, &mut |_| ()).unwrap();
    assert_eq!(summary.totals.completed, 3, "{:?} {:?}", summary.totals, summary.failed_checks);
    // Home to the sign-on, and the sign-on back to the shop.
    assert_eq!(summary.totals.redirects, 6);
    // A connection of each session to each host, and the probes.
    let connections =
        |server: &Server| server.connections.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!([&target, &login, &items].map(connections), [4, 4, 4]);
    let at_login = login.seen();
    assert!(at_login.iter().all(|it| it.host == "sso.localhost"), "{at_login:?}");
    assert!(at_login.iter().all(|it| it.authorization.is_empty()), "{at_login:?}");
    assert!(at_login.iter().all(|it| it.cookie.is_empty()), "{at_login:?}");
    assert!(target.seen().iter().any(|it| it.authorization == "b"));
    assert!(items.seen().iter().all(|it| it.cookie.is_empty()));
}

#[test]
fn a_host_that_is_not_as_the_scenario_says_ends_the_run_with_the_remedy() {
    let (target, other) = (server(|_| ("200 OK", String::new(), String::new())), server(api));
    let of = |host: &str| {
        let text = format!(
            "[session]\nsteps = [\"A\"]\n[pages]\nA = {{ path = \"/\" }}\n[hosts]\nsso = {{ {host} }}\n"
        );
        let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
        run(plan(scenario, &target, 100.0, 1), &mut |_| ())
    };
    let error = of(&format!("url = \"{}\"", other.url)).unwrap_err();
    assert!(error.to_string().contains("set insecure or ca of this host in [hosts]"), "{error}");
    let error = of(&format!("url = \"{}\"", target.url)).unwrap_err();
    assert!(matches!(error, Error::Plan { .. }) && error.to_string().contains("the target itself"));
    assert_eq!(
        of(&format!("url = \"{}\"\ninsecure = true", other.url).replace('\n', ", "))
            .unwrap()
            .totals
            .completed,
        1
    );
}
