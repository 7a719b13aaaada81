//! Checks of a plan.

use std::net::SocketAddr;
use std::time::SystemTime;

use super::Plan;
use crate::arrivals::Arrivals;
use crate::client::connections::KeepAlive;
use crate::client::target::Target;
use crate::client::tls::rules::{TicketsOf, TlsVersions};
use crate::error::Error;

impl Plan {
    /// Restricts attacks to loopback unless [`attack_remote`](Self::attack_remote) is set.
    ///
    /// # Errors
    /// One of the target's addresses is not on loopback.
    pub(crate) fn check_reach(&self, addresses: &[SocketAddr]) -> Result<(), Error> {
        let is_attack = self.scenario.is_attack() || self.forged_tickets;
        let far = addresses.iter().find(|address| !address.ip().to_canonical().is_loopback());
        match far {
            Some(far) if is_attack && !self.attack_remote => Err(Error::Plan {
                key: "target",
                rule: format!("{far} is not on loopback, and this run is an attack"),
                remedy: "attack only your own service; --attack-remote confirms that it is yours",
            }),
            _ => Ok(()),
        }
    }

    /// Checks every value that has a range.
    ///
    /// # Errors
    /// The first value out of range.
    pub fn check(&self) -> Result<(), Error> {
        let scale_ok = |scale: f64| scale.is_finite() && scale > 0.0 && scale <= 1000.0;
        let wrong = |key, rule: String, remedy| Err(Error::Plan { key, rule, remedy });
        Target::parse(&self.target)?;
        if !scale_ok(self.time_scale) {
            return wrong(
                "time_scale",
                format!("{} must be above 0 and at most 1000", self.time_scale),
                "1 leaves times unchanged",
            );
        }
        if !scale_ok(self.patience_scale) {
            return wrong(
                "patience_scale",
                format!("{} must be above 0 and at most 1000", self.patience_scale),
                "1 leaves patience unchanged",
            );
        }
        if let Some(at) = self.start_at {
            self.check_start(at)?;
        }
        if self.measure.is_zero() || self.warm_up.saturating_add(self.measure) > Self::LONGEST {
            return wrong(
                "measure",
                format!("{:?} after {:?} of warm-up", self.measure, self.warm_up),
                "must be above 0 and, with the warm-up, at most a day",
            );
        }
        if self.forged_tickets && (!self.insecure || self.tls == TlsVersions::Only12) {
            return wrong(
                "forged_tickets",
                "forged tickets need TLS 1.3 and an unverified certificate".to_owned(),
                "use --insecure and offer TLS 1.3",
            );
        }
        if self.tickets == Some(TicketsOf::One) && self.tls == TlsVersions::Only12 {
            return wrong(
                "tickets",
                "one ticket for all handshakes needs TLS 1.3".to_owned(),
                "offer TLS 1.3, or use the tickets of all customers",
            );
        }
        if let Some(share) = self.full_share
            && !(0.0..=1.0).contains(&share)
        {
            return wrong("full_share", format!("{share} must be 0 to 1"), "0.3 is 30 %");
        }
        if self.forged_tickets && (self.full_share.is_some() || self.tickets.is_some()) {
            return wrong(
                "forged_tickets",
                "customers with forged tickets have no others".to_owned(),
                "leave out the share of full handshakes and the choice of tickets",
            );
        }
        if self.max_in_flight == 0 {
            return wrong("max_in_flight", "0 customers".to_owned(), "must be at least 1");
        }
        let has_closed = |arrivals: Arrivals| arrivals.has_closed();
        if self.keep == KeepAlive::Customer && !self.arrivals().is_ok_and(has_closed) {
            return wrong(
                "keep",
                "customers with a single session have no connection to keep".to_owned(),
                "use the closed model, or keep connections for a session",
            );
        }
        if let Ok(arrivals) = self.arrivals() {
            if arrivals.models().len() > Arrivals::MODELS {
                return wrong(
                    "arrivals",
                    format!("{} entries", arrivals.models().len()),
                    "use at most 100",
                );
            }
            self.check_classes(&arrivals)?;
        }
        if self.customers == Some(0) {
            return wrong("customers", "0 customers".to_owned(), "must be at least 1");
        }
        self.offer().map(drop)
    }

    /// Checks that the common start lies ahead, within a day.
    fn check_start(&self, at: SystemTime) -> Result<(), Error> {
        let wrong = |rule| Err(Error::Plan { key: "start_at", rule, remedy: START_REMEDY });
        let now = SystemTime::now();
        match at.duration_since(now) {
            Err(past) => wrong(format!("was {:.1} s ago", past.duration().as_secs_f64())),
            Ok(left) if left > Self::LONGEST => {
                wrong(format!("is {:.1} h ahead, at most 24", left.as_secs_f64() / 3600.0))
            }
            Ok(_) => Ok(()),
        }
    }

    /// Checks that every class named by arrivals exists, and that arrivals without a class
    /// can draw one.
    fn check_classes(&self, arrivals: &Arrivals) -> Result<(), Error> {
        let classes = self.scenario.classes();
        let names: Vec<&str> = classes.iter().map(|class| class.name.as_str()).collect();
        for name in arrivals.classes().iter().flatten() {
            if name.is_empty() || !names.contains(&name.as_str()) {
                return Err(Error::Plan {
                    key: "arrivals",
                    rule: format!("{name:?} is not a class of {}", self.scenario.name()),
                    remedy: "name one of its [[classes]], or leave class out",
                });
            }
        }
        let nobody = classes.iter().all(|class| class.share == 0.0);
        if nobody && arrivals.classes().iter().any(Option::is_none) {
            return Err(Error::Plan {
                key: "arrivals",
                rule: "name no class, and all classes of the scenario have share 0".to_owned(),
                remedy: "name a class, such as rate = 5, class = \"bots\"",
            });
        }
        Ok(())
    }
}

const START_REMEDY: &str = "give every shard the same instant, some seconds ahead, such as \
                            $(date -u -d '+20 seconds' +%FT%TZ)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn attacks_are_restricted_to_loopback_unless_remote_targets_are_allowed() {
        let reach = |plan: &Plan, addresses: &[&str]| {
            let parsed: Vec<SocketAddr> =
                addresses.iter().map(|address| address.parse().unwrap()).collect();
            plan.check_reach(&parsed)
        };
        let (near, far) = (["127.0.0.9:443", "[::1]:443", "[::ffff:127.0.0.1]:1"], "192.0.2.1:443");
        let flood = Scenario::built_in("handshake-flood").unwrap();
        let mut plan = Plan::new(flood, "https://localhost");
        assert!(reach(&plan, &near).is_ok());
        let error = reach(&plan, &[near[0], far]).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("192.0.2.1:443 is not on loopback"), "{error}");
        plan.attack_remote = true;
        assert!(reach(&plan, &[far]).is_ok());
        let mut plan = Plan::new(Scenario::built_in("auction-bots").unwrap(), "https://localhost");
        assert!(reach(&plan, &[far]).is_ok());
        plan.forged_tickets = true;
        assert!(reach(&plan, &[far]).is_err());
    }
}
