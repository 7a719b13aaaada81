//! Alternatives under uncertain inputs, ranked by what they may be regretted for.
//!
//! Servers are bought before the demand is known. So each alternative is fixed by one set of
//! inputs, and then judged at many others: what its servers cost, and what is lost where they
//! are too few. The regret of an alternative is what it costs more than the best one would have.
//!
//! Source: Savage 1951, "The Theory of Statistical Decision". Deviation: ranked by the mean regret
//! over the draws; the largest is shown beside it.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};
use tidegate_stats::mean;

use crate::inputs::Inputs;
use crate::overload::Curve;
use crate::partition::{Group, Part};
use crate::plan::{Arrangement, Impossible, Plan, Rules, Year};
use crate::range::Range;

/// Draws of the uncertain inputs.
const DRAWS: usize = 200;
/// Share of the draws whose demand an alternative with reserves serves.
const RESERVE: f64 = 0.9;
/// Points of a curve over the number of customers.
const STEPS: u32 = 40;
/// Share of the draws between the ends of a range.
const WITHIN: f64 = 0.9;

/// A change that makes operations cheaper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Optimisation {
    /// Its name.
    pub name: String,
    /// What it costs once.
    pub price: f64,
    /// Factors on the CPU time of operations.
    pub factors: BTreeMap<String, f64>,
}

/// Everything that alternatives are made of.
#[derive(Clone, Debug)]
pub struct Question {
    /// Demand and costs.
    pub inputs: Inputs<Range>,
    /// What is free to choose.
    pub rules: Rules,
    /// Changes that can be made.
    pub optimisations: Vec<Optimisation>,
    /// What a site completes beyond its capacity, without the gate and with it.
    pub without_gate: Curve,
    /// See `without_gate`.
    pub with_gate: Curve,
    /// Whether the gate stands before the site.
    pub gate: bool,
    /// Hours of a year at its busiest.
    pub peak_hours: f64,
    /// Share of lost revenue that counts as a loss, 0 to 1.
    pub margin: f64,
    /// Seed of the draws.
    pub seed: u64,
}

/// A way to serve the demand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Whether operations are apart.
    pub arrangement: Arrangement,
    /// Whether it has reserves for more demand than expected.
    pub reserve: bool,
    /// Names of the optimisations that it makes.
    pub optimisations: Vec<String>,
    /// Its servers and their cost, at the inputs that it was made for.
    pub plan: Plan,
    /// What its optimisations cost once.
    pub optimised_for: f64,
    /// Mean over the draws of what it costs more than the best alternative.
    pub regret: f64,
    /// The largest of these.
    pub largest_regret: f64,
    /// Mean over the draws of the revenue that is lost at the busiest times, all years together.
    pub lost: f64,
}

impl Alternative {
    /// What servers and optimisations cost in all years.
    pub fn spent(&self) -> f64 {
        self.plan.spent + self.optimised_for
    }
}

/// How much an input moves the cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Swing {
    /// Name of the input.
    pub input: String,
    /// Cost per year at its lower and its upper bound, the others at their most likely values.
    pub per_year: (f64, f64),
}

impl Swing {
    /// The difference.
    pub fn width(&self) -> f64 {
        (self.per_year.1 - self.per_year.0).abs()
    }
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The alternatives, that with the least regret first.
    pub alternatives: Vec<Alternative>,
    /// Servers in the last year that the first alternative would need, over the draws: 5th to 95th
    /// percentile.
    pub servers: (f64, f64),
    /// The same of its cost per year.
    pub per_year: (f64, f64),
    /// The uncertain inputs, those that move the cost most first.
    pub swings: Vec<Swing>,
    /// What each optimisation alone saves in all years, after its price, with the arrangement of
    /// the first alternative; negative where it does not pay.
    pub savings: Vec<(String, f64)>,
    /// Cost per year of either arrangement by customers in session at the busiest time of the last
    /// year, with the optimisations of the first alternative.
    pub by_shoppers: Vec<(Arrangement, Vec<(f64, f64)>)>,
}

impl Question {
    /// Makes the alternatives, and ranks them.
    ///
    /// # Errors
    /// There is no plan at all, not even with everything together.
    pub fn answer(&self) -> Result<Answer, Impossible> {
        let middle = self.inputs.middle();
        let draws = self.draws();
        let mut alternatives = self.candidates(&middle, &self.upper(&draws))?;
        self.judge(&mut alternatives, &draws);
        alternatives.sort_by(|a, b| a.regret.total_cmp(&b.regret));
        let first = &alternatives[0];
        let groups = groups_of(&first.plan);
        let changed = |inputs: &Inputs<f64>| self.optimised(inputs, &first.optimisations);
        let of = |inputs: &Inputs<f64>| self.rules.staff(&changed(inputs), &groups);
        let plans: Vec<Plan> = draws.iter().map(of).collect::<Result<_, _>>()?;
        let servers = plans.iter().filter_map(|plan| plan.years.last());
        let servers = ends(servers.map(|year| f64::from(year.servers())).collect());
        let per_year = ends(plans.iter().map(|plan| plan.per_year).collect());
        let swings = self.swings(&of)?;
        let savings = self.savings(&middle, first.arrangement)?;
        let by_shoppers = self.by_shoppers(&changed(&middle));
        Ok(Answer { servers, per_year, swings, savings, by_shoppers, alternatives })
    }

