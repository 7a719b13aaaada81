//! The page of a plan with sliders, on loopback: each change is planned anew by the same code.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use tidegate_lab::READY;
use tidegate_plan::{Asked, Range};
use tidegate_report::number::number;
use tidegate_sitekit::server::{Peers, Server, Service};

use super::{Planned, page};
use crate::exit::{Outcome, bad_input};
use crate::signals::Signals;
use crate::stdout::print;

/// An input that can be changed on the page.
pub(super) struct Slider {
    /// Its name in the link.
    pub(super) name: &'static str,
    /// What a reader calls it, with the unit.
    pub(super) label: &'static str,
    /// Least and largest value of the slider.
    pub(super) low: f64,
    /// See `low`.
    pub(super) high: f64,
    /// Its value.
    pub(super) value: f64,
}

impl Slider {
    /// Its value in words.
    pub(super) fn shown(&self) -> String {
        number(self.value)
    }
}

/// An input that a slider moves: name in the link, label, unit as a factor, and the input.
type Input = (&'static str, &'static str, f64, fn(&mut Asked) -> Option<&mut Range>);

/// The inputs with sliders.
const INPUTS: [Input; 6] = [
    ("shoppers", "customers at a time", 1.0, |it| Some(&mut it.question.inputs.shoppers)),
    ("peak", "peak factor", 1.0, |it| Some(&mut it.question.inputs.peak_factor)),
    ("growth", "growth per year, %", 0.01, |it| Some(&mut it.question.inputs.growth)),
    ("session", "session, minutes", 60.0, |it| Some(&mut it.question.inputs.session_s)),
    ("ratio", "browse-to-buy ratio", 1.0, |it| it.question.inputs.browse_to_buy.as_mut()),
    ("value", "value of a checkout", 1.0, |it| Some(&mut it.question.inputs.checkout_value)),
];

/// Serves the page until SIGTERM or SIGINT.
pub(super) fn run(address: SocketAddr, asked: Asked) -> anyhow::Result<Outcome> {
    if !address.ip().is_loopback() {
        return Err(bad_input(format!(
            "--serve {address}: a plan is served on this machine only; use 127.0.0.1:PORT"
        )));
    }
    // A file without a plan is a mistake of the file, before anything is served.
    Planned::of(&asked).map_err(bad_input)?;
    let mut signals = Signals::catch()?;
    let asked = Arc::new(asked);
    let service = |_| {
        let asked = asked.clone();
        Ok(move || Service {
            router: Router::new().route("/", get(answer)).with_state(asked),
            tls: None,
            peers: Peers::Public,
            background: None,
        })
    };
    let server = Server::start(address, None, None, service)?;
    print(format!("plan: http://{}/\n{READY}\n", server.address()))?;
    signals.wait();
    server.shutdown();
    Ok(Outcome::Done)
}

async fn answer(
    State(asked): State<Arc<Asked>>,
    Query(query): Query<HashMap<String, String>>,
) -> Response {
    let mut asked = (*asked).clone();
    let sliders = match moved(&mut asked, &query) {
        Ok(sliders) => sliders,
        Err(why) => return (StatusCode::BAD_REQUEST, why).into_response(),
    };
    // Seconds of work at most: the server has a core of its own and one reader.
    match tokio::task::spawn_blocking(move || Planned::of(&asked).map(|it| (asked, it))).await {
        Ok(Ok((asked, planned))) => {
            let controls = page::controls(&sliders);
            Html(page::page(&asked, &planned, Some(controls)).html()).into_response()
        }
        Ok(Err(why)) => (StatusCode::BAD_REQUEST, why).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

/// Moves the inputs that a link names. A range keeps its shape: it moves as its likely value does.
fn moved(asked: &mut Asked, query: &HashMap<String, String>) -> Result<Vec<Slider>, String> {
    let mut sliders = Vec::new();
    for (name, label, unit, input) in INPUTS {
        let Some(range) = input(asked) else { continue };
        let usual = range.value / unit;
        let (low, high) = match name {
            "growth" => (-50.0, (4.0 * usual).max(200.0)),
            "peak" => (1.0, (4.0 * usual).max(2.0)),
            _ => (usual / 10.0, (usual * 10.0).max(1e-3)),
        };
        if let Some(text) = query.get(name) {
            let value = text.parse::<f64>().ok().filter(|it| (low..=high).contains(it));
            let value = value.ok_or_else(|| {
                format!("{name}={text}: must be a number of {} to {}", number(low), number(high))
            })?;
            *range = at(range, value * unit);
        }
        sliders.push(Slider { name, label, low, high, value: range.value / unit });
    }
    Ok(sliders)
}

/// A range whose likely value is `value`: stretched, or shifted where it is not positive.
fn at(range: &Range, value: f64) -> Range {
    if range.value > 0.0 && value > 0.0 {
        let factor = value / range.value;
        Range { value, low: range.low * factor, high: range.high * factor }
    } else {
        let shift = value - range.value;
        Range { value, low: range.low + shift, high: range.high + shift }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_plan::EXAMPLE;

    fn query(pairs: &[(&str, &str)]) -> HashMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn a_link_moves_inputs_with_their_ranges_and_refuses_what_is_none() {
        let mut asked = Asked::from_toml(EXAMPLE, "plan.toml").unwrap();
        let sliders = moved(&mut asked, &query(&[("shoppers", "80000"), ("growth", "0")])).unwrap();
        let inputs = &asked.question.inputs;
        assert_eq!(inputs.shoppers, Range { value: 80_000.0, low: 60_000.0, high: 110_000.0 });
        assert!((inputs.growth.low + 0.2).abs() < 1e-9 && (inputs.growth.high - 0.4).abs() < 1e-9);
        assert_eq!((sliders.len(), sliders[0].value), (6, 80_000.0));
        for wrong in ["", "x", "1e9", "NaN", "-5"] {
            let error = moved(&mut asked, &query(&[("shoppers", wrong)])).err().unwrap();
            assert!(error.contains("must be a number of"), "{error}");
        }
    }
}
