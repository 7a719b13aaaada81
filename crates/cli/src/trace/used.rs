//! What the processes and the machine used, below and above the knee, in words.

use tidegate_trace::analysis::{Analysis, Resources, Split};

use tidegate_report::Table;
use tidegate_report::number::{fixed, or_none, percent};

use super::text::{heading, say};

/// Least pressure that is shown: a machine that is not short of anything has a little.
const PRESSED: f64 = 0.03;
/// Least factor by which the memory of a process grows that is worth a sentence, and least bytes.
const GROWN: (f64, u64) = (1.2, 8_000_000);

/// A figure of the table.
struct Figure {
    name: &'static str,
    of: fn(&Resources) -> Option<f64>,
    shown: fn(f64) -> String,
    /// It is left out where it is below this on both sides.
    least: f64,
}

const fn pressure(name: &'static str, of: fn(&Resources) -> Option<f64>) -> Figure {
    Figure { name, of, shown: percent, least: PRESSED }
}

/// Of each process.
const OF_PROCESS: [Figure; 7] = [
    Figure {
        name: "context switches per s, to wait",
        of: |it| it.voluntary_per_s,
        shown: |it| fixed(it, 0),
        least: 0.0,
    },
    Figure {
        name: "context switches per s, preempted",
        of: |it| it.involuntary_per_s,
        shown: |it| fixed(it, 0),
        least: 0.0,
    },
    Figure {
        name: "memory, most",
        of: |it| it.resident_most.map(|bytes| bytes as f64),
        shown: megabytes,
        least: 0.0,
    },
    Figure {
        name: "memory of its group, most",
        of: |it| it.group_memory_most.map(|bytes| bytes as f64),
        shown: megabytes,
        least: 0.0,
    },
    pressure("waits of its group for a processor", |it| it.group_pressure_cpu),
    pressure("waits of its group for memory", |it| it.group_pressure_memory),
    pressure("waits of its group for input and output", |it| it.group_pressure_io),
];
/// Of the machine, which all processes see alike: pressure stall information.
const OF_MACHINE: [Figure; 3] = [
    pressure("waits for a processor", |it| it.pressure_cpu),
    pressure("waits for memory", |it| it.pressure_memory),
    pressure("waits for input and output", |it| it.pressure_io),
];

/// Adds the table and what follows from it; nothing where nothing was sampled.
pub fn used(text: &mut String, analysis: &Analysis) {
    let rows = rows(&analysis.phases);
    if rows.is_empty() {
        return;
    }
    heading(text, "What was used");
    let sides = if analysis.knee.is_some() { 2 } else { 1 };
    let heads = if sides == 2 { ["", "below", "above"] } else { ["", "whole trace", ""] };
    let mut table = Table::new(heads.into_iter().take(1 + sides));
    for row in rows {
        table.row(row.into_iter().take(1 + sides));
    }
    *text += &table.text();
    for process in &analysis.processes {
        let resources = &process.resources;
        if let Some((first, last)) = grown(resources) {
            let (first, last) = (megabytes(first as f64), megabytes(last as f64));
            let role = process.role;
            say(text, &format!("The memory of the {role} grew from {first} to {last}."));
        }
    }
}

/// The rows: name, below and above the knee.
fn rows(splits: &[Split]) -> Vec<[String; 3]> {
    let mut rows = Vec::new();
    let mut add = |whose: &str, figure: &Figure, split: &Split| {
        let below = (figure.of)(&split.resources_below);
        let above = split.resources_above.as_ref().and_then(figure.of);
        let any = || below.into_iter().chain(above);
        if any().any(|value| value >= figure.least) {
            let shown = |value| or_none(value, figure.shown);
            rows.push([format!("{whose}: {}", figure.name), shown(below), shown(above)]);
        }
    };
    for split in splits {
        // Several load generators are told apart by their process.
        let alone = splits.iter().filter(|other| other.role == split.role).count() == 1;
        let whose = match alone {
            true => split.role.to_string(),
            false => format!("{} {}", split.role, split.pid),
        };
        OF_PROCESS.iter().for_each(|figure| add(&whose, figure, split));
    }
    for split in splits.iter().take(1) {
        OF_MACHINE.iter().for_each(|figure| add("machine", figure, split));
    }
    rows
}

