//! The navigation state of a session: current page, history, number of requests. Pure; used
//! by customers and by the simulation of session lengths.

use std::collections::VecDeque;

use rand_distr::{Distribution, Exp1};

use super::navigation::Navigation;
use super::table::Move;
use crate::rng::Rng;

/// Pages that Back can go through; a browser keeps 50.
const HISTORY: usize = 50;

/// State of one session; `T` is what is kept of every page in the history.
#[derive(Debug)]
pub struct Walk<T> {
    start: u16,
    history: VecDeque<(u16, T)>,
    requests: u32,
}

/// The next request of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A page of its own.
    Visit(u16),
    /// The last request again.
    Again,
    /// One page back.
    Back,
}

impl<T> Walk<T> {
    /// A session that will begin at `start`.
    pub fn new(start: u16) -> Self {
        Self { start, history: VecDeque::new(), requests: 0 }
    }

    /// The page the customer is on.
    pub fn page(&self) -> u16 {
        self.history.back().map_or(self.start, |(page, _)| *page)
    }

    /// What was kept of the page the customer is on.
    pub fn current(&self) -> Option<&T> {
        self.history.back().map(|(_, kept)| kept)
    }

    /// Requests made.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Draws the next step, or takes that of the script; `None` at the end of
    /// the session.
    pub fn step(&self, navigation: &Navigation, max_requests: u32, rng: &mut Rng) -> Option<Step> {
        if self.requests >= max_requests {
            return None;
        }
        let table = match navigation {
            Navigation::Table(table) => table,
            Navigation::Steps(steps) => {
                return steps.get(self.requests as usize).map(|step| Step::Visit(step.page));
            }
        };
        match table.draw(self.page(), rng) {
            Move::Page(page) => Some(Step::Visit(page)),
            Move::Stay => Some(Step::Again),
            Move::Back => Some(Step::Back),
            Move::End => None,
        }
    }

    /// Goes to a page.
    pub fn visit(&mut self, page: u16, kept: T) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back((page, kept));
        self.requests += 1;
    }

    /// Makes the last request once more.
    pub fn again(&mut self) {
        self.requests += 1;
    }

    /// Goes one page back, past pages that may not be repeated; to the
    /// start, with nothing in the history, if there is no other.
    pub fn back(&mut self, may_repeat: impl Fn(u16) -> bool) -> Option<&T> {
        self.history.pop_back();
        while self.history.back().is_some_and(|(page, _)| !may_repeat(*page)) {
            self.history.pop_back();
        }
        self.requests += 1;
        self.current()
    }

    /// Puts what is kept into an empty history, after [`Walk::back`] found it
    /// so.
    pub fn restart(&mut self, kept: T) {
        self.history.clear();
        self.history.push_back((self.start, kept));
    }
}

/// A negative exponential number of mean 1, cut at `cap`.
pub fn exponential(cap: f64, rng: &mut Rng) -> f64 {
    let draw: f64 = Exp1.sample(rng);
    draw.min(cap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn back_goes_past_what_may_not_be_sent_again() {
        let mut walk = Walk::new(0);
        for page in [0, 1, 2, 3] {
            walk.visit(page, page);
        }
        assert_eq!(walk.back(|page| page != 2), Some(&1));
        assert_eq!((walk.page(), walk.requests()), (1, 5));
        walk.back(|_| true);
        assert_eq!(walk.back(|_| true), None);
        assert_eq!(walk.page(), 0);
    }

    #[test]
    fn the_history_is_bounded() {
        let mut walk = Walk::new(0);
        (0..1000).for_each(|page| walk.visit(page, ()));
        assert_eq!(walk.history.len(), HISTORY);
        assert_eq!(walk.page(), 999);
    }
}
