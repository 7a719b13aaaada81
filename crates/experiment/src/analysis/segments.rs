//! What stacked bars consist of: the phases of a connection or request, and kinds of handshakes.

use tidegate_report::Part;
use tidegate_trace::Phase;

use super::Run;
use crate::experiment::Segments;

/// Of each phase of the gate, in the order of a connection's life: index of its colour, and
/// whether it is striped. Phases of the same kind have the same colour.
///
/// Source: Guitart et al. 2007, figure 6: SSL handshake, request (no service), service, connection
/// (no request). Deviation: what they have in one is split, and what the gate adds before the
/// handshake has a colour of its own.
const GATE: [(Phase, usize, bool); 13] = [
    (Phase::Accept, 5, true),
    (Phase::FirstFlight, 5, false),
    (Phase::Queue, 4, false),
    (Phase::HandshakeFull, 1, false),
    (Phase::HandshakeResumed, 0, false),
    (Phase::AwaitRequest, 6, true),
    (Phase::ReadRequest, 7, false),
    (Phase::Service, 2, true),
    (Phase::Upstream, 2, false),
    (Phase::Database, 3, false),
    (Phase::Respond, 7, true),
    (Phase::Idle, 6, false),
    (Phase::Close, 4, true),
];

/// Where a request is, from its customer inwards: name, phase, index of its colour, and whether it
/// is striped. The waits on the way have the colour of what they lead to.
const PLACES: [(&str, &str, usize, bool); 6] = [
    ("before the gate", "request.before_gate", 7, true),
    ("gate", "request.gate", 7, false),
    ("before the site", "request.before_site", 2, true),
    ("site", "request.site", 2, false),
    ("database", "request.database", 3, false),
    ("upstream, not traced", "request.upstream", 4, false),
];

/// The phases that customers observe.
const CUSTOMER: [(&str, usize); 5] = [
    ("TCP connect", 5),
    ("TLS handshake, full", 1),
    ("TLS handshake, resumed", 0),
    ("until the first byte", 2),
    ("until the last byte", 7),
];

/// The tiers of the brokerage, and the figures of their CPU time.
const TIERS: [(&str, &str, usize); 3] = [
    ("web tier", "web_cpu_ms_per_request", 0),
    ("application tier", "app_cpu_ms_per_request", 2),
    ("data tier", "data_cpu_ms_per_request", 4),
];

/// The parts of a bar, from bottom to top.
pub fn parts(of: Segments) -> Vec<Part> {
    let part =
        |name: &str, colour: usize, striped: bool| Part { name: name.to_owned(), colour, striped };
    match of {
        Segments::Gate | Segments::GateCpu => {
            GATE.map(|(phase, colour, striped)| part(phase.words(), colour, striped)).into()
        }
        Segments::Request => PLACES.map(|(name, _, at, striped)| part(name, at, striped)).into(),
        Segments::Customer => CUSTOMER.map(|(name, colour)| part(name, colour, false)).into(),
        Segments::Handshakes => vec![part("full", 1, false), part("resumed", 0, false)],
        Segments::Tiers => TIERS.map(|(name, _, colour)| part(name, colour, false)).into(),
    }
}

/// The values of a run, in the order of the parts; `None` where it has none of them. A phase that
/// did not occur took no time.
pub fn values(of: Segments, run: &Run) -> Option<Vec<f64>> {
    match of {
        Segments::Gate => gate(run, ""),
        Segments::GateCpu => gate(run, ".cpu"),
        Segments::Request => {
            let all = PLACES.map(|(_, phase, ..)| run.phases.get(phase).copied());
            all.iter().any(Option::is_some).then(|| all.map(Option::unwrap_or_default).into())
        }
        Segments::Customer => customer(run),
        Segments::Handshakes => {
            let full = run.figure("full_handshake_share")?;
            Some(vec![full, 1.0 - full])
        }
        Segments::Tiers => TIERS.iter().map(|(_, figure, _)| run.figure(figure)).collect(),
    }
}

fn gate(run: &Run, ending: &str) -> Option<Vec<f64>> {
    let of = |phase: Phase| run.phases.get(&format!("gate.{}{ending}", phase.name())).copied();
    let all = GATE.map(|(phase, ..)| of(phase));
    all.iter().any(Option::is_some).then(|| all.map(Option::unwrap_or_default).into())
}

