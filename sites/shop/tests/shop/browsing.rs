//! Pages that everybody sees.

use crate::browser::between;
use crate::world::World;

on_both_databases![
    a_reader_goes_from_the_home_page_to_a_product,
    prices_follow_from_the_postcode,
    a_page_of_a_zone_is_the_same_for_everybody,
    search_finds_names_by_all_words,
    crawlers_find_every_page,
];

fn a_reader_goes_from_the_home_page_to_a_product(world: &World) {
    let home = world.browser.page("/");
    let departments = between(&home, "href=\"/departments/", "\"");
    assert_eq!(departments.len(), 20, "ten in the header, ten in the page: {departments:?}");
    let department = world.browser.page(&format!("/departments/{}", departments[0]));
    let sets = between(&department, "href=\"/sets/", "\"");
    assert_eq!(sets.len(), 4, "{sets:?}");
    assert!(department.contains("13 products, from $"), "{department}");
    let set = world.browser.page(&format!("/sets/{}", sets[0]));
    let products = between(&set, "href=\"/products/", "\"");
    assert_eq!(products.len(), 12);
    let last = world.browser.page(&format!("/sets/{}/2", sets[0]));
    assert_eq!(between(&last, "href=\"/products/", "\"").len(), 1);
    let first = world.browser.get(&format!("/sets/{}/1", sets[0]));
    assert_eq!(
        (first.status, first.headers["location"].as_str()),
        (308, &*format!("/sets/{}", sets[0]))
    );
    let product = world.browser.page(&format!("/products/{}", products[0]));
    assert!(product.contains("Put into the basket") && product.contains("What customers say"));
    let picture = between(&product, "<img src=\"/static/pictures/", "\"")[0];
    assert!(world.browser.page(&format!("/static/pictures/{picture}")).starts_with("<svg"));
}

fn prices_follow_from_the_postcode(world: &World) {
    world.run("UPDATE products SET price = 1999 WHERE id = 7");
    let shopper = world.shopper();
    assert!(shopper.page("/products/7").contains("$19.99"));
    let fields = [("postcode", "90210"), ("back", "/products/7")];
    assert_eq!(shopper.goes("/zone", &fields), "/products/7");
    // 1.04 × 19.99 = 20.7896.
    let page = shopper.page("/products/7");
    assert!(page.contains("$20.79") && page.contains("California and the Pacific"), "{page}");
    for (fields, back) in [
        ([("postcode", "10001"), ("back", "//evil.example/")], Some("/")),
        ([("postcode", "10001"), ("back", "https://evil.example/")], Some("/")),
        ([("postcode", "1000"), ("back", "/")], None),
        ([("postcode", "<script>"), ("back", "/")], None),
    ] {
        let answer = shopper.post("/zone", &fields);
        match back {
            Some(back) => assert_eq!(answer.headers["location"], back, "{fields:?}"),
            None => {
                assert_eq!(answer.status, 422, "{fields:?}");
                assert!(answer.text.contains("five digits, such as 10001"), "{}", answer.text);
                assert!(!answer.text.contains("<script>"));
            }
        }
    }
}

fn a_page_of_a_zone_is_the_same_for_everybody(world: &World) {
    let customer = world.shopper();
    customer.take(3, 2);
    let fields = [("email", "user7@example.com"), ("password", "password7")];
    assert_eq!(customer.goes("/account/sign-in", &fields), "/account");
    assert!(customer.page("/account").contains("Hello, "));
    let page = world.browser.page("/products/3");
    let set = between(&page, "href=\"/sets/", "\"")[0];
    for path in ["/", "/departments/garden", &format!("/sets/{set}"), "/products/3"] {
        assert_eq!(customer.page(path), world.browser.page(path), "{path}");
    }
}

fn search_finds_names_by_all_words(world: &World) {
    world.run("UPDATE products SET name = 'Olive Zebra chair 10%' WHERE id = 5");
    for (query, found) in [
        ("zebra", true),
        ("OLIVE+zebra", true),
        ("zeb", true),
        ("zebra+oakwood", false),
        ("%25", false),
        ("z%5Fbrx", false),
        ("%27+OR+1%3D1", false),
    ] {
        let page = world.browser.page(&format!("/search?q={query}"));
        assert_eq!(page.contains("href=\"/products/5\""), found, "{query}");
    }
    let page = world.browser.page("/search?q=a");
    assert!(page.contains("Page 1 of") && page.contains("q=a&amp;page=2"), "{page}");
    assert!(world.browser.page("/search?q=a&page=2").contains("Page 2 of"));
    assert!(world.browser.page("/search").contains("Type the words"));
}

fn crawlers_find_every_page(world: &World) {
    let robots = world.browser.page("/robots.txt");
    assert!(
        robots.contains("Disallow: /basket\n")
            && robots.contains("Sitemap: http://site/sitemap.xml")
    );
    let map = world.browser.page("/sitemap.xml");
    let addresses = between(&map, "<loc>http://site", "</loc>");
    // Home, 10 departments, 40 sets of which 20 have a second page, 500 products.
    assert_eq!(addresses.len(), 1 + 10 + 40 + 20 + 500);
    for path in ["/", "/departments/pets", "/products/500"] {
        assert!(addresses.contains(&path), "{path}");
    }
    for path in addresses.iter().filter(|path| path.starts_with("/sets/")) {
        world.browser.page(path);
    }
    assert_eq!(world.browser.get("/sitemaps/2.xml").status, 404);
    // A host that no browser sends is not repeated.
    let answer = world
        .browser
        .send("GET /sitemap.xml HTTP/1.1\r\nhost: a\"><script>\r\nconnection: close\r\n\r\n");
    assert!(!answer.text.contains("script"), "{}", answer.text);
}