    /// What more and fewer customers cost, from none to twice as many as are expected.
    fn by_shoppers(&self, inputs: &Inputs<f64>) -> Vec<(Arrangement, Vec<(f64, f64)>)> {
        let last = self.rules.last();
        let rules = Rules { have: Vec::new(), ..self.rules.clone() };
        let point = |arrangement, step: u32| {
            let shoppers = inputs.shoppers * 2.0 * f64::from(step) / f64::from(STEPS);
            let inputs = Inputs { shoppers, ..inputs.clone() };
            let plan = rules.plan(&inputs, arrangement).ok()?;
            Some((inputs.at_peak(last), plan.per_year))
        };
        let line = |arrangement| {
            let points: Vec<_> = (1..=STEPS).filter_map(|step| point(arrangement, step)).collect();
            (arrangement, points)
        };
        let lines = [Arrangement::Mixed, Arrangement::Partitioned].map(line);
        lines.into_iter().filter(|(_, points)| !points.is_empty()).collect()
    }

    /// Every way to serve the demand, without those that are the same.
    fn candidates(
        &self,
        middle: &Inputs<f64>,
        upper: &Inputs<f64>,
    ) -> Result<Vec<Alternative>, Impossible> {
        let mut changes: Vec<Vec<String>> = vec![Vec::new()];
        changes.extend(self.optimisations.iter().map(|it| vec![it.name.clone()]));
        if self.optimisations.len() > 1 {
            changes.push(self.optimisations.iter().map(|it| it.name.clone()).collect());
        }
        let mut found: Vec<Alternative> = Vec::new();
        let mut why = None;
        for optimisations in &changes {
            for arrangement in [Arrangement::Mixed, Arrangement::Partitioned] {
                for (inputs, reserve) in [(middle, false), (upper, true)] {
                    let plan = self.rules.plan(&self.optimised(inputs, optimisations), arrangement);
                    let plan = match plan {
                        Ok(plan) => plan,
                        Err(error) => {
                            why.get_or_insert(error);
                            continue;
                        }
                    };
                    let same = |it: &Alternative| {
                        it.optimisations == *optimisations
                            && it
                                .plan
                                .years
                                .iter()
                                .map(|it| &it.groups)
                                .eq(plan.years.iter().map(|it| &it.groups))
                    };
                    if !found.iter().any(same) {
                        found.push(Alternative {
                            arrangement,
                            reserve,
                            optimisations: optimisations.clone(),
                            plan,
                            optimised_for: self.price(optimisations),
                            regret: 0.0,
                            largest_regret: 0.0,
                            lost: 0.0,
                        });
                    }
                }
            }
        }
        match (found.is_empty(), why) {
            (true, Some(why)) => Err(why),
            _ => Ok(found),
        }
    }

    /// Sets regret and loss of each alternative.
    fn judge(&self, alternatives: &mut [Alternative], draws: &[Inputs<f64>]) {
        let lost = |it: &Alternative, draw: &Inputs<f64>| {
            let draw = self.optimised(draw, &it.optimisations);
            it.plan.years.iter().map(|year| self.lost(&draw, year)).sum::<f64>()
        };
        let losses: Vec<Vec<f64>> = alternatives
            .iter()
            .map(|it| draws.iter().map(|draw| lost(it, draw)).collect())
            .collect();
        let cost =
            |at: usize, draw: usize| alternatives[at].spent() + self.margin * losses[at][draw];
        let best: Vec<f64> = (0..draws.len())
            .map(|draw| {
                (0..alternatives.len()).map(|at| cost(at, draw)).fold(f64::INFINITY, f64::min)
            })
            .collect();
        let regrets: Vec<Vec<f64>> = (0..alternatives.len())
            .map(|at| (0..draws.len()).map(|draw| cost(at, draw) - best[draw]).collect())
            .collect();
        for (at, it) in alternatives.iter_mut().enumerate() {
            it.regret = mean(regrets[at].iter().copied()).unwrap_or_default();
            it.largest_regret = regrets[at].iter().copied().fold(0.0, f64::max);
            it.lost = mean(losses[at].iter().copied()).unwrap_or_default();
        }
    }

