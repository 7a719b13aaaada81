//! How browse pages are made: anew, kept, and for files.

use tidegate_shop::{Build, set_price};
use tidegate_sitekit::money::Cents;

use crate::browser::between;
use crate::world::{World, wait_until};

const PAGES: [&str; 3] = ["/", "/departments/garden", "/products/3"];

#[test]
fn all_builds_have_the_same_pages() {
    let worlds = Build::ALL.iter().map(|build| World::new(None, *build));
    let worlds: Vec<World> = worlds.collect();
    let sets = between(&worlds[0].browser.page("/departments/garden"), "href=\"/sets/", "\"")
        .first()
        .map(|set| format!("/sets/{set}"))
        .unwrap();
    for path in PAGES.into_iter().chain([&*sets, &*format!("{sets}/2"), "/search?q=oak"]) {
        let pages: Vec<String> = worlds.iter().map(|world| world.browser.page(path)).collect();
        assert_eq!(pages[0], pages[1], "{path}");
        assert_eq!(pages[0], pages[2], "{path}");
        // What is kept is what was made.
        assert_eq!(worlds[1].browser.page(path), pages[0], "{path}");
    }
}

#[test]
fn a_page_for_a_file_names_it_and_says_when_it_changed() {
    let world = World::new(None, Build::Rendered);
    let sets = world.browser.page("/departments/garden");
    let set = between(&sets, "href=\"/sets/", "\"")[0].to_owned();
    for (path, file) in [
        ("/", "index.html".to_owned()),
        ("/departments/garden", "departments/garden.html".into()),
        (&format!("/sets/{set}"), format!("sets/{set}.html")),
        (&format!("/sets/{set}/2"), format!("sets/{set}/2.html")),
        ("/products/3", "products/3.html".into()),
    ] {
        let answer = world.browser.get(path);
        assert_eq!(answer.headers["render-as"], file, "{path}");
        assert_eq!(answer.headers["cache-control"], "public, max-age=60");
        assert_eq!(answer.headers["vary"], "cookie");
        let tag = &answer.headers["etag"];
        let again = world.browser.get_with(&format!("if-none-match: {tag}\r\n"), path);
        assert_eq!((again.status, again.text.as_str()), (304, ""), "{path}");
        let since = &answer.headers["last-modified"];
        let again = world.browser.get_with(&format!("if-modified-since: {since}\r\n"), path);
        assert_eq!(again.status, 304, "{path}");
        // Another zone has another page.
        let other = format!("cookie: zone=9\r\nif-none-match: {tag}\r\n");
        assert_eq!(world.browser.get_with(&other, path).status, 200, "{path}");
    }
    for path in ["/basket", "/account", "/search?q=oak", "/nowhere"] {
        assert!(!world.browser.get(path).headers.contains_key("render-as"), "{path}");
    }
}

#[test]
fn a_page_that_is_kept_is_made_anew_once_a_price_has_changed() {
    for build in [Build::Cached, Build::Rendered] {
        let world = World::new(None, build);
        let before = world.browser.get("/products/3");
        assert!(!before.text.contains("$1,234.56"));
        // Past the shop, and without a word to it: it is kept.
        world.run("UPDATE products SET price = 99999 WHERE id = 3");
        assert_eq!(world.browser.page("/products/3"), before.text);
        set_price(&world.options, 3, Cents(123_456)).unwrap();
        wait_until("the page has the new price", || {
            world.browser.page("/products/3").contains("$1,234.56")
        });
        let tag = &before.headers["etag"];
        let again = world.browser.get_with(&format!("if-none-match: {tag}\r\n"), "/products/3");
        assert_eq!(again.status, 200);
    }
}

#[test]
fn a_price_that_cannot_be_is_refused() {
    let world = World::on_sqlite();
    for (product, price, says) in [
        (3, Cents(0), "must be $0.01 to $1,000,000.00"),
        (3, Cents(Cents::MOST.0 + 1), "try 12.50"),
        (501, Cents(100), "numbered 1 to 500"),
    ] {
        let error = set_price(&world.options, product, price).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    assert_eq!(world.number("SELECT version FROM catalogue"), 0);
}
