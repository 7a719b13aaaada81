//! Servers and money, year by year.

use serde::{Deserialize, Serialize};

use crate::inputs::Inputs;
use crate::partition::{Group, MOST, Part, cheapest, group};
use crate::servers::{MOST_SERVERS, ServerType, Staffing};

/// What a plan is free to choose, and what it must keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// Years to plan for, at least 1.
    pub years: u32,
    /// Spare servers and cores.
    pub staffing: Staffing,
    /// What can be bought, at least one type.
    pub types: Vec<ServerType>,
    /// The operations that may get servers of their own.
    pub may_split: Vec<String>,
    /// Servers that are there already.
    pub have: Vec<Have>,
}

/// Servers that are there already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Have {
    /// Their type.
    pub server: String,
    /// Their number.
    pub servers: u32,
}

/// Whether operations are apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrangement {
    /// Every server serves every operation.
    Mixed,
    /// Groups of operations have servers of their own, as is cheapest.
    Partitioned,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// No type of server serves these operations together.
    Unserved(Vec<String>),
    /// More operations may be split off than can be tried.
    TooMany(usize),
    /// A group needs more servers than anybody has.
    TooLarge,
}

/// A plan: what is bought when, and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The years, from the first.
    pub years: Vec<Year>,
    /// Everything that is spent on servers in all years.
    pub spent: f64,
    /// The same per year.
    pub per_year: f64,
    /// The same per customer in session at the peak of the last year.
    pub per_shopper: f64,
    /// The same per checkout in all years; none without checkouts.
    pub per_checkout: Option<f64>,
}

/// A year of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Year {
    /// From 0.
    pub year: u32,
    /// Customers in session at its busiest time.
    pub shoppers: f64,
    /// Page views per hour at that time.
    pub views_per_hour: f64,
    /// Checkouts per hour at that time.
    pub orders_per_hour: f64,
    /// The servers, by group.
    pub groups: Vec<Group>,
    /// Servers that are bought at its beginning, by type.
    pub bought: Vec<Have>,
    /// What is spent on servers in it: those bought, and the yearly cost of all.
    pub spent: f64,
    /// What its checkouts bring.
    pub revenue: f64,
}

impl Year {
    /// All its servers.
    pub fn servers(&self) -> u32 {
        self.groups.iter().map(|group| group.servers).sum()
    }
}

impl Rules {
    /// The operations that share servers: all of them, or the groups that are cheapest in the last
    /// year.
    ///
    /// # Errors
    /// [`Impossible`].
    pub fn groups(
        &self,
        inputs: &Inputs<f64>,
        arrangement: Arrangement,
    ) -> Result<Vec<Vec<String>>, Impossible> {
        let parts = self.parts(inputs, inputs.at_peak(self.last()));
        match arrangement {
            Arrangement::Mixed => {
                Ok(vec![inputs.operations.iter().map(|it| it.name.clone()).collect()])
            }
            Arrangement::Partitioned if parts.len() > MOST => Err(Impossible::TooMany(parts.len())),
            Arrangement::Partitioned => {
                let found = cheapest(&parts, &self.types, self.staffing);
                let found = found.ok_or_else(|| self.unserved(&parts))?;
                Ok(found.into_iter().map(|group| group.operations).collect())
            }
        }
    }

    /// Plans with fixed inputs. The groups stay the same in all years: a site is not rebuilt every
    /// year. What has to be bought is what a year needs beyond what is there.
    ///
    /// # Errors
    /// [`Impossible`].
    pub fn plan(&self, inputs: &Inputs<f64>, arrangement: Arrangement) -> Result<Plan, Impossible> {
        self.staff(inputs, &self.groups(inputs, arrangement)?)
    }

