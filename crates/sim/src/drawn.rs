//! Scenarios that nobody chose: each input is drawn at random from all that is
//! sensible. The catalogue is what constants are tuned on; these show whether
//! they hold elsewhere too.
//!
//! A scenario follows from its number alone and is written as a file, so that one
//! that went wrong can be shown, changed and played again.

use super::random::Random;
use super::scenario::{AfterFailure, Customers, Scenario};

/// The loads of each: below the capacity, above it, and far above it.
const LOADS: [f64; 3] = [0.9, 2.0, 10.0];
/// Sessions per second: with fewer, a run is mostly chance.
const CAPACITY_PER_S: std::ops::RangeInclusive<f64> = 30.0..=1500.0;
/// Share of the gate that accepting everybody may take, each attempt of those who come
/// back included: with more, what is best
/// possible depends on which connections the kernel refuses, and is not known.
const ACCEPTING: f64 = 0.5;
/// Arrivals of a run at most.
const MOST_ARRIVALS: f64 = 1e6;

impl Scenario {
    /// The drawn scenario of a number, `drawn-17` say, and its file.
    ///
    /// What could not work on an idle machine, or would take long to simulate, is
    /// drawn again.
    pub fn drawn(number: u64) -> (Self, String) {
        let name = format!("drawn-{number}");
        let mut random = Random::new(number);
        loop {
            let text = Draw::new(&mut random).text();
            let read = Self::from_toml(&text, &name);
            let scenario = read.unwrap_or_else(|mistakes| panic!("{mistakes}\n{text}"));
            if is_sensible(&scenario) {
                return (scenario, text);
            }
        }
    }
}

fn is_sensible(scenario: &Scenario) -> bool {
    let capacity = scenario.capacity_per_s();
    let heaviest = LOADS.into_iter().fold(0.0, f64::max);
    let per_s = capacity * heaviest * scenario.arrivals.highest();
    let attempts = |class: &Customers| match class.after_failure {
        AfterFailure::Leaves => 1.0,
        AfterFailure::Returns { times, .. } => 1.0 + f64::from(times),
    };
    let attempts: f64 = scenario.customers.iter().map(|class| class.share * attempts(class)).sum();
    CAPACITY_PER_S.contains(&capacity)
        && per_s * scenario.duration_s <= MOST_ARRIVALS
        && per_s * attempts * scenario.work.accept <= ACCEPTING * scenario.gate.cores
}

/// A file in the making.
struct Draw<'r> {
    random: &'r mut Random,
    text: String,
    about: Vec<String>,
}

/// Inputs that others follow from; times in seconds.
struct Pace {
    /// From the first request of a session to its last.
    session_s: f64,
    /// Work and waits of one request on an idle machine.
    request_s: f64,
    /// When the load steps up, if it does, and when it is watched.
    step_s: f64,
    watch_from_s: f64,
    duration_s: f64,
}

impl<'r> Draw<'r> {
    fn new(random: &'r mut Random) -> Self {
        Self { random, text: String::new(), about: Vec::new() }
    }

    fn text(mut self) -> String {
        let session_s = self.log(0.5, 20.0);
        let step_s = self.between(2.0, 6.0);
        let watch_from_s = (step_s + 3.0 + 2.0 * session_s).ceil();
        let duration_s = watch_from_s + (3.0 * session_s).max(25.0).ceil();
        let mut pace = Pace { session_s, request_s: 0.0, step_s, watch_from_s, duration_s };
        let cores = self.pick(&[0.5, 1.0, 1.0, 1.5, 2.0, 4.0]);
        let hosts = self.hosts(cores, &mut pace);
        self.customers(&pace);
        self.arrivals(&pace);
        self.attacks(&pace);
        self.changes(cores, hosts, &pace);
        self.telemetry(&pace);
        format!(
            "about = \"Drawn: {}.\"\nloads = {LOADS:?}\nduration = \"{duration_s}s\"\n\
             watch_from = \"{watch_from_s}s\"\n{}",
            self.about.join(", "),
            self.text
        )
    }

