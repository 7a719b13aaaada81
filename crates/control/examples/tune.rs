//! Prints a table of simulated results: policies by multiples of capacity.
use std::time::Duration;
use tidegate_control::PolicyKind;
use tidegate_control::sim::{Scenario, run};

type Vary = fn(Scenario) -> Scenario;

fn main() {
    let which = std::env::args().nth(1).unwrap_or("tide".into());
    let only = std::env::args().nth(2);
    let eac = |ms| PolicyKind::Eac { interval: Duration::from_millis(ms) };
    let all = [
        ("off", PolicyKind::Off),
        ("eac", eac(2000)),
        ("eac50ms", eac(50)),
        ("tide", PolicyKind::Tide),
    ];
    let workloads: Vec<(&str, Vary)> = vec![
        ("demo", |s| s),
        ("demo-noisy-browser", |mut s| {
            s.customers.close_when_done = false;
            s.customers.grace_s = 0.5;
            s
        }),
        ("heavy-first", |mut s| {
            s.work.full_handshake = 2e-3;
            s.work.later_request = 200e-6;
            s
        }),
        ("heavy-later", |mut s| {
            s.work.first_request = 100e-6;
            s.work.later_request = 1e-3;
            s
        }),
        ("long-sessions", |mut s| {
            s.customers.requests = 40.0;
            s.customers.requests_max = 200.0;
            s
        }),
        ("short-sessions", |mut s| {
            s.customers.requests = 2.0;
            s.customers.requests_max = 10.0;
            s
        }),
        ("2cpu", |mut s| {
            s.machines.gate_cores = 2.0;
            s.machines.upstream_threads = 2;
            s
        }),
        ("4cpu", |mut s| {
            s.machines.gate_cores = 4.0;
            s.machines.upstream_threads = 8;
            s
        }),
        ("unattributed", |mut s| {
            s.work.gate_unattributed = 0.6;
            s.work.accept = 60e-6;
            s
        }),
        ("own-hosts", |mut s| {
            s.machines.upstream_cores = Some(1.0);
            s.machines.upstream_threads = 16;
            s
        }),
        ("gate-bound", |mut s| {
            s.machines.upstream_cores = Some(4.0);
            s.machines.upstream_threads = 16;
            s.work.later_request = 60e-6;
            s.work.first_request = 60e-6;
            s
        }),
        ("remote", |mut s| {
            s.machines.upstream_cores = Some(1.0);
            s.machines.upstream_threads = 16;
            s.machines.upstream_visible = false;
            s
        }),
        ("remote-slow", |mut s| {
            s.machines.upstream_cores = Some(4.0);
            s.machines.upstream_threads = 60;
            s.machines.upstream_visible = false;
            s.work.upstream_wait = 0.03;
            s.work.request_scv = 4.0;
            s.customers.patience_s = 1.0;
            s
        }),
    ];
    for (name, vary) in workloads {
        if only.as_deref().is_some_and(|only| only != name) {
            continue;
        }
        for (label, policy) in all.iter().filter(|p| which == "all" || p.0 == which) {
            println!("{name} / {label}");
            let mut base = 0.0;
            for multiple in [0.5, 0.9, 1.0, 2.0, 4.0, 10.0] {
                let (mut g, mut p50, mut p95, mut c, mut r, mut f, mut why, mut cold) =
                    (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, String::new(), 0.0);
                let seeds = 3;
                for seed in 1..=seeds {
                    let mut s = vary(Scenario::demo(*policy)).at(multiple);
                    let life = s.customers.requests_max * s.customers.think_s * 0.8;
                    s.duration_s = 3.0 * life;
                    s.seed = seed;
                    let o = run(&s, life);
                    let k = 1.0 / seeds as f64;
                    g += k * o.goodput() / s.capacity_per_s();
                    p50 += k * o.response_ms(0.5);
                    p95 += k * o.response_ms(0.95);
                    c += k * o.completed_ratio();
                    r += k * o.refused_ratio();
                    f += k * o.full_handshakes as f64
                        / (o.full_handshakes + o.resumed_handshakes).max(1) as f64;
                    let lost: u64 = o.course.iter().map(|t| t.abandoned).sum::<u64>() - o.abandoned;
                    cold += k * lost as f64;
                    why = o.why;
                }
                if multiple == 0.5 {
                    base = p95;
                }
                println!(
                    "  {multiple:4}x goodput {g:.3} p50 {p50:6.1} p95 {p95:6.1} ratio {:4.1} completed {c:.4} (lost before {cold:5.1}) refused {r:.4} full {f:.2}  {why}",
                    p95 / base
                );
            }
        }
    }
}
