//! Names of columns and their values, as pages show them.

use serde_json::Value;
use tidegate_report::number::significant;

use crate::metrics::messages;

/// End of the name of a ratio to a reference.
pub(crate) const BY_REFERENCE: &str = "_by_reference";

/// Whether a figure of a message service is shown with three digits: times of them are of
/// microseconds as well as of seconds.
fn has_digits(name: &str) -> bool {
    let of = name.trim_start_matches("paper_").trim_end_matches(BY_REFERENCE);
    let is_quantity = messages::QUANTITIES.iter().any(|(quantity, ..)| *quantity == of);
    is_quantity || messages::OF_POINTS.contains(&of)
}

/// A column's name in words.
pub(crate) fn head(name: &str) -> String {
    let words = name.replace("paper_", "paper: ").replace("_per_s_", "/s_");
    let words = words.strip_suffix("_per_s").map_or(words.clone(), |it| format!("{it}/s"));
    let words = words.replace('_', " ");
    let words =
        words.replace(" ms", ", ms").replace("overloaded share of peak", "left of the peak");
    let words = words.replace("overloaded requests of capacity", "left of the capacity");
    let words = words.replace("overloaded completed of capacity", "of it, in completed sessions");
    let words = words.replace("customer.", "customer: ").replace("full share", "full handshakes,");
    let words = words.strip_suffix(" us").map_or(words.clone(), |it| format!("{it}, µs"));
    let words = words.replace(", ms by reference", " by that of the other");
    let words = words.strip_suffix(" s").map_or_else(|| words.clone(), |it| format!("{it}, s"));
    let words = words.replace("cpu", "CPU").replace(", ms per request", " per request, ms");
    words.replace(", ms per session", " per session, ms")
}

/// Whether a figure is shown as a percentage, by its name.
pub(crate) fn is_share(name: &str) -> bool {
    ["share", "ratio", "_use", "_of_capacity", "_per_offered"].iter().any(|it| name.contains(it))
}

/// A value of a column as it is read.
pub(crate) fn cell(name: &str, value: Option<&Value>) -> String {
    let share = is_share(name);
    match value {
        Some(Value::Number(number)) if number.is_f64() => {
            let value = number.as_f64().unwrap_or_default();
            match value {
                value if has_digits(name) => significant(value, 3),
                value if share && value < 0.1 => format!("{:.1} %", 100.0 * value),
                value if share => format!("{:.0} %", 100.0 * value),
                value if value.abs() >= 100.0 => format!("{value:.0}"),
                value if name.ends_with("_ms_per_request") => format!("{value:.3}"),
                value if name.ends_with("_cost") => significant(value, 3),
                value if name == "price_per_customer" => format!("{value:.2}"),
                value if name == "customers" => format!("{value:.0}"),
                value if name == "machine_speed" => format!("{value:.2}"),
                value => format!("{value:.1}"),
            }
        }
        Some(Value::Null) | None => "–".into(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn figures_are_shown_by_their_unit_and_size() {
        let shown = |name: &str, value: f64| cell(name, Some(&json!(value)));
        assert_eq!(shown("full_handshake_share", 0.021), "2.1 %");
        assert_eq!(shown("completed_ratio", 0.98), "98 %");
        assert_eq!(shown("requests_per_s", 1234.5), "1234");
        assert_eq!(shown("response_mean_ms", 3.12), "3.1");
        assert_eq!(shown("web_cpu_ms_per_request", 0.0123), "0.012");
        assert_eq!(head("web_cpu_ms_per_request"), "web CPU per request, ms");
        assert_eq!(cell("x", Some(&Value::Null)), "–");
        assert_eq!(shown("two_clients_ms_by_reference", 1.2345), "1.23");
        assert_eq!(shown("server_cpu_us", 41.27), "41.3");
        assert_eq!(head("ready_s"), "ready, s");
        assert_eq!(head("server_cpu_us"), "server CPU, µs");
        assert_eq!(head("server_use"), "server use");
        assert_eq!(head("cpu_ms_per_session"), "CPU per session, ms");
        assert_eq!(head("requests_per_s_at_speed"), "requests/s at speed");
        assert_eq!(head("paper_warm_up_ms"), "paper: warm up, ms");
        assert_eq!(head("paper_peak_requests_per_s"), "paper: peak requests/s");
    }
}