    /// The servers that these groups of operations need: for each group the type that costs least
    /// over all years.
    ///
    /// # Errors
    /// [`Impossible::Unserved`].
    pub fn staff(&self, inputs: &Inputs<f64>, groups: &[Vec<String>]) -> Result<Plan, Impossible> {
        let of = |operations: &Vec<String>| {
            let courses = self.types.iter().filter_map(|it| self.course(inputs, operations, it));
            let cost = |it: &Course<'_>| {
                let needed = it.years.iter().map(|group| group.servers);
                Stock::of(it.server, &self.have).spent(needed)
            };
            let best = courses.min_by(|a, b| cost(a).total_cmp(&cost(b)));
            best.ok_or_else(|| Impossible::Unserved(operations.clone()))
        };
        let courses: Vec<Course<'_>> = groups.iter().map(of).collect::<Result<_, _>>()?;
        if courses.iter().flat_map(|it| &it.years).any(|it| it.servers >= MOST_SERVERS) {
            return Err(Impossible::TooLarge);
        }
        let mut stocks: Vec<Stock<'_>> =
            self.types.iter().map(|it| Stock::of(it, &self.have)).collect();
        let years: Vec<Year> = (0..=self.last())
            .map(|year| {
                let groups = courses.iter().map(|it| it.years[year as usize].clone()).collect();
                self.year(inputs, year, groups, &mut stocks)
            })
            .collect();
        let spent: f64 = years.iter().map(|year| year.spent).sum();
        let checkouts: f64 = years.iter().map(|year| inputs.checkouts_in(year.year)).sum();
        Ok(Plan {
            spent,
            per_year: spent / years.len() as f64,
            per_shopper: spent / inputs.at_peak(self.last()),
            per_checkout: (checkouts > 0.0).then_some(spent / checkouts),
            years,
        })
    }

    /// The last year, from 0.
    pub(crate) fn last(&self) -> u32 {
        self.years.saturating_sub(1)
    }

    /// A group on servers of a type, year by year; `None` if it cannot serve all of it.
    fn course<'a>(
        &self,
        inputs: &Inputs<f64>,
        operations: &[String],
        server: &'a ServerType,
    ) -> Option<Course<'a>> {
        let year = |year| {
            let part = Part::of(inputs, inputs.at_peak(year), operations);
            group(&[&part], std::slice::from_ref(server), self.staffing)
        };
        let years = (0..=self.last()).map(year).collect::<Option<_>>()?;
        Some(Course { server, years })
    }

    fn year(
        &self,
        inputs: &Inputs<f64>,
        year: u32,
        groups: Vec<Group>,
        stocks: &mut [Stock<'_>],
    ) -> Year {
        let shoppers = inputs.at_peak(year);
        let (mut bought, mut spent) = (Vec::new(), 0.0);
        for stock in stocks {
            let of_type = groups.iter().filter(|it| it.server == stock.server.name);
            let needed: u32 = of_type.map(|it| it.servers).sum();
            let more = stock.need(year, needed);
            if more > 0 {
                bought.push(Have { server: stock.server.name.clone(), servers: more });
            }
            spent += f64::from(more) * stock.server.price;
            spent += f64::from(needed) * stock.server.yearly;
        }
        Year {
            year,
            shoppers,
            views_per_hour: inputs.views_per_hour(shoppers),
            orders_per_hour: inputs.checkouts_per_hour(shoppers),
            groups,
            bought,
            spent,
            revenue: inputs.checkouts_in(year) * inputs.checkout_value,
        }
    }

    /// The operations that may be split off, each by itself, and all others together.
    fn parts(&self, inputs: &Inputs<f64>, shoppers: f64) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut rest = Part { operations: Vec::new(), busy: Vec::new() };
        for (operation, busy) in inputs.operations.iter().zip(inputs.busy(shoppers)) {
            if self.may_split.contains(&operation.name) {
                parts.push(Part { operations: vec![operation.name.clone()], busy: vec![busy] });
            } else {
                rest.operations.push(operation.name.clone());
                rest.busy.push(busy);
            }
        }
        if !rest.operations.is_empty() {
            parts.push(rest);
        }
        parts
    }

    fn unserved(&self, parts: &[Part]) -> Impossible {
        let unserved =
            parts.iter().find(|part| group(&[part], &self.types, self.staffing).is_none());
        Impossible::Unserved(unserved.map(|part| part.operations.clone()).unwrap_or_default())
    }
}

/// A group of operations on servers of one type.
struct Course<'a> {
    server: &'a ServerType,
    years: Vec<Group>,
}

/// The servers of one type that are there, with the years in which they are replaced.
struct Stock<'a> {
    server: &'a ServerType,
    batches: Vec<(u32, f64)>,
}