/// Mean milliseconds per answered request. A connection and its handshake serve several requests,
/// so each of these has a part of their time: time of a handshake × handshakes ÷ requests. Runs of
/// before connections were counted have as many as handshakes.
fn customer(run: &Run) -> Option<Vec<f64>> {
    let requests = run.figure("requests_per_s").filter(|it| *it > 0.0)?;
    let each = |name: &str| run.figure(name).unwrap_or_default() / requests;
    let ms = |name: &str| run.phases.get(name).copied().unwrap_or_default();
    let (full, resumed) = (each("full_handshakes_per_s"), each("resumed_handshakes_per_s"));
    let connections = match run.figure("connections_per_s") {
        Some(_) => each("connections_per_s"),
        None => full + resumed,
    };
    let values = vec![
        ms("customer.connect") * connections,
        ms("customer.full_handshake") * full,
        ms("customer.resumed_handshake") * resumed,
        ms("customer.first_byte"),
        ms("customer.last_byte"),
    ];
    values.iter().any(|value| *value > 0.0).then_some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::run;
    use crate::record::tests::record;

    fn with(figures: &[(&str, f64)], phases: &[(&str, f64)]) -> Run {
        let mut record = record("a", 0, &[], figures);
        record.phases = phases.iter().map(|(name, ms)| ((*name).into(), *ms)).collect();
        run(&record, None)
    }

    fn value(of: Segments, run: &Run, name: &str) -> f64 {
        let part = parts(of).iter().position(|part| part.name == name).unwrap();
        values(of, run).unwrap()[part]
    }

    #[test]
    fn phases_of_the_gate_have_their_time_and_their_cpu_time_apart() {
        let phases =
            [("gate.handshake_full", 40.0), ("gate.handshake_full.cpu", 2.0), ("gate.idle", 7.0)];
        let run = with(&[], &phases);
        assert_eq!(value(Segments::Gate, &run, "TLS handshake, full"), 40.0);
        assert_eq!(value(Segments::GateCpu, &run, "TLS handshake, full"), 2.0);
        assert_eq!(value(Segments::GateCpu, &run, "idle between requests"), 0.0);
        assert_eq!(values(Segments::Gate, &run).unwrap().iter().sum::<f64>(), 47.0);
        assert_eq!(values(Segments::Gate, &with(&[], &[("customer.connect", 1.0)])), None);
    }

    #[test]
    fn a_request_has_its_part_of_its_connections_handshake() {
        // Ten requests per connection; every second handshake is full.
        let figures = [
            ("requests_per_s", 100.0),
            ("full_handshakes_per_s", 5.0),
            ("resumed_handshakes_per_s", 5.0),
        ];
        let phases = [
            ("customer.connect", 1.0),
            ("customer.full_handshake", 20.0),
            ("customer.resumed_handshake", 4.0),
            ("customer.first_byte", 3.0),
        ];
        let run = with(&figures, &phases);
        let values = values(Segments::Customer, &run).unwrap();
        for (value, expected) in values.iter().zip([0.1, 1.0, 0.2, 3.0, 0.0]) {
            assert!((value - expected).abs() < 1e-9, "{values:?}");
        }
    }

    #[test]
    fn in_the_clear_the_phases_of_a_request_add_up_to_its_response_time() {
        // A connection for every second request: 1 ms / 2 + 0.8 ms + 0.2 ms.
        let figures = [
            ("requests_per_s", 100.0),
            ("connections_per_s", 50.0),
            ("full_handshakes_per_s", 0.0),
            ("resumed_handshakes_per_s", 0.0),
            ("response_mean_ms", 1.5),
        ];
        let phases =
            [("customer.connect", 1.0), ("customer.first_byte", 0.8), ("customer.last_byte", 0.2)];
        let run = with(&figures, &phases);
        let sum: f64 = values(Segments::Customer, &run).unwrap().iter().sum();
        assert!((sum - run.figure("response_mean_ms").unwrap()).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn shares_of_handshakes_add_up() {
        let run = with(&[("full_handshake_share", 0.25)], &[]);
        assert_eq!(values(Segments::Handshakes, &run).unwrap(), [0.25, 0.75]);
        assert_eq!(values(Segments::Handshakes, &with(&[], &[])), None);
    }

    #[test]
    fn tiers_have_the_cpu_time_of_their_processes() {
        let figures = [
            ("web_cpu_ms_per_request", 0.2),
            ("app_cpu_ms_per_request", 0.3),
            ("data_cpu_ms_per_request", 0.4),
        ];
        assert_eq!(values(Segments::Tiers, &with(&figures, &[])).unwrap(), [0.2, 0.3, 0.4]);
        assert_eq!(values(Segments::Tiers, &with(&figures[..2], &[])), None, "another site");
    }

    #[test]
    fn bars_show_the_phases_that_claims_can_name() {
        assert_eq!(GATE.map(|(phase, ..)| phase), crate::phases::GATE);
        assert!(PLACES.iter().all(|(_, phase, ..)| crate::phases::is_known(phase)));
    }

    #[test]
    fn no_two_parts_of_a_bar_look_alike() {
        let all = [Segments::Gate, Segments::Request, Segments::Customer, Segments::Handshakes];
        for of in all.into_iter().chain([Segments::Tiers]) {
            let mut looks: Vec<_> = parts(of).iter().map(|it| (it.colour, it.striped)).collect();
            let count = looks.len();
            looks.sort_unstable();
            looks.dedup();
            assert_eq!(looks.len(), count);
        }
    }
}
