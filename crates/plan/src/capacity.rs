//! Costs from what a server carried: the result of `tidegate study capacity`.

use serde_json::Value as Json;
use tidegate_config::{Section, read_text};

use crate::inputs::{Costs, Operation};
use crate::keys::CAPACITY;
use crate::range::Range;

/// Largest file that is read, in bytes.
pub(crate) const LARGEST: u64 = 256 << 20;

/// Reads the table `capacity` and the file that it names. `None` after a mistake.
pub(crate) fn read(table: &Section<'_>) -> Option<Costs> {
    table.known(&CAPACITY);
    let (file, cores) = (table.read(&CAPACITY.file), table.read(&CAPACITY.cores));
    let checkouts = table.read(&CAPACITY.checkouts);
    let (name, cores, checkouts) = (file?, cores?, checkouts?);
    let value = table.get("file")?;
    let text = read_text(&value.resolve(name), LARGEST);
    let remedy = "name the summary.json of `tidegate study capacity`";
    let result = text.map_err(|error| error.to_string()).and_then(|text| result(&text));
    let Carried { per_s, session_s } =
        result.map_err(|why| value.wrong(format!("is no capacity: {why}"), remedy)).ok()?;
    // All cores serve so many sessions per second: the fewer of them, the more each costs.
    let cost = |per_s: f64| cores / per_s;
    let cpu_s = Range { value: cost(per_s.value), low: cost(per_s.high), high: cost(per_s.low) };
    let operation =
        |name: &str, per_session, cpu_s| Operation { name: name.into(), per_session, cpu_s };
    let operations = vec![
        operation("session", Range::exactly(1.0), cpu_s),
        // Its work is part of the session's.
        operation("checkout", checkouts, Range::exactly(0.0)),
    ];
    Some(Costs { operations, session: session_s, checkout: Some(1) })
}

/// What a study found.
struct Carried {
    per_s: Range,
    session_s: Option<Range>,
}

fn result(text: &str) -> Result<Carried, String> {
    let summary: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let row = &summary["tables"]["result"][0];
    let range = |name: &str| {
        let number = |end: &str| row[format!("{name}_{end}")].as_f64().filter(|it| *it > 0.0);
        Some(Range { value: number("value")?, low: number("low")?, high: number("high")? })
    };
    match range("carried_per_s") {
        Some(per_s) => Ok(Carried { per_s, session_s: range("session_s") }),
        None => Err("it has no rate that the site carried".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use crate::Asked;
    use crate::range::Range;

    fn asked(summary: &str) -> Result<Asked, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("summary.json"), summary).unwrap();
        let text = "[demand]\nshoppers = 1000\ncheckout_value = 5\n\
                    [capacity]\nfile = \"summary.json\"\ncores = 2\ncheckouts = 0.1\n\
                    [[servers]]\nname = \"same\"\ncores = 2\nprice = 100\n[rules]\nuse = 1\n";
        let file = folder.path().join("plan.toml");
        Asked::from_toml(text, &file.to_string_lossy()).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn a_measured_capacity_is_the_cost_of_a_session_and_its_length() {
        let text = r#"{"tables": {"result": [{"carried_per_s_value": 40.0, "carried_per_s_low": 32.0,
            "carried_per_s_high": 50.0, "session_s_value": 60.0, "session_s_low": 60.0,
            "session_s_high": 60.0}]}}"#;
        let inputs = asked(text).unwrap().question.inputs;
        let cost = inputs.operations[0].cpu_s;
        assert_eq!(cost, Range { value: 0.05, low: 0.04, high: 0.0625 });
        assert_eq!(inputs.session_s, Range::exactly(60.0));
        let middle = inputs.middle();
        // 1,000 customers in sessions of a minute are 16.7 sessions per second of 50 ms.
        assert!((middle.busy(1000.0).sum::<f64>() - 1000.0 / 60.0 * 0.05).abs() < 1e-9);
        assert!((middle.checkouts_per_hour(1000.0) - 6000.0).abs() < 1e-6);
    }

    #[test]
    fn a_file_that_is_no_capacity_is_named_with_a_remedy() {
        for (text, why) in [("{", "EOF"), ("{\"tables\": {}}", "no rate that the site carried")] {
            let error = asked(text).unwrap_err();
            assert!(error.contains("capacity.file") && error.contains(why), "{error}");
            assert!(error.contains("name the summary.json"), "{error}");
        }
    }
}
