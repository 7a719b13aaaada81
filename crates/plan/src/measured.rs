//! Costs as they were measured: the result of `tidegate tca SCENARIO --target URL`.

use serde_json::Value as Json;
use tidegate_config::{Section, read_text};

use crate::capacity::LARGEST;
use crate::inputs::{Costs, Operation};
use crate::keys::COSTS;
use crate::range::Range;

/// Reads the table `costs` and the file that it names. `None` after a mistake.
pub(crate) fn read(table: &Section<'_>) -> Option<Costs> {
    table.known(&COSTS);
    let file = table.read(&COSTS.file)?;
    let value = table.get("file")?;
    let text = read_text(&value.resolve(file), LARGEST);
    let remedy = "name the summary.json of `tidegate tca SCENARIO --target URL`";
    let result = text.map_err(|error| error.to_string()).and_then(|text| result(&text));
    result.map_err(|why| value.wrong(format!("is no result of costs: {why}"), remedy)).ok()
}

fn result(text: &str) -> Result<Costs, String> {
    let summary: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let tables = &summary["tables"];
    let rows = tables["operations"].as_array().ok_or("it has no table of operations")?;
    let range = |row: &Json, name: &str| {
        let number = |end: &str| row[format!("{name}_{end}")].as_f64().filter(|it| *it >= 0.0);
        let range = Range { value: number("value")?, low: number("low")?, high: number("high")? };
        (range.low <= range.value && range.value <= range.high).then_some(range)
    };
    let mut operations: Vec<Operation<Range>> = Vec::new();
    for row in rows {
        let name = row["operation"].as_str().ok_or("an operation has no name")?;
        // Of those that no session of the profile has nothing is lost.
        let Some(per_session) = range(row, "per_session") else { continue };
        match range(row, "cpu_s") {
            Some(cpu_s) => operations.push(Operation { name: name.to_owned(), per_session, cpu_s }),
            None if per_session.high <= 0.0 => {}
            None => return Err(format!("the processor time of {name} is not known")),
        }
    }
    if operations.is_empty() {
        return Err("it has no operations with costs".to_owned());
    }
    let profile = &tables["profile"][0];
    let checkout = profile["checkout"].as_str();
    Ok(Costs {
        session: range(profile, "session_s").filter(|it| it.low > 0.0),
        checkout: checkout.and_then(|name| operations.iter().position(|it| it.name == name)),
        operations,
    })
}

#[cfg(test)]
mod tests {
    use crate::Asked;
    use crate::range::Range;

    fn asked(summary: &str) -> Result<Asked, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("summary.json"), summary).unwrap();
        let text = "[demand]\nshoppers = 1000\ncheckout_value = 5\n\
                    [costs]\nfile = \"summary.json\"\n\
                    [[servers]]\nname = \"same\"\ncores = 2\nprice = 100\n[rules]\nuse = 1\n";
        let file = folder.path().join("plan.toml");
        Asked::from_toml(text, &file.to_string_lossy()).map_err(|mistakes| mistakes.to_string())
    }

    fn row(name: &str, per_session: f64, cpu_s: Option<f64>) -> serde_json::Value {
        let cpu = |factor: f64| cpu_s.map(|it| it * factor);
        serde_json::json!({
            "operation": name,
            "per_session_value": per_session, "per_session_low": per_session,
            "per_session_high": per_session,
            "cpu_s_value": cpu(1.0), "cpu_s_low": cpu(0.9), "cpu_s_high": cpu(1.1),
        })
    }

    fn summary(rows: &[serde_json::Value]) -> String {
        let profile = serde_json::json!([{ "checkout": "Order", "session_s_value": 60.0,
            "session_s_low": 60.0, "session_s_high": 60.0 }]);
        serde_json::json!({ "tables": { "operations": rows, "profile": profile } }).to_string()
    }

    #[test]
    fn measured_costs_are_those_of_the_plan() {
        let rows = [row("Home", 1.5, Some(0.01)), row("Order", 0.1, Some(0.2))];
        let inputs = asked(&summary(&rows)).unwrap().question.inputs;
        let cost = inputs.operations[0].cpu_s;
        assert_eq!(cost, Range { value: 0.01, low: 0.01 * 0.9, high: 0.01 * 1.1 });
        assert_eq!((inputs.session_s, inputs.checkout), (Range::exactly(60.0), Some(1)));
        // 1,000 customers in sessions of a minute are 16.7 sessions per second of 35 ms.
        let busy: f64 = inputs.middle().busy(1000.0).sum();
        assert!((busy - 1000.0 / 60.0 * 0.035).abs() < 1e-9, "{busy}");
    }

    #[test]
    fn a_file_without_costs_is_named_with_a_remedy() {
        let unknown = summary(&[row("Home", 1.0, None)]);
        for (text, why) in [
            ("{", "EOF"),
            ("{\"tables\": {}}", "no table of operations"),
            (&summary(&[]), "no operations with costs"),
            (&unknown, "the processor time of Home is not known"),
        ] {
            let error = asked(text).unwrap_err();
            assert!(error.contains("costs.file") && error.contains(why), "{error}");
            assert!(error.contains("name the summary.json"), "{error}");
        }
    }
}
