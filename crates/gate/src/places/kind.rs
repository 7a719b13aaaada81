//! What a connection holds its place as.

/// What a connection holds its place as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// The class is not known: the first flight is incomplete.
    FirstFlight,
    /// It sent a good ticket; the handshake that proves it is not finished.
    Unproven,
    /// A new session in the admission queue.
    Queued,
    /// Admitted as new.
    New,
    /// Of an active session, which its handshake has proved.
    Returning,
}

impl PlaceKind {
    /// How many there are.
    pub const COUNT: usize = 5;
}

/// Places that are counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Those with an incomplete first flight.
    FirstFlights,
    /// Those with a ticket and an unfinished handshake.
    Unproven,
    /// All but those of active sessions.
    Newcomers,
    /// All.
    All,
}

impl Group {
    /// All groups.
    pub const ALL: [Self; 4] = [Self::FirstFlights, Self::Unproven, Self::Newcomers, Self::All];

    /// The kinds in it; the first give way first.
    pub fn kinds(self) -> &'static [PlaceKind] {
        const ALL: &[PlaceKind] = &[
            PlaceKind::Queued,
            PlaceKind::FirstFlight,
            PlaceKind::Unproven,
            PlaceKind::New,
            PlaceKind::Returning,
        ];
        match self {
            Self::FirstFlights => &[PlaceKind::FirstFlight],
            Self::Unproven => &[PlaceKind::Unproven],
            Self::Newcomers => ALL.split_last().map_or(ALL, |(_, rest)| rest),
            Self::All => ALL,
        }
    }

    /// Whether it includes a kind.
    pub fn includes(self, kind: PlaceKind) -> bool {
        self.kinds().contains(&kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newcomers_are_all_but_those_of_active_sessions() {
        for kind in Group::All.kinds() {
            assert_eq!(Group::Newcomers.includes(*kind), *kind != PlaceKind::Returning);
        }
        assert_eq!(Group::All.kinds().len(), PlaceKind::COUNT);
    }
}
