//! One page of a scenario alone, with what customers need before they come to it: so that its cost
//! can be told apart from that of the others.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Scenario;
use super::class::Class;
use super::definition::ScenarioDefinition;
use super::navigation::{Navigation, ScriptStep};
use super::page::Source;
use super::table::{Form, Move, Table};

/// Requests of a session for each page of its way and each repetition: pages that are not offered
/// take it back.
const SLACK: u32 = 4;

/// A page alone.
#[derive(Clone, Debug)]
pub struct Alone {
    /// Sessions that go to the page, and request it there. Nobody thinks.
    pub scenario: Scenario,
    /// The pages before it, by their indices, from the start; those that customers make of the
    /// scenario where they differ from session to session.
    pub way: Vec<u16>,
    /// A session requests the page this often on average.
    pub repeats: u32,
}

impl Scenario {
    /// The page alone, by its index: the likeliest way there by transitions, then the page
    /// `repeats` times if it may be requested again, else once. Of several classes the largest is
    /// taken. `None` if no session comes to the page.
    pub fn alone(&self, page: u16, repeats: u32) -> Option<Alone> {
        let definition = self.definition();
        let class = class_of(definition, page)?;
        match &class.navigation {
            Navigation::Table(table) => {
                let way = way(definition, table, class.start, page)?;
                let mut rows = vec![vec![(Move::End, 1.0)]; definition.pages.len()];
                let ahead = way.iter().skip(1).chain([&page]);
                for (from, to) in way.iter().zip(ahead) {
                    rows[usize::from(*from)] = vec![(Move::Page(*to), 1.0)];
                }
                Some(self.with_table(class, (page, repeats), rows, way))
            }
            Navigation::Steps(steps) => {
                let before = steps.iter().position(|step| step.page == page)?;
                let repeats = if repeats_anew(definition, page) { repeats.max(1) } else { 1 };
                let way: Vec<u16> = steps[..before].iter().map(|step| step.page).collect();
                let all = way.iter().copied().chain((0..repeats).map(|_| page));
                let steps = all.map(|page| ScriptStep { page, think: Some(Duration::ZERO) });
                let navigation = Navigation::Steps(steps.collect());
                Some(Alone { scenario: self.with(class, page, navigation), way, repeats })
            }
        }
    }

    /// As [`alone`](Self::alone), but by the ways that customers of the scenario take: they do what
    /// they do until they come to the page. Where the likeliest way does not offer the page, as an
    /// empty basket offers no checkout, theirs does. `None` also for a script, which has one way.
    pub fn until(&self, page: u16, repeats: u32) -> Option<Alone> {
        let definition = self.definition();
        let class = class_of(definition, page)?;
        let table = class.navigation.table()?;
        let states = 0..table.states() as u16;
        // Nobody leaves before, so that sessions come there.
        let stays = |state| table.moves(state).filter(|(to, _)| *to != Move::End).collect();
        let mut rows: Vec<Vec<(Move, f64)>> = states.map(stays).collect();
        for row in rows.iter_mut().filter(|row| row.is_empty()) {
            row.push((Move::End, 1.0));
        }
        Some(self.with_table(class, (page, repeats), rows, Vec::new()))
    }

    /// Sessions by these rows, until the page was requested often enough.
    fn with_table(
        &self,
        class: &Class,
        (page, repeats): (u16, u32),
        mut rows: Vec<Vec<(Move, f64)>>,
        way: Vec<u16>,
    ) -> Alone {
        let definition = self.definition();
        let this = &definition.pages[usize::from(page)];
        let repeats = if this.repeat { repeats.max(1) } else { 1 };
        let again = match repeats_anew(definition, page) {
            true => Move::Page(page),
            false => Move::Stay,
        };
        let last = 1.0 / f64::from(repeats);
        rows[usize::from(page)] = vec![(again, 1.0 - last), (Move::End, last)];
        if let Some(via) = this.via {
            rows[usize::from(via)] = vec![(Move::Page(page), 1.0)];
        }
        let table = Table::new(rows, Form::Normalised).expect("every row has a move");
        let mut scenario = self.with(class, page, Navigation::Table(table));
        if !way.is_empty() || class.start == page {
            let rules = &mut scenario.only_owner().classes[0].session;
            rules.max_requests =
                rules.max_requests.min(SLACK * (way.len() as u32 + 1 + repeats)).max(1);
        }
        Alone { scenario, way, repeats }
    }

