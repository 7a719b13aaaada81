//! CPU time used in a window.

/// CPU time from the first sample of a window to the last.
#[derive(Default)]
pub struct CpuUse {
    first: Option<(f64, f64)>,
    last: (f64, f64),
}

impl CpuUse {
    /// Adds a sample: the CPU seconds used until then.
    pub fn add(&mut self, at_s: f64, cpu_s: f64) {
        self.first.get_or_insert((at_s, cpu_s));
        self.last = (at_s, cpu_s);
    }

    /// Processors in use on average; 0 where no time has passed.
    pub fn cpus(&self) -> f64 {
        let (at_s, cpu_s) = self.first.unwrap_or(self.last);
        if self.last.0 > at_s { (self.last.1 - cpu_s) / (self.last.0 - at_s) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_is_counted_from_the_first_sample_to_the_last() {
        let mut cpu_use = CpuUse::default();
        assert_eq!(cpu_use.cpus(), 0.0);
        cpu_use.add(4.0, 10.0);
        assert_eq!(cpu_use.cpus(), 0.0);
        cpu_use.add(5.0, 10.9);
        cpu_use.add(6.0, 11.0);
        assert_eq!(cpu_use.cpus(), 0.5);
    }
}