    /// Gate, upstream, database and what work costs; whether the upstream has a
    /// host of its own.
    fn hosts(&mut self, cores: f64, pace: &mut Pace) -> bool {
        let full = self.log(100e-6, 3e-3);
        let resumed = self.log(20e-6, 300e-6).min(full);
        let first = self.log(50e-6, 5e-3);
        let tilt = self.between(-1.0, 1.0);
        let later = (first * 10f64.powf(tilt)).clamp(20e-6, 10e-3);
        let gate_request = self.log(30e-6, 300e-6);
        pace.request_s = gate_request + first.max(later);
        let accept = self.log(8e-6, 60e-6);
        let unattributed = self.between(0.0, 0.5);
        let scv = self.pick(&[0.25, 0.5, 1.0, 1.5, 3.0, 6.0]);
        let own_host = self.chance(0.5);
        self.about.push(format!("{cores} {}", if cores <= 1.0 { "core" } else { "cores" }));
        let mut threads = cores.ceil() * self.pick(&[1.0, 2.0, 8.0, 32.0]);
        let mut upstream = String::new();
        if own_host {
            let cores = self.pick(&[0.5, 1.0, 2.0, 4.0]);
            let visible = self.chance(0.6);
            threads = threads.max(8.0);
            self.about
                .push(format!("a site {}on {cores}", if visible { "" } else { "out of sight " }));
            upstream += &format!("cores = {cores}\nvisible = {visible}\n");
        }
        if self.chance(0.3) {
            let wait = self.log(1e-3, 60e-3);
            threads = self.pick(&[16.0, 64.0, 256.0]);
            pace.request_s += wait;
            self.about.push(format!("waits of {:.0} ms in {threads} threads", wait * 1e3));
            upstream += &format!("wait = {}\n", time(wait));
        }
        self.text += &format!("\n[gate]\ncores = {cores}\n");
        self.line_of_newcomers();
        self.text += &format!(
            "\n[work]\naccept = {}\nfull_handshake = {}\nresumed_handshake = {}\n\
             gate_request = {}\ngate_unattributed = {unattributed:.2}\nfirst_request = {}\n\
             later_request = {}\nrequest_scv = {scv}\n",
            time(accept),
            time(full),
            time(resumed),
            time(gate_request),
            time(first),
            time(later),
        );
        self.text += &format!("\n[upstream]\nthreads = {threads}\n{upstream}");
        if self.chance(0.2) {
            let request = self.log(100e-6, 5e-3);
            pace.request_s += request;
            self.about.push("a database".to_owned());
            let cores = self.pick(&[0.5, 1.0, 2.0]);
            self.text += &format!("\n[database]\ncores = {cores}\nrequest = {}\n", time(request));
        }
        own_host
    }

    /// How long new sessions are held and sessions count as active.
    fn line_of_newcomers(&mut self) {
        let hold = if self.chance(0.15) { 0.0 } else { self.log(0.02, 1.0) };
        let (keep_alive, linger) = (self.log(0.05, 10.0), self.log(0.2, 10.0));
        self.text += &format!(
            "hold = {}\nkeep_alive = {}\nlinger = {}\n",
            time(hold),
            time(keep_alive),
            time(linger)
        );
    }

    fn customers(&mut self, pace: &Pace) {
        let second = if self.chance(0.3) { self.between(0.05, 0.5) } else { 0.0 };
        for (name, share) in [("most", 1.0 - second), ("others", second)] {
            if share == 0.0 {
                continue;
            }
            let requests = self.log(1.0, 40.0);
            let longest = requests * self.pick(&[1.0, 2.0, 5.0, 10.0]);
            let session_s = pace.session_s * self.between(0.5, 1.0);
            let think = (session_s / requests).min(7.0);
            // Patience is long enough for the response times of a server at low load.
            let patience = self.log(0.15, 10.0).max(20.0 * pace.request_s);
            let close_when_done = self.chance(0.5);
            let weight = if name == "others" { self.log(0.3, 4.0) } else { 1.0 };
            self.text += &format!(
                "\n[[customers]]\nname = \"{name}\"\nshare = {share:.4}\nrequests = {requests:.1}\n\
                 requests_max = {:.0}\nthink = {}\npatience = {}\n\
                 close_when_done = {close_when_done}\nweight = {weight:.2}\n",
                longest.ceil().max(1.0),
                time(think),
                time(patience),
            );
            self.about.push(format!("{requests:.1} requests a session"));
            if self.chance(0.3) {
                let back_off = self.log(0.05, 5.0);
                let attempts = self.pick(&[2, 3, 5]);
                self.text += &format!("back_off = {}\nattempts = {attempts}\n", time(back_off));
                self.about.push("who come back".to_owned());
            }
        }
    }

    fn arrivals(&mut self, pace: &Pace) {
        let step = format!("{:.1}s", pace.step_s);
        let (what, text) = match self.pick(&[0, 0, 0, 1, 1, 1, 2, 3, 3, 4]) {
            0 => return,
            1 => {
                let calm = self.log(0.02, 0.4);
                let level = format!("{calm:.2}");
                let what = format!("a step from {level}");
                (
                    what,
                    format!(
                        "segments = [{{ level = {level} }}, {{ from = \"{step}\", level = 1.0 }}]"
                    ),
                )
            }
            2 => {
                let segments = "{ level = 0.05, to = 1.0 }";
                let text = format!("segments = [{segments}, {{ from = \"{step}\", level = 1.0 }}]");
                ("a ramp".to_owned(), text)
            }
            3 => {
                let (factor, lasts) = (self.between(1.5, 4.0), self.log(0.1, 3.0));
                let share = self.between(0.05, 0.2);
                let text = format!(
                    "bursts = {{ factor = {factor:.1}, lasts = {}, share = {share:.2} }}",
                    time(lasts)
                );
                ("bursts".to_owned(), text)
            }
            _ => {
                let (period, amplitude) = (self.log(3.0, 30.0), self.between(0.2, 0.9));
                let period = time(period);
                let text = format!("wave = {{ period = {period}, amplitude = {amplitude:.2} }}");
                ("a wave".to_owned(), text)
            }
        };
        self.about.push(what);
        self.text += &format!("\n[arrivals]\n{text}\n");
    }