/// The memory of a process at the first and the last sample, bytes, if it grew much.
fn grown(resources: &Resources) -> Option<(u64, u64)> {
    let (first, last) = resources.resident_first.zip(resources.resident_last)?;
    let (factor, bytes) = GROWN;
    let much = last.saturating_sub(first) >= bytes && last as f64 >= factor * first as f64;
    much.then_some((first, last))
}

fn megabytes(bytes: f64) -> String {
    match bytes / 1e6 {
        small if small < 10.0 => format!("{small:.1} MB"),
        large => format!("{large:.0} MB"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_trace::Role;

    fn split(role: Role, pid: u32, below: Resources, above: Option<Resources>) -> Split {
        Split {
            role,
            pid,
            below: Vec::new(),
            above: Vec::new(),
            grew_most: None,
            full_share_below: None,
            full_share_above: None,
            resources_below: below,
            resources_above: above,
        }
    }

    #[test]
    fn switches_and_memory_are_shown_and_pressure_where_there_is_some() {
        let below = Resources {
            voluntary_per_s: Some(120.4),
            resident_most: Some(9_500_000),
            group_memory_most: Some(30_000_000),
            pressure_memory: Some(0.001),
            pressure_io: Some(0.02),
            group_pressure_cpu: Some(0.01),
            ..Resources::default()
        };
        let above = Resources {
            voluntary_per_s: Some(800.0),
            pressure_io: Some(0.25),
            group_pressure_cpu: Some(0.4),
            group_pressure_memory: Some(0.05),
            ..below.clone()
        };
        let rows = rows(&[split(Role::Gate, 1, below, Some(above))]);
        let rows: Vec<[String; 3]> =
            rows.iter().map(|row| row.each_ref().map(|it| it.replace('\u{a0}', " "))).collect();
        assert_eq!(
            rows,
            [
                ["gate: context switches per s, to wait", "120", "800"],
                ["gate: memory, most", "9.5 MB", "9.5 MB"],
                ["gate: memory of its group, most", "30 MB", "30 MB"],
                ["gate: waits of its group for a processor", "1.0 %", "40.0 %"],
                ["gate: waits of its group for memory", "–", "5.0 %"],
                ["machine: waits for input and output", "2.0 %", "25.0 %"],
            ]
        );
    }

    #[test]
    fn load_generators_are_told_apart_and_the_machine_is_shown_once() {
        let pressed = Resources {
            involuntary_per_s: Some(1.0),
            pressure_cpu: Some(0.5),
            ..Resources::default()
        };
        let splits = [1, 2].map(|pid| split(Role::Load, pid, pressed.clone(), None));
        let names: Vec<String> = rows(&splits).into_iter().map(|[name, ..]| name).collect();
        assert_eq!(
            names,
            [
                "load 1: context switches per s, preempted",
                "load 2: context switches per s, preempted",
                "machine: waits for a processor",
            ]
        );
    }

    #[test]
    fn only_memory_that_grew_much_is_worth_a_sentence() {
        let of = |first, last| Resources {
            resident_first: Some(first),
            resident_last: Some(last),
            ..Resources::default()
        };
        assert_eq!(grown(&of(20_000_000, 50_000_000)), Some((20_000_000, 50_000_000)));
        assert_eq!(grown(&of(1_000_000, 5_000_000)), None, "few bytes");
        assert_eq!(grown(&of(100_000_000, 110_000_000)), None, "a tenth");
        assert_eq!(grown(&of(50_000_000, 20_000_000)), None);
        assert_eq!(grown(&Resources::default()), None);
    }
}
