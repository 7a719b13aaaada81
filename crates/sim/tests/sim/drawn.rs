//! Some of the scenarios that are drawn at random, played under the default policy.

use tidegate_sim::{Outcome, Scenario, policies, run};

/// So much of the best it carries of each at twice the capacity, well below what it
/// does: a scenario that nobody tuned anything on may be a bad one.
const LEAST: f64 = 0.3;

fn played(scenario: &Scenario, load: f64) -> Outcome {
    let mut policy = policies::named("tide", scenario).expect("it is the default");
    run(scenario, load, 1, policy.as_mut())
}

#[test]
fn in_drawn_scenarios_the_books_balance_and_most_of_the_best_is_carried() {
    let mut goodput = Vec::new();
    for number in 1..=8 {
        let (scenario, file) = Scenario::drawn(number);
        let outcome = played(&scenario, 2.0);
        let share = outcome.goodput().expect("customers came");
        assert!(share > LEAST, "drawn-{number}: {share}\n{file}");
        goodput.push(share);
        assert!(outcome.wasted_cpu_s <= outcome.cpu_s, "drawn-{number}");

        let whole = Scenario { watch_from_s: 0.0, ..scenario };
        let outcome = played(&whole, 2.0);
        let Outcome { offered, admitted, refused, completed, abandoned, .. } = outcome;
        assert!(
            admitted + refused <= offered,
            "drawn-{number}: {admitted} + {refused} of {offered}"
        );
        assert!(completed + abandoned <= admitted, "drawn-{number}: {completed} + {abandoned}");
    }
    let mean = goodput.iter().sum::<f64>() / goodput.len() as f64;
    assert!(mean > 0.75, "{goodput:?}");
}