    /// Revenue that the servers of a year lose at its busiest times, at these inputs.
    fn lost(&self, inputs: &Inputs<f64>, year: &Year) -> f64 {
        let shoppers = inputs.at_peak(year.year);
        let load = |group: &Group| {
            let server = self.rules.types.iter().find(|it| it.name == group.server)?;
            let busy = Part::of(inputs, shoppers, &group.operations).busy_on(server)?;
            Some(busy / (f64::from(group.servers) * server.cores))
        };
        // A session needs every group.
        let load = year.groups.iter().filter_map(load).fold(0.0, f64::max);
        if load <= 1.0 {
            return 0.0;
        }
        let curve = if self.gate { &self.with_gate } else { &self.without_gate };
        let share = 1.0 - curve.completed(load) / load;
        share * inputs.checkouts_per_hour(shoppers) * inputs.checkout_value * self.peak_hours
    }

    /// These inputs with the costs after some optimisations.
    fn optimised(&self, inputs: &Inputs<f64>, names: &[String]) -> Inputs<f64> {
        let mut inputs = inputs.clone();
        for it in self.optimisations.iter().filter(|it| names.contains(&it.name)) {
            for operation in &mut inputs.operations {
                operation.cpu_s *= it.factors.get(&operation.name).copied().unwrap_or(1.0);
            }
        }
        inputs
    }

    fn price(&self, names: &[String]) -> f64 {
        let made = self.optimisations.iter().filter(|it| names.contains(&it.name));
        made.map(|it| it.price).sum()
    }

    /// Draws of the inputs: a Latin hypercube, so that each input is spread evenly over its range.
    ///
    /// Source: McKay, Beckman and Conover 1979, "A Comparison of Three Methods for Selecting Values
    /// of Input Variables".
    fn draws(&self) -> Vec<Inputs<f64>> {
        let mut random = StdRng::seed_from_u64(self.seed);
        let mut columns: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        let mut column = |name: &str| {
            let mut column: Vec<f64> = (0..DRAWS)
                .map(|stratum| (stratum as f64 + random.random_range(0.0..1.0)) / DRAWS as f64)
                .collect();
            column.shuffle(&mut random);
            columns.insert(name.to_owned(), column);
            0.0
        };
        self.inputs.fix(&mut |name, _| column(name));
        let at =
            |draw: usize| self.inputs.fix(&mut |name, range| range.quantile(columns[name][draw]));
        (0..DRAWS).map(at).collect()
    }

    /// The draw whose work at the busiest time of the last year is more than that of most.
    fn upper(&self, draws: &[Inputs<f64>]) -> Inputs<f64> {
        let last = self.rules.last();
        let work = |inputs: &Inputs<f64>| inputs.busy(inputs.at_peak(last)).sum::<f64>();
        let mut by_work: Vec<&Inputs<f64>> = draws.iter().collect();
        by_work.sort_by(|a, b| work(a).total_cmp(&work(b)));
        by_work[((RESERVE * DRAWS as f64) as usize).min(DRAWS - 1)].clone()
    }

    fn swings(
        &self,
        plan: &impl Fn(&Inputs<f64>) -> Result<Plan, Impossible>,
    ) -> Result<Vec<Swing>, Impossible> {
        let mut uncertain = Vec::new();
        self.inputs.fix(&mut |name, range| {
            if !range.is_exact() {
                uncertain.push(name.to_owned());
            }
            range.value
        });
        let mut swings = Vec::new();
        for input in uncertain {
            let per_year = |end: fn(&Range) -> f64| {
                let inputs = self.inputs.fix(&mut |name, range| {
                    if name == input { end(range) } else { range.value }
                });
                plan(&inputs).map(|plan| plan.per_year)
            };
            let per_year = (per_year(|range| range.low)?, per_year(|range| range.high)?);
            swings.push(Swing { input, per_year });
        }
        swings.sort_by(|a, b| b.width().total_cmp(&a.width()));
        Ok(swings)
    }

    fn savings(
        &self,
        middle: &Inputs<f64>,
        arrangement: Arrangement,
    ) -> Result<Vec<(String, f64)>, Impossible> {
        let before = self.rules.plan(middle, arrangement)?.spent;
        let saved = |it: &Optimisation| {
            let inputs = self.optimised(middle, std::slice::from_ref(&it.name));
            let after = self.rules.plan(&inputs, arrangement)?.spent;
            Ok((it.name.clone(), before - after - it.price))
        };
        self.optimisations.iter().map(saved).collect()
    }
}

