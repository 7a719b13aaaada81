//! The figures of the commerce site capacity study (Microsoft 1999), computed anew: those that
//! follow from its tables, and those that do not. docs/plan.md explains each.

use tidegate_plan::rising::{Run, linear_part, megacycles};
use tidegate_plan::table::Table;

/// A row of a load table.
struct Row {
    config: String,
    shoppers: f64,
    utilisation: f64,
    requests_per_s: Option<f64>,
    cpus: f64,
    mhz: f64,
    cost: f64,
}

fn rows() -> Vec<Row> {
    let text = include_str!("data/site-server.csv");
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let row = |line: &str| {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |at: usize| fields[at].parse::<f64>().unwrap();
        Row {
            config: fields[0].into(),
            shoppers: number(1),
            utilisation: number(2) / 100.0,
            requests_per_s: fields[5].parse().ok(),
            cpus: number(7),
            mhz: number(8),
            cost: number(9),
        }
    };
    lines.map(row).collect()
}

#[test]
fn every_printed_cost_is_utilisation_times_capacity() {
    let rows = rows();
    assert_eq!(rows.len(), 39, "41 with the two rows without load");
    for row in rows {
        let found = megacycles(row.utilisation, row.cpus, row.mhz);
        assert!((found - row.cost).abs() < 5e-4, "{} {}: {found}", row.config, row.shoppers);
    }
}

#[test]
fn the_table_as_it_stands_gives_the_printed_costs() {
    let names = [
        ("operation", "config"),
        ("per_s", "asp_req_s"),
        ("utilisation_pct", "cpu_util_pct"),
        ("cpus", "cpus"),
        ("mhz", "mcycles_per_cpu"),
    ];
    let names: Vec<_> = names.map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    let table = Table::read(include_str!("data/site-server.csv"), &names).unwrap();
    for (found, row) in table.rows.iter().zip(rows()) {
        assert!((found.megacycles.unwrap() - row.cost).abs() < 5e-4, "line {}", found.line);
    }
    // Of static pages there are connections and no rates.
    let html = table.costs.iter().find(|it| it.operation == "html_partition").unwrap();
    assert_eq!((html.runs, html.linear), (0, None));
    let checkout = table.costs.iter().find(|it| it.operation == "checkout_partition").unwrap();
    assert_eq!(checkout.mhz.map(f64::round), Some(400.0));
    assert!(checkout.linear.unwrap().ends);
}

#[test]
fn the_cost_of_a_request_doubles_along_the_tables_and_is_taken_from_their_linear_part() {
    let rows = rows();
    let of = |config: &str| -> Vec<Run> {
        let own = rows.iter().filter(|row| row.config == config);
        own.filter_map(|row| Some(Run { per_s: row.requests_per_s?, used: row.cost })).collect()
    };
    let each = |runs: &[Run], at: usize| runs[at].used / runs[at].per_s;
    let baseline = of("baseline");
    assert!((each(&baseline, 0) - 44.2).abs() < 0.1 && (each(&baseline, 3) - 87.2).abs() < 0.1);
    let checkout = of("checkout_partition");
    assert!((each(&checkout, 0) - 72.3).abs() < 0.1 && (each(&checkout, 3) - 153.8).abs() < 0.1);
    for (config, most) in [("baseline", 60.0), ("NT4SP4", 50.0), ("MDAC2.1", 60.0)] {
        let found = linear_part(&of(config)).unwrap();
        assert!(found.ends && found.cost.value < most, "{config}: {found:?}");
    }
}

#[test]
fn what_follows_from_the_printed_inputs() {
    // 300 shoppers a server, and $15,000 for one.
    assert_eq!((100_000.0_f64 / 300.0).floor(), 333.0);
    assert_eq!(333.0 * 15_000.0, 4_995_000.0);
    assert_eq!(333.0 * 15_000.0 / 100_000.0, 49.95);
    // 43 Xeon and 45 Alpha servers.
    let partitioned = 43.0 * 15_000.0 + 45.0 * 25_000.0;
    assert_eq!((partitioned, partitioned / 100_000.0), (1_770_000.0, 17.70));
    // 150 checkouts a minute on a server.
    assert_eq!(150.0 * 1440.0, 216_000.0);
    assert_eq!(150.0 / 0.01, 15_000.0);
    // The same rate of checkouts in every row of the growth tables: 17.367 a shopper and day.
    let rate = 521.0 / 30.0;
    for (shoppers, checkouts) in
        [(300.0, 5210.0), (3000.0, 52_100.0), (240.0, 4168.0), (24_000.0, 416_840.0)]
    {
        assert!((shoppers * rate / checkouts - 1.0_f64).abs() < 2e-4, "{shoppers}");
    }
    assert!((510.0 * rate - 8857.0).abs() < 0.5);
    let revenue = |shoppers: f64| shoppers * rate * 250.0 * 365.0;
    for (shoppers, printed) in [(30.0, 47e6), (300.0, 475e6), (3000.0, 4.7e9), (510.0, 808e6)] {
        assert!((revenue(shoppers) / printed - 1.0).abs() < 0.02, "{shoppers}");
    }
}

#[test]
fn what_does_not_follow_from_the_printed_inputs() {
    // 1149 shoppers a server and 383.1 % are of 87 servers; the study counts 88 elsewhere.
    assert_eq!((100_000.0_f64 / 87.0).floor(), 1149.0);
    assert!((100_000.0_f64 / 87.0 / 300.0 - 3.831).abs() < 5e-4);
    assert!((100_000.0_f64 / 88.0 - 1136.4).abs() < 0.05);
    // 383.1 % is the ratio; the increase is 283 %. The saving of $3,240,000 is of 42 + 45 servers.
    assert_eq!(4_995_000.0 - (42.0 * 15_000.0 + 45.0 * 25_000.0), 3_240_000.0);
    assert_eq!(4_995_000.0 - 1_770_000.0, 3_225_000.0);
    // "37 times": 18,669 orders a day of 521, or $1.7 billion of $47 million, are 36.
    assert!((18_669.0_f64 / 521.0 - 35.8).abs() < 0.05 && (1.7e9_f64 / 47e6 - 36.2).abs() < 0.05);
    // 65 servers for 24,000 shoppers: 80 at 300 shoppers each.
    assert_eq!(24_000.0 / 300.0, 80.0);
    // $0.0005 and $0.0001 a checkout over a year: both are $0.0002.
    for (price, checkouts) in [(15_000.0, 216_000.0), (25_000.0, 345_000.0)] {
        assert!((price / (checkouts * 365.0) - 0.0002_f64).abs() < 1e-5);
    }
    // 57 million shoppers a day: 13.1 million with sessions of 11 minutes; four times as many on
    // the live site are 52.4 million, and 57.6 with sessions of 10 minutes.
    let a_day = |minutes: f64| 100_000.0 * 1440.0 / minutes;
    assert!(
        (a_day(11.0) / 1e6 - 13.1).abs() < 0.05 && (4.0 * a_day(10.0) / 1e6 - 57.6).abs() < 0.05
    );
    // 17.367 checkouts a day: 0.1 in 11 minutes are 13.1.
    assert!((0.1 * 1440.0 / 11.0 - 13.09_f64).abs() < 0.01);
}
