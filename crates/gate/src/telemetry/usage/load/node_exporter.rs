//! `node_cpu_seconds_total` of a node_exporter page.
//!
//! Source: the Prometheus exposition formats, text format 0.0.4; node_exporter's collector
//! `cpu`. As in `/proc/stat`, work of low priority (`nice`) yields to any other and counts as
//! idle, and so does waiting for disks; the time of guests is part of `user` and `nice`.

/// Most processors of a page.
const PROCESSORS: usize = 8192;
/// The longest line that is read.
const LINE: usize = 1024;
/// The name of the metric.
const NAME: &str = "node_cpu_seconds_total{";

/// CPU times of a machine since its start, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CpuTimes {
    /// Processors.
    pub cpus: u32,
    /// Time in which they worked.
    pub used_s: f64,
    /// Time in which they had nothing to do that would not yield.
    pub idle_s: f64,
}

impl CpuTimes {
    /// Reads a page.
    ///
    /// # Errors
    /// It has no such metric, or a line of it that cannot be read: a clause.
    pub fn read(page: &str) -> Result<Self, String> {
        let mut times = Self::default();
        let mut numbers = std::collections::BTreeSet::new();
        for line in page.lines() {
            let Some(sample) = line.strip_prefix(NAME) else { continue };
            let parsed = (line.len() <= LINE).then(|| parse(sample)).flatten();
            let Some((cpu, mode, seconds)) = parsed else {
                return Err("a line of node_cpu_seconds_total cannot be read".into());
            };
            numbers.insert(cpu);
            if numbers.len() > PROCESSORS {
                return Err(format!("it has more than {PROCESSORS} processors"));
            }
            match mode {
                "idle" | "iowait" | "nice" => times.idle_s += seconds,
                _ => times.used_s += seconds,
            }
        }
        times.cpus = numbers.len() as u32;
        match times.cpus {
            0 => Err("it has no node_cpu_seconds_total".into()),
            _ => Ok(times),
        }
    }
}

/// Reads `cpu="0",mode="idle"} 123.4`, the labels in any order, a timestamp after the value.
fn parse(sample: &str) -> Option<(u32, &str, f64)> {
    let (labels, value) = sample.split_once('}')?;
    let (mut cpu, mut mode) = (None, None);
    for label in labels.split(',').filter(|label| !label.is_empty()) {
        let (name, quoted) = label.split_once('=')?;
        let text = quoted.strip_prefix('"')?.strip_suffix('"')?;
        match name.trim() {
            "cpu" => cpu = Some(text.parse::<u32>().ok()?),
            "mode" => mode = Some(text),
            _ => {}
        }
    }
    let mut words = value.split_ascii_whitespace();
    let seconds: f64 = words.next()?.parse().ok()?;
    let sound = seconds.is_finite() && seconds >= 0.0;
    sound.then_some((cpu?, mode?, seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Of node_exporter 1.5.0, cut.
    const PAGE: &str = "\
# HELP node_cpu_guest_seconds_total Seconds the CPUs spent in guests (VMs) for each mode.
# TYPE node_cpu_guest_seconds_total counter
node_cpu_guest_seconds_total{cpu=\"0\",mode=\"nice\"} 0
# HELP node_cpu_seconds_total Seconds the CPUs spent in each mode.
# TYPE node_cpu_seconds_total counter
node_cpu_seconds_total{cpu=\"0\",mode=\"idle\"} 1000.5
node_cpu_seconds_total{cpu=\"0\",mode=\"iowait\"} 2
node_cpu_seconds_total{cpu=\"0\",mode=\"irq\"} 0
node_cpu_seconds_total{cpu=\"0\",mode=\"nice\"} 0.5
node_cpu_seconds_total{cpu=\"0\",mode=\"softirq\"} 1.25
node_cpu_seconds_total{cpu=\"0\",mode=\"steal\"} 0.25
node_cpu_seconds_total{cpu=\"0\",mode=\"system\"} 10
node_cpu_seconds_total{cpu=\"0\",mode=\"user\"} 20.5
node_cpu_seconds_total{mode=\"idle\",cpu=\"7\"} 1.5e+03 1700000000000
node_load1 0.3
";

    #[test]
    fn times_by_mode_are_added_up_over_the_processors() {
        let times = CpuTimes::read(PAGE).unwrap();
        assert_eq!(times, CpuTimes { cpus: 2, used_s: 32.0, idle_s: 2503.0 });
    }

    #[test]
    fn a_page_without_the_metric_or_with_a_broken_line_is_refused() {
        let read = |page: &str| CpuTimes::read(page).unwrap_err();
        assert_eq!(read("node_load1 0.3\n"), "it has no node_cpu_seconds_total");
        assert_eq!(read(""), "it has no node_cpu_seconds_total");
        for broken in [
            "cpu=\"0\",mode=\"user\"}",
            "cpu=\"0\",mode=\"user\"} NaN",
            "cpu=\"0\",mode=\"user\"} -1",
            "cpu=\"x\",mode=\"user\"} 1",
            "cpu=\"0\"} 1",
            "cpu=0,mode=\"user\"} 1",
            "cpu=\"0\",mode=\"user\" 1",
        ] {
            let page = format!("{PAGE}{NAME}{broken}\n");
            assert_eq!(read(&page), "a line of node_cpu_seconds_total cannot be read", "{broken}");
        }
        let long = format!("{NAME}cpu=\"0\",mode=\"user\",x=\"{}\"}} 1\n", "x".repeat(LINE));
        assert_eq!(read(&long), "a line of node_cpu_seconds_total cannot be read");
    }

    proptest! {
        #[test]
        fn no_page_panics(text in "(node_cpu_seconds_total\\{[cpumode=\",0-9} .e+-]{0,40}\n?){0,9}") {
            let _ = CpuTimes::read(&text);
        }
    }
}
