//! Claims about the fits, with the figures of a paper and of synthetic curves.

use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};

use super::*;

const DRAWS: Fitting = Fitting {
    single: Single::Fitted,
    errors: Errors::Alike,
    bootstrap: Bootstrap { draws: 200, seed: 7 },
};
/// As speed-ups are stated: relative to one processor, with relative errors.
const SPEED_UP: Fitting =
    Fitting { single: Single::Given(90.0), errors: Errors::InProportion, ..DRAWS };

/// Replies per second of a Tomcat server by its processors.
///
/// Source: Guitart, Carrera, Beltran, Torres and Ayguadé 2007, "Designing an overload control
/// strategy for secure e-commerce applications", Table 1.
const TABLE_1: [(f64, f64); 4] = [(1.0, 90.0), (2.0, 155.0), (3.0, 208.0), (4.0, 256.0)];

fn points(of: &[(f64, f64)]) -> Vec<ScalePoint> {
    of.iter().map(|&(n, throughput)| ScalePoint { n, throughput }).collect()
}

fn of_curve(curve: Curve, loads: &[f64]) -> Vec<ScalePoint> {
    let at = |n: &f64| (*n, curve.throughput(*n).unwrap());
    points(&loads.iter().map(at).collect::<Vec<_>>())
}

fn close(actual: f64, expected: f64, by: f64) {
    assert!((actual - expected).abs() <= by, "{actual} is not {expected}");
}

#[test]
fn table_1_has_contention_0_19_and_a_coherency_that_is_not_physical() {
    let fit = universal_scalability(&points(&TABLE_1), SPEED_UP).unwrap();
    close(fit.contention.value, 0.19, 0.005);
    close(fit.coherency.unwrap().value, -0.013, 0.0005);
    assert_eq!(fit.unphysical, [Unphysical::NegativeCoherency]);
    assert_eq!((fit.peak_at, fit.peak), (None, None));
    assert!(fit.largest_error < 0.005, "{}", fit.largest_error);
}

#[test]
fn amdahl_of_table_1_has_0_14_and_comes_within_1_7_percent_of_each_point() {
    let fit = amdahl(&points(&TABLE_1), SPEED_UP).unwrap();
    close(fit.contention.value, 0.14, 0.005);
    assert!(fit.largest_error <= 0.017, "{}", fit.largest_error);
    assert!(fit.unphysical.is_empty() && fit.coherency.is_none());
    // 90 / 0.14: what it approaches with ever more processors.
    close(fit.peak.unwrap(), 90.0 / fit.contention.value, 1e-9);
    assert!(fit.contention.low < 0.14 && 0.14 < fit.contention.high);
}

#[test]
fn noise_widens_the_bounds_and_they_cover_the_coefficients_in_most_cases() {
    let curve = Curve { single: 50.0, contention: 0.05, coherency: 0.001 };
    let loads = [1.0, 2.0, 4.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0];
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let (mut covered, cases) = (0, 60);
    for _ in 0..cases {
        let mut noisy = of_curve(curve, &loads);
        for point in &mut noisy {
            let noise: f64 = StandardNormal.sample(&mut random);
            point.throughput += 8.0 * noise;
        }
        let fit = universal_scalability(&noisy, DRAWS).unwrap();
        let within = |of: Coefficient, value: f64| of.low <= value && value <= of.high;
        covered +=
            usize::from(within(fit.contention, 0.05) && within(fit.coherency.unwrap(), 0.001));
        assert!(fit.contention.low < fit.contention.high);
    }
    // Both at once in fewer than 95 %: the percentile interval of ten points is a little narrow.
    assert!(covered >= 45, "{covered} of {cases}");
}

#[test]
fn the_same_seed_gives_the_same_bounds_and_another_seed_others() {
    let of = |seed| {
        let bootstrap = Bootstrap { draws: 100, seed };
        amdahl(&points(&TABLE_1), Fitting { bootstrap, ..DRAWS }).unwrap()
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).contention.low, of(2).contention.low);
}

#[test]
fn the_peak_is_where_the_curve_turns() {
    let curve = Curve { single: 10.0, contention: 0.0, coherency: 0.01 };
    let fit = universal_scalability(&of_curve(curve, &[1.0, 3.0, 7.0, 12.0, 20.0]), DRAWS).unwrap();
    // √(1 / 0.01) = 10; X = 100 / 1.9.
    close(fit.peak_at.unwrap(), 10.0, 1e-3);
    close(fit.peak.unwrap(), 100.0 / 1.9, 1e-4);
    close(fit.throughput(20.0).unwrap(), 200.0 / 4.8, 1e-4);
    close(fit.r_squared, 1.0, 1e-9);
}