/// The groups of operations of a plan.
fn groups_of(plan: &Plan) -> Vec<Vec<String>> {
    let groups = plan.years.first().map(|year| year.groups.as_slice()).unwrap_or_default();
    groups.iter().map(|group| group.operations.clone()).collect()
}

/// The ends of the range that has [`WITHIN`] of these values.
fn ends(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    // One of the draws: servers are whole.
    let at = |share: f64| values[(share * (values.len() - 1) as f64).round() as usize];
    (at((1.0 - WITHIN) / 2.0), at(f64::midpoint(1.0, WITHIN)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inputs::tests::shop;
    use crate::plan::tests::rules;
    use crate::servers::tests::server;

    fn question(shoppers: Range) -> Question {
        Question {
            inputs: Inputs { shoppers, ..shop() },
            rules: rules(vec![server("usual", 1000.0, 0.1)]),
            optimisations: Vec::new(),
            without_gate: Curve::through(vec![(1.0, 1.0), (2.0, 0.1)]).unwrap(),
            with_gate: Curve::through(vec![(1.0, 1.0), (4.0, 0.95)]).unwrap(),
            gate: false,
            peak_hours: 100.0,
            margin: 1.0,
            seed: 1,
        }
    }

    #[test]
    fn draws_spread_each_input_over_its_range_and_follow_from_the_seed() {
        let question = question(Range::between(500.0, 1500.0));
        let draws = question.draws();
        assert_eq!(draws.len(), DRAWS);
        let mut shoppers: Vec<f64> = draws.iter().map(|it| it.shoppers).collect();
        shoppers.sort_by(f64::total_cmp);
        let (low, high) = (shoppers[0], shoppers[DRAWS - 1]);
        assert!(low < 555.0 && high > 1445.0 && (shoppers[DRAWS / 2] - 1000.0).abs() < 10.0);
        assert_eq!(draws, question.draws());
        assert!(draws.iter().all(|it| it.session_s == 500.0));
    }

    #[test]
    fn reserves_are_regretted_least_where_a_shortage_costs_more_than_servers() {
        // Twice the cores that are busy are planned for, so only far more demand is too much.
        let dear = question(Range { value: 1000.0, low: 500.0, high: 6000.0 });
        let answer = dear.answer().unwrap();
        assert!(answer.alternatives[0].reserve && answer.alternatives.len() == 2);
        assert!(answer.alternatives[0].regret < answer.alternatives[1].regret);
        let cheap = Question { margin: 0.0, ..dear };
        let answer = cheap.answer().unwrap();
        assert!(!answer.alternatives[0].reserve, "{answer:?}");
        assert_eq!(answer.alternatives[0].regret, 0.0);
    }

    #[test]
    fn a_gate_makes_a_shortage_cheaper() {
        let without = question(Range { value: 1000.0, low: 500.0, high: 6000.0 });
        let with = Question { gate: true, ..without.clone() };
        let lost = |question: &Question| {
            let answer = question.answer().unwrap();
            answer.alternatives.into_iter().find(|it| !it.reserve).unwrap().lost
        };
        assert!(lost(&with) < 0.7 * lost(&without), "{} {}", lost(&with), lost(&without));
    }

    #[test]
    fn the_input_with_the_widest_effect_comes_first() {
        let mut question = question(Range::between(900.0, 1100.0));
        question.inputs.growth = Range::between(0.0, 1.0);
        question.inputs.checkout_value = Range::between(1.0, 1000.0);
        let swings = question.answer().unwrap().swings;
        let names: Vec<&str> = swings.iter().map(|it| it.input.as_str()).collect();
        assert_eq!(names, ["growth", "shoppers", "value of a checkout"]);
        assert_eq!(swings[2].width(), 0.0, "what a checkout brings buys no server");
    }

    #[test]
    fn an_optimisation_saves_what_it_saves_less_its_price() {
        let mut question = question(Range::exactly(1000.0));
        let halved = |name: &str, price| Optimisation {
            name: name.into(),
            price,
            factors: [("browse".into(), 0.5), ("checkout".into(), 0.5)].into(),
        };
        question.optimisations = vec![halved("cache", 1000.0), halved("rewrite", 90_000.0)];
        let answer = question.answer().unwrap();
        // 11 servers in the last year become 6 (4.725 cores twice in pairs, and one more).
        assert_eq!(answer.savings, [("cache".into(), 4000.0), ("rewrite".into(), -85_000.0)]);
        assert_eq!(answer.alternatives[0].optimisations, ["cache"]);
        assert_eq!(answer.servers, (6.0, 6.0));
    }

    #[test]
    fn the_same_question_has_the_same_answer() {
        let question = question(Range::between(500.0, 3000.0));
        assert_eq!(question.answer().unwrap(), question.answer().unwrap());
    }
}
