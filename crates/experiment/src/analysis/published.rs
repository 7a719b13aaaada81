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