#[test]
fn growth_beyond_the_load_is_reported_as_negative_contention() {
    let curve = Curve { single: 10.0, contention: -0.02, coherency: 0.001 };
    let superlinear = of_curve(curve, &[1.0, 4.0, 8.0, 16.0, 32.0]);
    let fit = universal_scalability(&superlinear, DRAWS).unwrap();
    assert_eq!(fit.unphysical, [Unphysical::NegativeContention]);
    assert!(fit.unphysical[0].in_words().contains("negative"));
}

#[test]
fn too_few_equal_or_empty_points_are_errors_in_words() {
    let usl = |of: &[(f64, f64)]| universal_scalability(&points(of), DRAWS);
    let text = |of: &[(f64, f64)]| usl(of).unwrap_err().to_string();
    assert!(text(&[]).starts_with("0 different loads are too few for 3 coefficients"));
    assert!(text(&TABLE_1[..3]).contains("measure at least 4"));
    assert!(
        text(&[(2.0, 5.0); 20]).starts_with("1 different loads"),
        "{}",
        text(&[(2.0, 5.0); 20])
    );
    let nothing = [(1.0, 0.0), (2.0, 0.0), (3.0, 0.0), (4.0, 0.0), (5.0, 1.0)];
    assert_eq!(usl(&nothing), Err(ScaleError::Degenerate));
    for (n, throughput) in
        [(f64::NAN, 1.0), (1.0, f64::NAN), (0.0, 1.0), (f64::INFINITY, 1.0), (1.0, -1.0)]
    {
        let mut all = TABLE_1.to_vec();
        all.push((n, throughput));
        assert!(text(&all).starts_with("point 4 (load"), "{}", text(&all));
    }
    let shares = Fitting { errors: Errors::InProportion, ..DRAWS };
    let shares = universal_scalability(&points(&nothing), shares);
    assert_eq!(shares, Err(ScaleError::NoShare(0)));
    let given =
        |single| amdahl(&points(&TABLE_1), Fitting { single: Single::Given(single), ..DRAWS });
    assert_eq!(given(0.0), Err(ScaleError::Single(0.0)));
    assert!(given(f64::NAN).is_err());
}

#[test]
fn the_point_of_one_tells_nothing_where_its_throughput_is_given() {
    let usl = universal_scalability(&points(&TABLE_1[..3]), SPEED_UP);
    assert_eq!(usl, Err(ScaleError::TooFew { have: 2, coefficients: 2, need: 3 }));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn exact_points_give_back_their_coefficients(
        single in 1e-3f64..1e6,
        contention in 0.0f64..0.9,
        coherency in 0.0f64..0.05,
        first in 0.2f64..3.0,
    ) {
        let curve = Curve { single, contention, coherency };
        let loads: Vec<f64> = (0..8).map(|step| first * 1.7f64.powi(step)).collect();
        let few = Fitting { bootstrap: Bootstrap { draws: 5, seed: 1 }, ..DRAWS };
        let fit = universal_scalability(&of_curve(curve, &loads), few).unwrap();
        prop_assert!((fit.contention.value - contention).abs() < 1e-4, "{fit:?}");
        prop_assert!((fit.coherency.unwrap().value - coherency).abs() < 1e-4, "{fit:?}");
        prop_assert!((fit.single.value / single - 1.0).abs() < 1e-3, "{fit:?}");
        prop_assert!(fit.largest_error < 1e-4);
    }

    #[test]
    fn no_points_cause_a_panic_or_figures_that_are_not_numbers(
        of in prop::collection::vec((any_value(), any_value()), 0..12),
        given in prop::option::of(any_value()),
        coherency in any::<bool>(),
        alike in any::<bool>(),
    ) {
        let fitting = Fitting {
            single: given.map_or(Single::Fitted, Single::Given),
            errors: if alike { Errors::Alike } else { Errors::InProportion },
            bootstrap: Bootstrap { draws: 10, seed: 1 },
        };
        if let Ok(fit) = super::fit(&points(&of), coherency, fitting) {
            prop_assert!(fit.single.value.is_finite() && fit.contention.value.is_finite());
            prop_assert!(!fit.largest_error.is_nan() && !fit.r_squared.is_nan());
        }
    }
}

/// Usual values, and those that arithmetic stumbles over.
fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => 0.0f64..1000.0,
        1 => any::<f64>(),
        1 => prop::sample::select(vec![0.0, 1.0, -1.0, 1e-300, 1e9, 1e12, f64::MAX, f64::NAN]),
    ]
}
