//! The paper's transactions, on both databases.

use crate::browser::between;
use crate::world::{World, buy, wait_until};

/// Makes a test of each claim for each database.
macro_rules! on_both_databases {
    ($($claim:ident),+ $(,)?) => {
        mod on_sqlite {
            $(#[test] fn $claim() { super::$claim(&$crate::world::World::new()); })+
        }
        mod on_postgres {
            $(#[test] fn $claim() { super::$claim(&$crate::world::World::on_postgres()); })+
        }
    };
}

on_both_databases![
    the_front_page_is_the_same_for_everybody_and_needs_no_other_tier,
    signing_in_leads_to_the_main_page,
    open_orders_and_history_show_what_the_population_has,
    the_form_of_an_order_has_all_250_securities,
    an_order_is_created_carried_out_and_found_in_history_and_portfolio,
    the_mix_of_eight_runs_through,
];

fn the_front_page_is_the_same_for_everybody_and_needs_no_other_tier(world: &World) {
    let page = world.browser().page("/");
    assert_eq!(page, world.browser().page("/index.html"));
    assert!(page.contains("href=\"/login\"") && page.contains("250 companies"), "{page}");
}

fn signing_in_leads_to_the_main_page(world: &World) {
    let customer = world.customer(3);
    assert!(customer.page.contains("signed in as customer3"), "{}", customer.page);
    for link in ["/portfolio", "/orders", "/history", "/orders/new"] {
        assert!(customer.page.contains(&format!("href=\"{link}\"")), "{link}");
    }
    assert_eq!(customer.page("/main"), customer.page);
}

fn open_orders_and_history_show_what_the_population_has(world: &World) {
    let customer = world.customer(1);
    let open = world.number("SELECT COUNT(*) FROM orders WHERE customer = 1 AND state = 0");
    let ended = world.number("SELECT COUNT(*) FROM orders WHERE customer = 1 AND state <> 0");
    let rows = |page: &str| i64::try_from(page.matches("<tr>").count()).unwrap() - 1;
    assert_eq!(rows(&customer.page("/orders")), open);
    let mut seen = 0;
    let mut path = "/history".to_owned();
    loop {
        let page = customer.page(&path);
        seen += rows(&page);
        match between(&page, "rel=\"next\" href=\"", "\"").first() {
            Some(next) => path = (*next).to_owned(),
            None => break,
        }
    }
    assert_eq!(seen, ended, "page by page");
}

fn the_form_of_an_order_has_all_250_securities(world: &World) {
    let page = world.customer(1).page("/orders/new");
    assert_eq!(page.matches("<option value=\"").count(), 251, "and the one that is none");
    assert!(page.contains("ALEN – Alder Energy – $50.00"), "{page}");
}

fn an_order_is_created_carried_out_and_found_in_history_and_portfolio(world: &World) {
    let customer = world.customer(2);
    let cash = "SELECT available + reserved FROM accounts WHERE customer = 2";
    let held = "SELECT COALESCE(SUM(available), 0) FROM holdings WHERE customer = 2
                AND security = (SELECT id FROM securities WHERE symbol = 'ALEN')";
    let held = if world.data_options.database.is_some() {
        "SELECT CAST(COALESCE(SUM(available), 0) AS BIGINT) FROM holdings WHERE customer = 2
         AND security = (SELECT id FROM securities WHERE symbol = 'ALEN')"
    } else {
        held
    };
    let (cash_before, held_before) = (world.number(cash), world.number(held));
    let answer = customer.order(buy("ALEN", "7", "60"));
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert!(answer.text.contains("Your order is accepted"), "{}", answer.text);
    wait_until("the order is carried out", || world.number(held) == held_before + 7);
    assert_eq!(world.number(cash), cash_before - 7 * 5000, "at the price, not at the limit");
    let history = customer.page("/history");
    let first = between(&history, "<tbody>", "</tr>")[0].to_owned();
    assert!(first.contains("ALEN") && first.contains("$350.00"), "{first}");
    assert!(customer.page("/portfolio").contains("ALEN"));
    world.check();
}

fn the_mix_of_eight_runs_through(world: &World) {
    for _ in 0..2 {
        let customer = world.customer(4);
        let form = customer.form();
        assert_eq!(customer.send(&form, buy("BAFI", "1", "10.00")).status, 200);
        customer.page("/history");
    }
    let open = world.customer(4).page("/orders");
    assert_eq!(open.matches("Buy BAFI").count(), 2, "{open}");
}
