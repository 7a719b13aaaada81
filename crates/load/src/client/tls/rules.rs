//! Settings of TLS: versions, cipher suites, groups, client certificate, resumption.

use super::algorithms::{KeyExchangeGroup, Suite};
use super::certificate::ClientCertificate;
use crate::word::words;

/// The TLS settings of a scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TlsRules {
    /// TLS versions to offer.
    pub versions: TlsVersions,
    /// See [`Plan::suites`](crate::Plan::suites).
    pub suites: Vec<Suite>,
    /// See [`Plan::groups`](crate::Plan::groups).
    pub groups: Vec<KeyExchangeGroup>,
    /// See [`Plan::certificate`](crate::Plan::certificate).
    pub certificate: Option<ClientCertificate>,
    /// See [`Plan::full_share`](crate::Plan::full_share).
    pub full_share: Option<f64>,
    /// See [`Plan::tickets`](crate::Plan::tickets).
    pub tickets: Option<TicketsOf>,
}

/// The tickets used for resumption.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TicketsOf {
    /// The customer's own.
    Customer,
    /// Those of all customers: the newest unused one.
    All,
    /// One TLS 1.3 ticket, obtained before the run and used for every handshake.
    One,
}

words!(TicketsOf: "customer" => Customer, "all" => All, "one" => One);

/// TLS versions that customers offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersions {
    /// 1.3 and 1.2.
    #[default]
    Both,
    /// 1.2 only.
    Only12,
    /// 1.3 only.
    Only13,
}

words!(TlsVersions: "both" => Both, "1.2" => Only12, "1.3" => Only13);
