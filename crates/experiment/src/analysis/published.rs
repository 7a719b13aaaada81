//! What a paper published, to stand beside what is measured.

use crate::experiment::Levels;

/// Tables 1 and 2 of paper 001 by number of processors: new clients per second that overload
/// the server, replies per second at the peak, and when overloaded.
///
/// Source: J. Guitart et al., "Designing an overload control strategy for secure e-commerce
/// applications", Computer Networks 51 (2007), Tables 1 and 2.
const OVERLOAD: [(&str, f64, f64, f64); 4] = [
    ("1", 2.0, 90.0, 13.0),
    ("2", 4.0, 155.0, 28.0),
    ("3", 6.0, 208.0, 41.0),
    ("4", 8.0, 256.0, 53.0),
];

/// Processors and replies per second at the peak, beside a row of the table `scalability`, from
/// one processor on; empty if the row is not about what was published.
pub fn peaks_beside(study: &str, levels: &Levels) -> Vec<(f64, f64)> {
    if study != "overload" || levels.get("policy").is_none_or(|policy| policy != "off") {
        return Vec::new();
    }
    let peak =
        |&(processors, _, peak, _): &(&str, f64, f64, f64)| Some((processors.parse().ok()?, peak));
    OVERLOAD.iter().filter_map(peak).collect()
}

/// Figures of a paper beside a row of the table `knee`, by column.
pub fn beside(study: &str, levels: &Levels) -> Vec<(&'static str, f64)> {
    let level = |factor: &str| levels.get(factor).map_or("", String::as_str);
    if study != "overload" || level("policy") != "off" {
        return Vec::new();
    }
    let row = OVERLOAD.iter().find(|(processors, ..)| *processors == level("processors"));
    row.map_or(Vec::new(), |(_, clients, peak, overloaded)| {
        vec![
            ("paper_new_clients_per_s", *clients),
            ("paper_peak_requests_per_s", *peak),
            ("paper_overloaded_requests_per_s", *overloaded),
            ("paper_overloaded_share_of_peak", overloaded / peak),
        ]
    })
}

/// What paper 002 reports of a configuration: the first request and the mean once warm in
/// milliseconds, requests per second of two clients. Of GT3 it has the last alone.
///
/// Source: paper 002, "Comparing the performance of GT3 security with SSL".
const MESSAGES: [(&str, Option<[f64; 2]>, f64); 4] = [
    ("jsp-clear", Some([937.0, 4.0]), 444.0),
    ("jsp-https", Some([1255.0, 11.0]), 153.0),
    ("soap-clear", None, 174.0),
    ("soap-wss", None, 10.0),
];

/// The paper's ratio of requests per second in the clear to those with security, which is that of
/// the times of two clients.
const MESSAGES_RATIOS: [(&str, f64); 2] = [("jsp-https", 2.9), ("soap-wss", 17.4)];

/// Figures of a paper beside a row of the table `points`, by column.
pub fn beside_points(study: &str, levels: &Levels) -> Vec<(&'static str, f64)> {
    let is_here = |level: &str| study == "messages" && levels.values().any(|it| it == level);
    let mut found = Vec::new();
    for (_, times, per_s) in MESSAGES.iter().filter(|(level, ..)| is_here(level)) {
        if let Some([first, warm]) = times {
            found.extend([("paper_first_request_ms", *first), ("paper_warm_up_ms", *warm)]);
        }
        found.push(("paper_overall_per_s", *per_s));
    }
    found
}

/// Figures of a paper beside a row of the table `ratios`, by column.
pub fn beside_ratios(study: &str, levels: &Levels) -> Vec<(&'static str, f64)> {
    let is_here = |level: &str| study == "messages" && levels.values().any(|it| it == level);
    let all = MESSAGES_RATIOS.into_iter().filter(|(level, _)| is_here(level));
    all.map(|(_, ratio)| ("paper_two_clients_ms_by_reference", ratio)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_ratios_are_those_of_its_frequencies() {
        let of = |name: &str| MESSAGES.iter().find(|(level, ..)| *level == name).unwrap().2;
        for (clear, secured) in [("jsp-clear", "jsp-https"), ("soap-clear", "soap-wss")] {
            let levels = Levels::from([("configuration".into(), secured.into())]);
            let [(_, ratio)] = beside_ratios("messages", &levels)[..] else { panic!("{secured}") };
            assert!((of(clear) / of(secured) - ratio).abs() < 0.05, "{secured}");
        }
    }
}
