//! Figures by phase, TLS negotiation, page and group, and failed checks.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use tidegate_stats::Percentiles;

use super::assets::AssetFigures;
use crate::client::tls::algorithms::Agreed;
use crate::outcome::Name;

/// Durations of the phases of requests and connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Phases {
    /// TCP connection.
    pub connect: Percentiles,
    /// Full TLS handshake.
    pub full_handshake: Percentiles,
    /// Resumed TLS handshake.
    pub resumed_handshake: Percentiles,
    /// From sending the request to the first byte of the response.
    pub first_byte: Percentiles,
    /// From the first byte to the last.
    pub last_byte: Percentiles,
}

/// TLS handshakes with the same negotiated parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Negotiated {
    /// `1.2` or `1.3`.
    pub version: Name,
    /// Cipher suite, by IANA's name.
    pub suite: Name,
    /// Key exchange group, by IANA's name; `None` for resumption in TLS 1.2, which has no key
    /// exchange.
    pub group: Option<Name>,
    /// Full handshakes completed.
    pub full: u64,
    /// Handshakes that resumed.
    pub resumed: u64,
}

impl From<&(Agreed, [u64; 2])> for Negotiated {
    fn from((agreed, [full, resumed]): &(Agreed, [u64; 2])) -> Self {
        Self {
            version: agreed.version().into(),
            suite: agreed.suite().into(),
            group: agreed.group().map(Name::from),
            full: *full,
            resumed: *resumed,
        }
    }
}

/// Connections to one address of the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressFigures {
    /// The address with its port.
    pub address: SocketAddr,
    /// Connections made to it.
    pub connections: u64,
    /// How often it did not accept a connection, so that the next address was tried.
    pub passed_over: u64,
    /// Why it was left out of the run: it did not accept a connection beforehand. `None` if it
    /// did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<String>,
}

impl AddressFigures {
    /// Without connections so far.
    pub(crate) fn new(address: SocketAddr, unreachable: Option<String>) -> Self {
        Self { address, connections: 0, passed_over: 0, unreachable }
    }
}

/// Figures of one page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageFigures {
    /// Requests answered with an allowed status.
    pub ok: u64,
    /// Requests that failed.
    pub failed: u64,
    /// From intended start to last byte.
    pub response: Percentiles,
    /// Its assets; `None` for a page without.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assets: Option<AssetFigures>,
    /// From its intended start to the last byte of the page and its assets; `None` for a page
    /// without assets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_load: Option<Percentiles>,
}

/// Figures of a class of customers, or of an entry of the arrivals; the counts are as in
/// [`Totals`](crate::totals::Totals).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "as in Totals")]
pub struct GroupFigures {
    pub name: String,
    pub offered: u64,
    pub sessions_returned: u64,
    pub not_started: u64,
    pub started: u64,
    pub admitted: u64,
    /// Share of the admitted sessions ended in the window that completed.
    pub completed_ratio: f64,
    pub completed: u64,
    pub refused: u64,
    pub refused_by_kind: BTreeMap<Name, u64>,
    pub failed: u64,
    pub failed_by_kind: BTreeMap<Name, u64>,
    pub abandoned: u64,
    pub abandoned_by_stage: BTreeMap<Name, u64>,
    pub cut_off: u64,
    pub requests_ok: u64,
    pub requests_failed: u64,
    pub requests_reloaded: u64,
    /// From intended start to last byte.
    pub response: Percentiles,
}

/// A check or an extraction of the scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckFigures {
    /// The page that it is of.
    pub page: String,
    /// `check`, `soft_check` or `extraction`.
    pub kind: Name,
    /// The expectation, as written in the scenario.
    pub expected: String,
    /// How often it failed in the window.
    pub failed: u64,
}

/// A check that responses failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FailedCheck {
    /// The page of the response or request.
    pub page: String,
    /// `check`, `extraction`, `not_offered`, `unsendable`, `redirect_elsewhere` or `rows_used_up`, as in
    /// [`Totals::failed_by_kind`](crate::totals::Totals::failed_by_kind); or `soft_check`, which
    /// fails no session.
    pub kind: Name,
    /// The expectation, as written in the scenario.
    pub expected: String,
    /// What was found the first time: about a hundred characters in one line, without control
    /// characters.
    pub example: String,
    /// How often it failed in the window.
    pub count: u64,
}