    fn attacks(&mut self, pace: &Pace) {
        if !self.chance(0.12) {
            return;
        }
        let kind = self.pick(&["handshakes", "forged-tickets", "shared-ticket", "lingering"]);
        let load = self.log(0.2, 2.0);
        self.about.push(kind.to_owned());
        self.text += &format!(
            "\n[[attacks]]\nkind = \"{kind}\"\nload = {load:.2}\nfrom = \"{:.1}s\"\n",
            pace.step_s
        );
    }

    /// A cost rises or a resource shrinks, and in half of the cases returns to its old value.
    fn changes(&mut self, cores: f64, own_host: bool, pace: &Pace) {
        if !self.chance(0.25) {
            return;
        }
        let watched_s = pace.duration_s - pace.watch_from_s;
        let from = pace.watch_from_s + watched_s * self.between(0.1, 0.4);
        let until = from + watched_s * self.between(0.2, 0.4);
        let ends = self.chance(0.5);
        let (what, now, then) = match self.pick(&[0, 0, 1]) {
            0 => {
                let (share, seen) = (self.between(0.4, 0.8), self.chance(0.5));
                let what = if seen { "a quota" } else { "a neighbour" };
                let cores_are = |cores: f64| {
                    format!("cores_of = \"gate\"\ncores = {cores:.2}\nseen = {seen}\n")
                };
                (what.to_owned(), cores_are(cores * share), cores_are(cores))
            }
            _ => {
                let factor = self.between(1.3, 3.0);
                let over = if own_host { 0.0 } else { self.between(0.0, 5.0) };
                let costlier = |factor: f64| {
                    format!("requests = {factor:.3}\nover = {}\n", time(over.min(until - from)))
                };
                (
                    format!("pages {factor:.1} times as costly"),
                    costlier(factor),
                    costlier(1.0 / factor),
                )
            }
        };
        self.about.push(what);
        self.text += &format!("\n[[changes]]\nat = {}\n{now}", time(from));
        if ends {
            self.text += &format!("\n[[changes]]\nat = {}\n{then}", time(until));
        }
    }

    fn telemetry(&mut self, pace: &Pace) {
        let mut text = String::new();
        if self.chance(0.25) {
            let late = self.log(0.02, 0.6);
            self.about.push(format!("readings {:.0} ms late", late * 1e3));
            text += &format!("late = {}\n", time(late));
        }
        if self.chance(0.2) {
            let (factor, noise) = (self.between(0.7, 1.3), self.between(0.0, 0.3));
            self.about.push("wrong readings".to_owned());
            text += &format!("use_factor = {factor:.2}\nnoise = {noise:.2}\n");
        }
        if self.chance(0.06) {
            let from = self.between(pace.step_s, pace.watch_from_s);
            let until = from + self.log(1.0, 8.0);
            self.about.push("no readings for a while".to_owned());
            text += &format!("blind = {{ from = {}, until = {} }}\n", time(from), time(until));
        }
        if !text.is_empty() {
            self.text += &format!("\n[telemetry]\n{text}");
        }
    }

    fn chance(&mut self, share: f64) -> bool {
        self.random.uniform() <= share
    }

    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.random.uniform()
    }

    /// Uniform in the logarithm: as often between 1 and 10 as between 10 and 100.
    fn log(&mut self, low: f64, high: f64) -> f64 {
        low * (high / low).powf(self.random.uniform())
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        let place = (self.random.uniform() * of.len() as f64) as usize;
        of[place.min(of.len() - 1)]
    }
}

/// A time as a file has it: whole microseconds below 10 ms, else milliseconds.
fn time(seconds: f64) -> String {
    match seconds {
        s if s < 10e-3 => format!("\"{:.0}us\"", s * 1e6),
        s => format!("\"{:.0}ms\"", s * 1e3),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_gives_the_same_file_every_time_and_another_number_another_file() {
        let (scenario, text) = Scenario::drawn(17);
        assert_eq!((scenario.name.as_str(), &text), ("drawn-17", &Scenario::drawn(17).1));
        assert_ne!(text, Scenario::drawn(18).1);
        assert_eq!(Scenario::from_toml(&text, "drawn-17").unwrap().work, scenario.work);
    }

    #[test]
    fn every_kind_of_service_and_of_course_is_drawn_and_none_always() {
        let drawn: Vec<String> = (1..=300).map(|number| Scenario::drawn(number).1).collect();
        for line in [
            "visible = true",
            "visible = false",
            "wait = ",
            "[database]",
            "name = \"others\"",
            "back_off = ",
            "level = ",
            "bursts = ",
            "wave = ",
            "[[attacks]]",
            "[[changes]]",
            "late = ",
            "noise = ",
            "blind = ",
            "hold = \"0us\"",
            "cores = 4",
        ] {
            let share = drawn.iter().filter(|text| text.contains(line)).count() as f64 / 300.0;
            assert!((0.02..0.9).contains(&share), "{line}: {share}");
        }
    }
}
