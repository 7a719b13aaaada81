//! What of a recording is no part of the scenario, and why.

use std::collections::BTreeMap;

use crate::word::counted;

/// Most malformed entries that are told one by one, and most origins that are named.
const TOLD: usize = 10;

/// Most characters of what is wrong with one.
const LONGEST_RULE: usize = 200;

/// Why an entry is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// `data:`, `blob:`, `chrome-extension:` and the like.
    Scheme,
    Grpc,
    WebSocket,
    EventStream,
    ServiceWorker,
    Aborted,
    Cached,
    Method,
    Address,
    Body,
    Encoded,
    NoPage,
    FailedAsset,
    AssetElsewhere,
    Braces,
    TooMany,
}

impl Reason {
    /// What these entries are, for more than one.
    fn text(self) -> &'static str {
        match self {
            Self::Scheme => "with data: and other addresses that are not http or https",
            Self::Grpc => "of gRPC, which the load generator does not speak",
            Self::WebSocket => "of WebSockets, which the load generator does not speak",
            Self::EventStream => "of event streams, which have no end",
            Self::ServiceWorker => "answered by a service worker of the browser",
            Self::Aborted => "without an answer: aborted, blocked or failed",
            Self::Cached => "answered from the browser's cache",
            Self::Method => "with a method other than GET, HEAD, POST, PUT, PATCH and DELETE",
            Self::Address => "with an address of more than 8000 bytes",
            Self::Body => "whose body was not recorded, such as an uploaded file",
            Self::Encoded => "whose body is not the base64 that its `encoding` states",
            Self::NoPage => "for a page that was requested before the recording began",
            Self::FailedAsset => "for assets that failed (status 400 or more)",
            Self::AssetElsewhere => "for assets that redirect to other origins",
            Self::Braces => "with a name in braces in their body, which would be a parameter",
            Self::TooMany => "beyond the largest scenario",
        }
    }
}

/// The entries that were left out.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    counts: BTreeMap<Reason, u64>,
    origins: BTreeMap<String, u64>,
    /// Index and what is wrong.
    malformed: Vec<(usize, String)>,
}

impl LeftOut {
    pub(super) fn add(&mut self, reason: Reason) {
        *self.counts.entry(reason).or_default() += 1;
    }

    pub(super) fn malformed(&mut self, index: usize, rule: String) {
        self.malformed.push((index, rule.chars().take(LONGEST_RULE).collect()));
    }

    pub(super) fn other_origins(&mut self, origins: BTreeMap<String, u64>) {
        self.origins = origins;
    }

    /// A line for each reason.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for (index, rule) in self.malformed.iter().take(TOLD) {
            notes.push(format!("left out: entry {index} is malformed: {rule}"));
        }
        if self.malformed.len() > TOLD {
            let more = self.malformed.len() - TOLD;
            notes.push(format!("left out: {more} more entries are malformed"));
        }
        let others: u64 = self.origins.values().sum();
        if others > 0 {
            let mut named: Vec<_> = self.origins.iter().collect();
            named.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            let more = if named.len() > TOLD { ", ..." } else { "" };
            let named: Vec<_> =
                named.iter().take(TOLD).map(|(name, count)| format!("{name} {count}")).collect();
            let named = named.join(", ");
            notes.push(format!(
                "left out: {} to other origins ({named}{more})",
                counted(others, "request")
            ));
        }
        for (reason, count) in &self.counts {
            notes.push(format!("left out: {} {}", counted(*count, "request"), reason.text()));
        }
        notes
    }
}
