//! Changing a password.

use tidegate_brokerage::protocol::SessionToken;

use crate::browser::{Answer, Browser, hidden};
use crate::world::{Customer, World};

const NEW: &str = "gravel teapot nineteen";

fn change(customer: &Customer, password: &str, new: &str) -> Answer {
    let form = hidden(&customer.page("/password"), "form");
    customer.post("/password", &[("form", &form), ("password", password), ("new", new)])
}

fn sign_in(world: &World, password: &str) -> u16 {
    let fields = [("user", "customer1"), ("password", password)];
    world.browser().post_with("x-forwarded-for: 192.0.2.77\r\n", "/login", &fields).status
}

#[test]
fn a_customer_changes_their_password_and_signs_in_with_it_alone() {
    for world in [World::new(), World::on_postgres()] {
        let customer = world.customer(1);
        let changed = change(&customer, "password1", NEW);
        assert_eq!(changed.status, 200, "{}", changed.text);
        assert!(changed.text.contains("Your password was changed"), "{}", changed.text);
        assert_eq!(sign_in(&world, "password1"), 401);
        assert_eq!(sign_in(&world, NEW), 200);
        world.check();
    }
}

#[test]
fn a_change_ends_all_sessions_and_begins_one() {
    let world = World::new();
    let (customer, elsewhere, other) = (world.customer(1), world.customer(1), world.customer(2));
    let changed = change(&customer, "password1", NEW);
    let cookie = changed.headers["set-cookie"].split(';').next().unwrap().to_owned();
    assert_eq!(customer.get("/main").status, 401, "the session it was made in has another name");
    assert_eq!(elsewhere.get("/main").status, 401);
    assert_eq!(other.get("/main").status, 200, "those of other customers stay");
    let renewed = Customer { cookie, ..customer };
    assert_eq!(renewed.get("/main").status, 200);
    // The page has forms of the new session.
    let form = hidden(&changed.text, "form");
    assert_eq!(renewed.post("/logout", &[("form", &form)]).status, 200);
}

