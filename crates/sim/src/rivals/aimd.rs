//! Additive increase, multiplicative decrease: with each response the limit grows
//! by one if at least half of it is used; a response that took too long, or whose client had
//! left, multiplies it by 0.9.
//!
//! Source: Netflix's concurrency-limits library, `AIMDLimit`: 20 at first and at
//! least, time-out 5 s; `ConcurrencyLimitServerInterceptor`: a call that its client
//! cancels counts as dropped.
//! Deviation: a response's "in flight" is the number at the response, not at the
//! request.
//! Swept: the time-out (5 s at the customers' pace, 50 ms, 25 ms), the least limit
//! (20, 1), the greatest (40, 60, 80, and the library's 200), and on admission whether
//! refused sessions stay queued or are refused at once. The greatest limit decides: at 200
//! no response is late before customers leave, and they leave before the limit has fallen
//! (80 % is carried on admission). 60 is best there (all is carried); with 80 a tenth of
//! the admitted sessions is lost, and 40 is too few for the threads of `unseen-slow`
//! (69 %). On admission a customer who leaves during the handshake counts as dropped;
//! without it 70 % instead of 80 % is carried at 200.

use super::Pace;
use super::limit::Limit;
use crate::policy::Response;
use tidegate_control::Time;

const LEAST: f64 = 20.0;
const MOST: f64 = 60.0;

/// See the module's head.
#[derive(Debug)]
pub(crate) struct Aimd {
    limit: f64,
    timeout_s: f64,
}

impl Aimd {
    pub(crate) fn new(pace: Pace) -> Self {
        Self { limit: LEAST, timeout_s: pace.of(5.0) }
    }
}

impl Limit for Aimd {
    fn limit(&self) -> f64 {
        self.limit
    }

    fn learn(&mut self, _: Time, response: &Response, in_flight: u32) {
        if response.is_dropped || response.took_s > self.timeout_s {
            self.limit = (self.limit * 0.9).floor();
        } else if f64::from(in_flight) * 2.0 >= self.limit {
            self.limit += 1.0;
        }
        self.limit = self.limit.clamp(LEAST, MOST);
    }

    fn name(&self) -> &'static str {
        "AIMD"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aimd_by_hand() {
        let mut aimd = Aimd::new(Pace(1.0));
        let mut after = |took_s, is_dropped, in_flight| {
            aimd.learn(
                Time::ZERO,
                &Response { took_s, is_dropped, ..Response::default() },
                in_flight,
            );
            aimd.limit()
        };
        assert_eq!(after(0.1, false, 9), 20.0, "less than half is used");
        assert_eq!(after(0.1, false, 10), 21.0);
        assert_eq!(after(0.1, false, 11), 22.0);
        assert_eq!(after(0.1, false, 11), 23.0);
        // 23 × 0.9 = 20.7, without the fraction; then the least.
        assert_eq!(after(5.1, false, 20), 20.0);
        assert_eq!((0..30).map(|_| after(0.1, false, 200)).last(), Some(50.0));
        assert_eq!(after(0.1, true, 50), 45.0);
        assert_eq!((0..300).map(|_| after(0.1, false, 200)).last(), Some(60.0));
    }
}
