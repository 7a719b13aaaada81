//! Customers whose handshakes cost different amounts: what is carried while the mixture
//! changes, and who gets in.

use tidegate_sim::{Outcome, Scenario, policies, run};

/// A run of a scenario of the catalogue, in which each class comes from a prefix of its own.
fn outcome(name: &str, policy: &str, load: f64) -> Outcome {
    let mut scenario = Scenario::named(name).expect("it is in the catalogue");
    for (place, class) in scenario.customers.iter_mut().enumerate() {
        class.prefix = Some(place as u8);
    }
    let mut policy = policies::named(policy, &scenario).expect("it is a policy");
    run(&scenario, load, 1, policy.as_mut())
}

/// What was carried in these seconds, as a share of the best.
fn carried(outcome: &Outcome, seconds: std::ops::Range<usize>) -> f64 {
    let tenths = &outcome.course[seconds.start * 10..seconds.end * 10];
    let carried: f64 = tenths.iter().map(|tenth| tenth.carried).sum();
    carried / tenths.iter().map(|tenth| tenth.best).sum::<f64>()
}

/// The share of the customers of a class who were served.
fn served(outcome: &Outcome, class: usize) -> f64 {
    outcome.by_prefix[class].served() / outcome.by_prefix[class].offered as f64
}

#[test]
fn a_mixture_that_changes_is_charged_what_it_costs_at_once() {
    // At 12 s all come with RSA-4096 and certificates, at 20 s all with ECDSA.
    for load in [4.0, 10.0] {
        let tide = outcome("handshake-kinds", "tide", load);
        for change in [12, 20] {
            let carried = carried(&tide, change..change + 2);
            assert!(carried > 0.95, "{load}x: {carried} from {change} s on");
        }
        // An average follows by hundreds of handshakes, and charges too much until then.
        let average = outcome("handshake-kinds", "average-price", load);
        let carried = carried(&average, 20..22);
        assert!(carried < 0.75, "{load}x: {carried} by the average");
    }
}

#[test]
fn no_kind_of_handshake_is_preferred() {
    for load in [2.0, 4.0, 10.0] {
        // ECDSA, ML-DSA, and ML-DSA with certificates of customers.
        let tide = outcome("post-quantum", "tide", load);
        let shares = [0, 1, 2].map(|class| served(&tide, class));
        let all = shares.iter().copied();
        let (least, most) = (all.clone().fold(1.0, f64::min), all.fold(0.0, f64::max));
        assert!(least / most > 0.9, "{load}x: {shares:?}");
        let cheapest = outcome("post-quantum", "cheapest-first", load);
        assert!(served(&cheapest, 2) < 0.02, "{load}x: those with certificates get nothing");
        // It serves more customers, and carries no more work.
        assert!(cheapest.completed > tide.completed);
        assert!(cheapest.goodput() < tide.goodput().map(|goodput| goodput + 0.02));
    }
}
