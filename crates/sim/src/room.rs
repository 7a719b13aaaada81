//! What a run's waiting room came to.

/// What happened in the waiting room in the measuring window.
#[derive(Clone, Debug, Default)]
pub struct RoomOutcome {
    /// CPU seconds of its handshakes and pages.
    pub cpu_s: f64,
    /// Those who were admitted.
    pub stays: Vec<Stay>,
}

/// How long a customer waited in the room who was admitted.
#[derive(Clone, Copy, Debug)]
pub struct Stay {
    /// When they came, in milliseconds.
    pub came_ms: u64,
    /// When they were admitted, in seconds.
    pub admitted_at: f64,
    /// The longest time between two of their pages, in seconds.
    pub longest_gap_s: f64,
    /// When the first page with an estimate named which wait, in seconds.
    pub estimate: Option<(f64, f64)>,
}

impl RoomOutcome {
    /// Of the pairs of customers admitted from the room, the share in which the later one entered
    /// before the earlier one by more than two pages of that one; `None`: there is no pair.
    ///
    /// A customer can enter with their next page only: a pair counts as in order within twice
    /// their longest time between two.
    pub fn disorder(&self) -> Option<f64> {
        let mut stays: Vec<&Stay> = self.stays.iter().collect();
        stays.sort_by_key(|stay| std::cmp::Reverse(stay.came_ms));
        let mut later: Vec<f64> = Vec::new();
        let mut disorder = 0;
        for stay in &stays {
            let allowed_from = stay.admitted_at - 2.0 * stay.longest_gap_s;
            disorder += later.partition_point(|admitted_at| *admitted_at < allowed_from);
            let place = later.partition_point(|admitted_at| *admitted_at < stay.admitted_at);
            later.insert(place, stay.admitted_at);
        }
        let number = stays.len() as f64;
        let pairs = number * (number - 1.0) / 2.0;
        (pairs > 0.0).then(|| disorder as f64 / pairs)
    }

    /// Of the customers admitted from the room who had an estimate, the share whose first one was
    /// right within a third; `None`: there is none.
    ///
    /// An estimate counts as right, too, if its error is at most the customer's longest time
    /// between two pages: they cannot enter between these.
    pub fn estimates_kept(&self) -> Option<f64> {
        let promised = self.stays.iter().filter_map(|stay| Some((stay, stay.estimate?)));
        let (mut kept, mut all) = (0, 0);
        for (stay, (at, wait_s)) in promised {
            all += 1;
            let error_s = (stay.admitted_at - at - wait_s).abs();
            kept += usize::from(error_s <= (wait_s / 3.0).max(stay.longest_gap_s));
        }
        (all > 0).then(|| kept as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stay(came_ms: u64, admitted_at: f64) -> Stay {
        Stay { came_ms, admitted_at, longest_gap_s: 2.0, estimate: Some((0.0, 30.0)) }
    }

    #[test]
    fn a_pair_is_out_of_order_beyond_two_pages() {
        let disorder = |stays: &[Stay]| {
            RoomOutcome { stays: stays.to_vec(), ..RoomOutcome::default() }.disorder()
        };
        assert_eq!(disorder(&[stay(1, 5.0)]), None);
        // The second entered 4 s before the first: two pages. The third entered 5 s before it.
        assert_eq!(disorder(&[stay(1, 10.0), stay(2, 6.0), stay(3, 20.0)]), Some(0.0));
        assert_eq!(disorder(&[stay(1, 10.0), stay(2, 11.0), stay(3, 5.0)]), Some(2.0 / 3.0));
    }

    #[test]
    fn an_estimate_is_kept_within_a_third_or_a_page() {
        let kept = |stays: &[Stay]| {
            RoomOutcome { stays: stays.to_vec(), ..RoomOutcome::default() }.estimates_kept()
        };
        assert_eq!(kept(&[Stay { estimate: None, ..stay(1, 9.0) }]), None);
        // 30 s: 20 to 40 s.
        assert_eq!(kept(&[stay(1, 20.0), stay(2, 40.0), stay(3, 41.0), stay(4, 19.0)]), Some(0.5));
        let short = |admitted_at| Stay { estimate: Some((0.0, 1.0)), ..stay(1, admitted_at) };
        assert_eq!(kept(&[short(3.0), short(3.5)]), Some(0.5));
    }
}