#[test]
fn a_change_that_is_sent_again_succeeds_again_and_is_made_once() {
    for world in [World::new(), World::on_postgres()] {
        let customer = world.customer(1);
        let (_, token) = customer.cookie.split_once('=').unwrap();
        let session = SessionToken::try_from(token.to_owned()).unwrap().key();
        let app = Browser::new(world.app.as_ref().unwrap().address());
        // As the web tier sends it to another server when the first one dies before its answer.
        let send = |next: &SessionToken, password: &str, new: &str| {
            let body = serde_json::json!({
                "session": session.as_str(), "next": next.key().as_str(),
                "password": password, "new": new, "client": "127.0.0.1",
            })
            .to_string();
            let answer = app.send(&format!(
                "POST /change-password HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ));
            answer.status
        };
        let stored = || world.text("SELECT password FROM customers WHERE id = 1");
        let next = SessionToken::random().unwrap();
        assert_eq!(send(&next, "password1", NEW), 200);
        let changed = stored();
        assert_eq!(send(&next, "password1", NEW), 200);
        assert_eq!(stored(), changed);
        assert_eq!(world.number("SELECT COUNT(*) FROM sessions WHERE customer = 1"), 1);
        // Any other change needs a session that is not over.
        let stranger = SessionToken::random().unwrap();
        assert_eq!(send(&stranger, NEW, "another teapot entirely"), 401);
        assert_eq!(stored(), changed);
        let renewed = Customer { cookie: format!("session={}", next.as_str()), ..customer };
        assert_eq!(renewed.get("/main").status, 200);
        world.check();
    }
}

#[test]
fn no_form_chooses_the_session_that_follows_a_change() {
    let world = World::new();
    let customer = world.customer(1);
    let form = hidden(&customer.page("/password"), "form");
    let chosen = SessionToken::random().unwrap();
    let key = chosen.key();
    for next in [chosen.as_str(), key.as_str()] {
        let fields = [("form", form.as_str()), ("password", "x"), ("new", NEW), ("next", next)];
        assert_eq!(customer.post("/password", &fields).status, 422);
    }
    let fields = [
        ("form", form.as_str()),
        ("password", "password1"),
        ("new", NEW),
        ("next", chosen.as_str()),
    ];
    let changed = customer.post("/password", &fields);
    assert_eq!(changed.status, 200, "{}", changed.text);
    assert!(!changed.headers["set-cookie"].contains(chosen.as_str()));
    let taken = Customer { cookie: format!("session={}", chosen.as_str()), ..customer };
    assert_eq!(taken.get("/main").status, 401);
}

#[test]
fn a_change_takes_the_password_and_wrong_ones_are_limited() {
    let world = World::new();
    let customer = world.customer(1);
    for _ in 0..5 {
        let answer = change(&customer, "wrong", NEW);
        assert_eq!(answer.status, 422, "{}", answer.text);
        assert!(answer.text.contains("this is not your password"), "{}", answer.text);
        assert!(!answer.headers.contains_key("set-cookie"));
    }
    let answer = change(&customer, "password1", NEW);
    assert_eq!(answer.status, 429, "{}", answer.text);
    assert!(answer.headers.contains_key("retry-after"));
    assert_eq!(sign_in(&world, "password1"), 200, "nothing was changed");
}

#[test]
fn a_password_that_is_short_or_common_is_refused_beside_its_field() {
    let world = World::new();
    let customer = world.customer(1);
    for (new, expected) in
        [("", "8 to 128"), ("seven7!", "8 to 128"), ("password123", "easily guessed")]
    {
        let answer = change(&customer, "password1", new);
        assert_eq!(answer.status, 422, "{new}: {}", answer.text);
        assert!(answer.text.contains("id=\"new-wrong\"") && answer.text.contains(expected));
        // What was typed into such a field is not sent back.
        assert!(!answer.text.contains("value=\"password1"), "{}", answer.text);
    }
    assert_eq!(customer.get("/main").status, 200);
}

#[test]
fn a_password_is_compared_exactly_as_it_was_typed() {
    let world = World::new();
    let typed = format!("  Grävel TEAPOT {}  ", "nineteen ".repeat(11));
    assert!(typed.chars().count() > 100);
    let changed = change(&world.customer(1), "password1", &typed);
    assert_eq!(changed.status, 200, "{}", changed.text);
    for other in [typed.trim(), &typed.to_lowercase(), &typed[..64]] {
        assert_eq!(sign_in(&world, other), 401, "{other:?}");
    }
    assert_eq!(sign_in(&world, &typed), 200);
}

#[test]
fn passwords_are_stored_as_hashes_of_argon2id() {
    let world = World::new();
    let customer = world.customer(1);
    // A population's are cheap until their owners sign in.
    let own = "SELECT COUNT(*) FROM customers WHERE id = 1 AND password LIKE '$argon2id$v=19$m=%'";
    assert_eq!(world.number(own), 1);
    assert_eq!(change(&customer, "password1", NEW).status, 200);
    assert_eq!(world.number(own), 1);
    for sql in [
        "SELECT COUNT(*) FROM customers WHERE password LIKE '%password%'",
        "SELECT COUNT(*) FROM customers WHERE password LIKE '%teapot%'",
    ] {
        assert_eq!(world.number(sql), 0, "{sql}");
    }
}

#[test]
fn fields_of_passwords_are_masked_and_password_managers_may_fill_them() {
    let world = World::new();
    let customer = world.customer(1);
    for (path, fields) in [
        ("/login", &[("password", "current-password")][..]),
        ("/password", &[("password", "current-password"), ("new", "new-password")]),
    ] {
        let page = customer.page(path);
        for (name, complete) in fields {
            let field =
                format!("name=\"{name}\" type=\"password\" autocomplete=\"{complete}\" value=\"\"");
            assert!(page.contains(&field), "{path}: {field} is not in {page}");
        }
    }
}

#[test]
fn the_form_is_for_customers_who_are_signed_in() {
    let world = World::new();
    assert_eq!(world.browser().get("/password").status, 401);
    let customer = world.customer(1);
    let fields = [("form", "x"), ("password", "password1"), ("new", NEW)];
    assert_eq!(customer.post("/password", &fields).status, 403);
    assert_eq!(sign_in(&world, "password1"), 200);
}