    /// The scenario with one class that navigates so and does not think.
    fn with(&self, class: &Class, page: u16, navigation: Navigation) -> Self {
        let definition = self.definition();
        let index = definition.classes.iter().position(|it| std::ptr::eq(it, class));
        let mut class = Class { name: String::new(), navigation, duration: None, ..class.clone() };
        class.session.think = Duration::ZERO;
        if let Some(steps) = class.navigation.steps() {
            class.start = steps[0].page;
            class.session.max_requests = class.session.max_requests.max(steps.len() as u32);
        }
        let mut pages = definition.pages.clone();
        pages.iter_mut().for_each(|page| page.think = None);
        let fed = index.and_then(|index| definition.fed.get(index)).cloned();
        Self(Arc::new(ScenarioDefinition {
            name: format!("{}: {}", definition.name, pages[usize::from(page)].name),
            session: class.session,
            classes: vec![class],
            pages,
            fed: fed.into_iter().collect(),
            arrivals: None,
            thresholds: Vec::new(),
            notes: Vec::new(),
            length: OnceLock::new(),
            ..ScenarioDefinition::clone(definition)
        }))
    }
}

/// Whether a page makes a request of its own each time: one of several with a path.
fn repeats_anew(definition: &ScenarioDefinition, page: u16) -> bool {
    let page = &definition.pages[usize::from(page)];
    page.repeat && matches!(page.source, Source::Path(_))
}

/// The largest class that comes to a page.
fn class_of(definition: &ScenarioDefinition, page: u16) -> Option<&Class> {
    let comes = |class: &&Class| {
        let reached = class.navigation.reachable(class.start, definition.pages.len());
        let via = |it: &super::page::Page| it.via == Some(page);
        let leads = definition.pages.iter().zip(&reached).any(|(it, seen)| *seen && via(it));
        reached[usize::from(page)] || leads
    };
    let classes = definition.classes.iter().rev().filter(comes);
    classes.max_by(|a, b| a.share.total_cmp(&b.share))
}