impl<'a> Stock<'a> {
    /// What is there at the beginning, as if it were new.
    fn of(server: &'a ServerType, have: &[Have]) -> Self {
        let own = have.iter().filter(|it| it.server == server.name);
        let batches = own.map(|it| (it.servers, server.life_years)).collect();
        Self { server, batches }
    }

    /// Buys what a year needs beyond what is there, and returns how many that is.
    fn need(&mut self, year: u32, servers: u32) -> u32 {
        let now = f64::from(year);
        self.batches.retain(|(_, until)| *until > now);
        let there: u32 = self.batches.iter().map(|(count, _)| count).sum();
        let more = servers.saturating_sub(there);
        if more > 0 {
            self.batches.push((more, now + self.server.life_years));
        }
        more
    }

    /// What is spent on so many servers, year by year.
    fn spent(mut self, needed: impl Iterator<Item = u32>) -> f64 {
        let cost = |(year, needed)| {
            let more = self.need(year, needed);
            f64::from(more) * self.server.price + f64::from(needed) * self.server.yearly
        };
        (0..).zip(needed).map(cost).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::headroom::Headroom;
    use crate::inputs::Operation;
    use crate::inputs::tests::shop;
    use crate::range::Range;
    use crate::servers::tests::server;

    pub(crate) fn rules(types: Vec<ServerType>) -> Rules {
        Rules {
            years: 3,
            staffing: Staffing { headroom: Headroom::Use(0.5), redundancy: 1 },
            types,
            may_split: vec!["browse".into(), "checkout".into()],
            have: Vec::new(),
        }
    }

    #[test]
    fn servers_and_money_by_hand() {
        let mut usual = server("usual", 1000.0, 0.1);
        usual.yearly = 100.0;
        // At the peaks of 2,000, 3,000 and 4,500 shoppers a core of speed 1 is busy for 0.42, 0.63
        // and 0.945 s a second, one of a tenth for 4.2, 6.3 and 9.45; twice as many cores in pairs
        // are 5, 7 and 10 servers, with one that may fail 6, 8 and 11.
        let plan = rules(vec![usual]).plan(&shop().middle(), Arrangement::Mixed).unwrap();
        let servers: Vec<u32> = plan.years.iter().map(Year::servers).collect();
        assert_eq!(servers, [6, 8, 11]);
        let bought: Vec<u32> = plan.years.iter().map(|year| year.bought[0].servers).collect();
        assert_eq!(bought, [6, 2, 3]);
        assert_eq!(plan.spent, 11.0 * 1000.0 + 25.0 * 100.0);
        assert!((plan.per_shopper - 13_500.0 / 4500.0).abs() < 1e-9);
        // 720 an hour on average in the first year, then 1,080 and 1,620.
        let checkouts = 3420.0 * 8760.0;
        assert!((plan.per_checkout.unwrap() - 13_500.0 / checkouts).abs() < 1e-12);
        assert!((plan.years[0].revenue - 720.0 * 8760.0 * 80.0).abs() < 1e-3);
    }

    #[test]
    fn a_group_keeps_its_type_of_server_and_worn_ones_are_replaced() {
        let mut small = server("small", 1000.0, 0.1);
        (small.cores, small.life_years) = (2.0, 2.0);
        let mut large = server("large", 5500.0, 0.1);
        (large.cores, large.life_years) = (10.0, 2.0);
        let plan = rules(vec![small, large]).plan(&shop().middle(), Arrangement::Mixed).unwrap();
        // 6, 8 and 11 small ones, or 2, 3 and 3 large ones with one that may fail. What was bought
        // in the first year is bought again in the third: 6 + 2 + (11 − 2), or 2 + 1 + 2.
        let bought: Vec<_> = plan.years.iter().flat_map(|year| year.bought.clone()).collect();
        assert!(bought.iter().all(|it| it.server == "small"), "{bought:?}");
        assert_eq!(bought.iter().map(|it| it.servers).collect::<Vec<_>>(), [6, 2, 9]);
    }

    #[test]
    fn a_plan_that_is_fed_its_own_result_buys_nothing_and_stays_the_same() {
        let mut fast = server("static", 900.0, 0.1);
        (fast.only, fast.speeds) = (vec!["browse".into()], [("browse".into(), 2.0)].into());
        let rules = rules(vec![server("usual", 1000.0, 0.1), fast]);
        let inputs = shop().middle();
        let first = rules.plan(&inputs, Arrangement::Partitioned).unwrap();
        assert_eq!(first.years[2].groups.len(), 2);
        let bought = first.years.iter().flat_map(|year| year.bought.clone());
        let again = Rules {
            have: bought.fold(Vec::new(), |mut have: Vec<Have>, more| {
                match have.iter_mut().find(|it| it.server == more.server) {
                    Some(same) => same.servers += more.servers,
                    None => have.push(more),
                }
                have
            }),
            ..rules
        };
        let second = again.plan(&inputs, Arrangement::Partitioned).unwrap();
        assert!(second.years.iter().all(|year| year.bought.is_empty()));
        for (a, b) in first.years.iter().zip(&second.years) {
            assert_eq!(a.groups, b.groups);
        }
    }

    /// The paper's site as two operations, browsing and checking out, whose costs are those of its
    /// partitioned servers: 10,000 shoppers fill 4.26 % of one, of which we take a tenth of the
    /// capacity that it states, and 150 checkouts a minute fill one.
    #[test]
    fn the_papers_partitions_need_10_and_7_servers() {
        let operation = |name: &str, per_session, cpu_s| Operation {
            name: name.into(),
            per_session: Range::exactly(per_session),
            cpu_s: Range::exactly(cpu_s),
        };
        // A session of 10 minutes with 4 browsing operations and 0.1 checkouts. Two CPUs that serve
        // 10,000 shoppers spend 2 · 600 / 10,000 / 4 s on a browsing operation, two that check out
        // 150 a minute 0.8 s.
        let inputs = Inputs {
            shoppers: Range::exactly(100_000.0),
            peak_factor: Range::exactly(1.0),
            growth: Range::exactly(0.0),
            session_s: Range::exactly(600.0),
            browse_to_buy: Some(Range::exactly(40.0)),
            checkout_value: Range::exactly(250.0),
            operations: vec![operation("browse", 4.0, 0.03), operation("checkout", 0.1, 0.8)],
            checkout: Some(1),
        };
        let mut html = server("HTML", 15_000.0, 1.0);
        html.only = vec!["browse".into()];
        let mut checkout = server("checkout", 15_000.0, 1.0);
        checkout.only = vec!["checkout".into()];
        let rules = Rules {
            years: 1,
            staffing: Staffing { headroom: Headroom::Use(1.0), redundancy: 0 },
            ..rules(vec![html, checkout])
        };
        let plan = rules.plan(&inputs.middle(), Arrangement::Partitioned).unwrap();
        let found: Vec<_> =
            plan.years[0].groups.iter().map(|it| (it.server.as_str(), it.servers)).collect();
        assert_eq!(found, [("HTML", 10), ("checkout", 7)]);
        // 0.1 checkouts in 10 minutes are 14.4 a day; the paper's 1.7 million a day are 17.4.
        assert!((inputs.middle().checkouts_in(0) / 365.0 - 1.44e6).abs() < 1.0);
    }

    #[test]
    fn a_demand_beyond_all_servers_is_refused() {
        let rules = rules(vec![server("usual", 1000.0, 0.1)]);
        let inputs = Inputs { shoppers: 1e15, ..shop().middle() };
        for arrangement in [Arrangement::Mixed, Arrangement::Partitioned] {
            assert_eq!(rules.plan(&inputs, arrangement), Err(Impossible::TooLarge));
        }
    }

    #[test]
    fn an_operation_that_no_server_can_serve_is_named() {
        let mut some = server("some", 1.0, 1.0);
        some.only = vec!["browse".into()];
        let rules = rules(vec![some]);
        for arrangement in [Arrangement::Mixed, Arrangement::Partitioned] {
            let Err(Impossible::Unserved(which)) = rules.plan(&shop().middle(), arrangement) else {
                panic!("a plan")
            };
            assert!(which.contains(&"checkout".to_owned()), "{which:?}");
        }
    }
}
