//! What a plan is made from: the demand, and what a session costs.

use serde::{Deserialize, Serialize};

use crate::range::Range;

/// An operation of a site.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Operation<N> {
    /// Its name.
    pub name: String,
    /// How often a session has it on average.
    pub per_session: N,
    /// CPU seconds of one on a core of speed 1.
    pub cpu_s: N,
}

/// Demand and costs, of ranges or of fixed values.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inputs<N> {
    /// Customers in session at a time, on average over the first year.
    pub shoppers: N,
    /// The busiest time as a multiple of that.
    pub peak_factor: N,
    /// Growth per year: 0.25 is a quarter more.
    pub growth: N,
    /// Length of a session in seconds.
    pub session_s: N,
    /// Browsing operations for each checkout; overrides how often a session has the checkout.
    pub browse_to_buy: Option<N>,
    /// What a checkout brings.
    pub checkout_value: N,
    /// The operations.
    pub operations: Vec<Operation<N>>,
    /// Index of the checkout in `operations`, if there is one.
    pub checkout: Option<usize>,
}

/// What a session costs.
#[derive(Clone)]
pub(crate) struct Costs {
    pub(crate) operations: Vec<Operation<Range>>,
    /// Its length in seconds, where that was measured.
    pub(crate) session: Option<Range>,
    /// The operation that is a checkout, where it is no name of the file.
    pub(crate) checkout: Option<usize>,
}

impl Inputs<Range> {
    /// Fixed values: `pick` is called once with each input's name and range, always in the same
    /// order.
    pub fn fix(&self, pick: &mut dyn FnMut(&str, &Range) -> f64) -> Inputs<f64> {
        let mut fixed = Inputs {
            shoppers: pick("shoppers", &self.shoppers),
            peak_factor: pick("peak factor", &self.peak_factor),
            growth: pick("growth", &self.growth),
            session_s: pick("session length", &self.session_s),
            browse_to_buy: self.browse_to_buy.map(|it| pick("browse-to-buy ratio", &it)),
            checkout_value: pick("value of a checkout", &self.checkout_value),
            operations: Vec::with_capacity(self.operations.len()),
            checkout: self.checkout,
        };
        for it in &self.operations {
            let per_session = pick(&format!("{} per session", it.name), &it.per_session);
            let cpu_s = pick(&format!("CPU time of {}", it.name), &it.cpu_s);
            fixed.operations.push(Operation { name: it.name.clone(), per_session, cpu_s });
        }
        fixed.apply_ratio();
        fixed
    }

    /// The most likely values.
    pub fn middle(&self) -> Inputs<f64> {
        self.fix(&mut |_, range| range.value)
    }
}

impl Inputs<f64> {
    /// Sets how often a session has the checkout by the browse-to-buy ratio.
    fn apply_ratio(&mut self) {
        let (Some(ratio), Some(checkout)) = (self.browse_to_buy, self.checkout) else { return };
        let browsing = self.operations.iter().enumerate().filter(|(at, _)| *at != checkout);
        let browsing: f64 = browsing.map(|(_, it)| it.per_session).sum();
        self.operations[checkout].per_session = browsing / ratio;
    }

    /// Customers in session at the busiest time of a year, from 0.
    pub fn at_peak(&self, year: u32) -> f64 {
        self.on_average(year) * self.peak_factor
    }

    /// Customers in session on average over a year, from 0.
    pub fn on_average(&self, year: u32) -> f64 {
        self.shoppers * (1.0 + self.growth).powi(year as i32)
    }

    /// Operations of a session.
    pub fn operations_each(&self) -> f64 {
        self.operations.iter().map(|it| it.per_session).sum()
    }

    /// Checkouts of a session; 0 without one among the operations.
    pub fn checkouts_each(&self) -> f64 {
        self.checkout.map_or(0.0, |at| self.operations[at].per_session)
    }

    /// CPU seconds per second of each operation, on cores of speed 1, with so many customers in
    /// session.
    ///
    /// `shoppers / session length · operations per session · cost of one`.
    pub fn busy(&self, shoppers: f64) -> impl Iterator<Item = f64> {
        let sessions_per_s = shoppers / self.session_s;
        self.operations.iter().map(move |it| sessions_per_s * it.per_session * it.cpu_s)
    }

    /// Page views per hour of so many customers.
    pub fn views_per_hour(&self, shoppers: f64) -> f64 {
        shoppers / self.session_s * self.operations_each() * 3600.0
    }

    /// Checkouts per hour of so many customers.
    pub fn checkouts_per_hour(&self, shoppers: f64) -> f64 {
        shoppers / self.session_s * self.checkouts_each() * 3600.0
    }

    /// Checkouts in a year, from 0, of 365 days.
    pub fn checkouts_in(&self, year: u32) -> f64 {
        self.checkouts_per_hour(self.on_average(year)) * 24.0 * 365.0
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// 1,000 customers in sessions of 500 s with ten pages of 10 ms and a checkout of 50 ms in
    /// every tenth session.
    pub(crate) fn shop() -> Inputs<Range> {
        let operation = |name: &str, per_session, cpu_s| Operation {
            name: name.into(),
            per_session: Range::exactly(per_session),
            cpu_s: Range::exactly(cpu_s),
        };
        Inputs {
            shoppers: Range::exactly(1000.0),
            peak_factor: Range::exactly(2.0),
            growth: Range::exactly(0.5),
            session_s: Range::exactly(500.0),
            browse_to_buy: None,
            checkout_value: Range::exactly(80.0),
            operations: vec![operation("browse", 10.0, 0.010), operation("checkout", 0.1, 0.050)],
            checkout: Some(1),
        }
    }

    #[test]
    fn demand_by_hand() {
        let shop = shop().middle();
        // 2,000 customers at the peak of the first year, 4,500 in the third.
        assert_eq!((shop.at_peak(0), shop.at_peak(2)), (2000.0, 4500.0));
        // 2 sessions per second: 20 pages of 10 ms and 0.2 checkouts of 50 ms.
        let busy: Vec<f64> = shop.busy(1000.0).collect();
        assert!((busy[0] - 0.2).abs() < 1e-12 && (busy[1] - 0.01).abs() < 1e-12, "{busy:?}");
        assert!((shop.views_per_hour(1000.0) - 72_720.0).abs() < 1e-6);
        assert!((shop.checkouts_per_hour(1000.0) - 720.0).abs() < 1e-9);
        assert!((shop.checkouts_in(1) - 1.5 * 720.0 * 8760.0).abs() < 1e-3);
    }

    #[test]
    fn a_browse_to_buy_ratio_sets_the_checkouts() {
        let of = Inputs { browse_to_buy: Some(Range::exactly(40.0)), ..shop() };
        assert_eq!(of.middle().checkouts_each(), 0.25);
    }
}