/// The likeliest way from the start to a page: the pages before it. A page that is reached through
/// another (`via`) has that one before it.
///
/// Source: Dijkstra 1959, "A note on two problems in connexion with graphs", with lengths of
/// `−ln p`.
fn way(definition: &ScenarioDefinition, table: &Table, start: u16, page: u16) -> Option<Vec<u16>> {
    let pages = table.states();
    let mut length = vec![f64::INFINITY; pages];
    let mut before = vec![None; pages];
    let mut done = vec![false; pages];
    length[usize::from(start)] = 0.0;
    loop {
        let open = (0..pages).filter(|at| !done[*at] && length[*at].is_finite());
        let at = open.min_by(|a, b| length[*a].total_cmp(&length[*b]))?;
        if at == usize::from(page) {
            break;
        }
        done[at] = true;
        let via = |to: u16| definition.pages[usize::from(to)].via;
        let own = table.moves(at as u16).filter_map(|(to, p)| match to {
            Move::Page(to) => {
                Some((via(to).filter(|via| usize::from(*via) != at).unwrap_or(to), p))
            }
            _ => None,
        });
        let leads = |to: &u16| via(*to) == Some(at as u16);
        let led = (0..pages as u16).filter(leads).map(|to| (to, 1.0));
        for (to, p) in own.chain(led) {
            let (to, new) = (usize::from(to), length[at] - p.ln());
            if new < length[to] {
                (length[to], before[to]) = (new, Some(at));
            }
        }
    }
    let first = before[usize::from(page)];
    let mut way: Vec<u16> =
        std::iter::successors(first, |at| before[*at]).map(|at| at as u16).collect();
    way.reverse();
    Some(way)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHOP: &str = r#"
[session]
start = "Home"
think = "7s"
[pages]
Home = { path = "/" }
List = { path = "/list", think = "3s" }
Item = { link = "/items/{item}" }
Form = { link = "/items/{item}/form" }
Note = { form = "/notes", via = "Form" }
Order = { form = "/orders" }
Never = { path = "/never" }
[transitions]
Home = { Item = 0.02, List = 0.5, End = 0.48 }
List = { Item = 0.5, Back = 0.2, End = 0.3 }
Item = { Order = 0.1, Note = 0.2, Back = 0.5, End = 0.2 }
Order = { Home = 0.5, End = 0.5 }
Note = { End = 1 }
Form = { End = 1 }
Never = { End = 1 }
"#;

    fn shop() -> Scenario {
        Scenario::from_toml(SHOP, "shop.toml").unwrap()
    }

    fn page(scenario: &Scenario, name: &str) -> u16 {
        scenario.pages().iter().position(|page| page.name == name).unwrap() as u16
    }

    fn alone(name: &str, repeats: u32) -> (Alone, Vec<String>) {
        let shop = shop();
        let alone = shop.alone(page(&shop, name), repeats).unwrap();
        let way = alone.way.iter().map(|at| shop.pages()[usize::from(*at)].name.clone()).collect();
        (alone, way)
    }

    #[test]
    fn the_likeliest_way_is_taken_and_not_the_shortest() {
        // By the list one of four, directly one of fifty.
        assert_eq!(alone("Item", 5).1, ["Home", "List"]);
        assert_eq!(alone("Order", 5).1, ["Home", "List", "Item"]);
        assert_eq!(alone("Home", 5).1, [""; 0]);
        assert_eq!(alone("Note", 5).1, ["Home", "List", "Item", "Form"]);
        assert_eq!(alone("Form", 5).1, ["Home", "List", "Item"]);
    }

    #[test]
    fn a_page_that_may_be_requested_again_is_and_an_order_is_not() {
        let (item, _) = alone("Item", 5);
        let (order, _) = alone("Order", 5);
        assert_eq!((item.repeats, order.repeats), (5, 1));
        // Two pages on the way, then five times on average.
        let mean = item.scenario.session_length().mean_requests;
        assert!((mean - 7.0).abs() < 0.5, "{mean}");
        assert_eq!(order.scenario.session_length().mean_requests, 4.0);
        let (home, _) = alone("Home", 1);
        assert_eq!(home.scenario.session_length().mean_requests, 1.0);
    }

    #[test]
    fn nobody_thinks_on_the_way() {
        let (alone, _) = alone("Order", 1);
        assert_eq!(alone.scenario.session_duration(), Duration::ZERO);
        assert_eq!(alone.scenario.name(), "shop: Order");
        assert!(shop().session_duration() > Duration::ZERO);
    }

    #[test]
    fn a_page_that_no_session_comes_to_has_no_way() {
        let shop = shop();
        let never = page(&shop, "Never");
        assert!(shop.alone(never, 5).is_none() && shop.until(never, 5).is_none());
    }

    #[test]
    fn until_a_page_customers_do_what_they_do_and_do_not_leave() {
        let shop = shop();
        let order = shop.until(page(&shop, "Order"), 5).unwrap();
        assert!(order.way.is_empty());
        let mean = order.scenario.session_length().mean_requests;
        // Home, List, Item at least, and back again many times.
        assert!(mean > 4.0, "{mean}");
    }

    #[test]
    fn a_script_is_followed_to_the_first_such_step() {
        let text = "[session]\nsteps = [\"In\", \"List\", \"Item\", \"List\", \"In\"]\n\
                    [pages]\nIn = { form = \"/in\" }\nList = { path = \"/list\" }\n\
                    Item = { link = \"/items/{item}\" }\n";
        let text = text.replace("form = \"/in\"", "path = \"/in\", method = \"POST\"");
        let script = Scenario::from_toml(&text, "script.toml").unwrap();
        let of = |name: &str| script.alone(page(&script, name), 3).unwrap();
        assert_eq!(of("List").scenario.session_length().mean_requests, 4.0);
        // Its own page does not offer it.
        assert_eq!((of("Item").repeats, of("Item").way.len()), (1, 2));
        assert_eq!((of("In").repeats, of("In").way.len()), (1, 0));
        assert!(script.until(0, 3).is_none());
    }
}
