//! CPU time used in a window.

/// CPU time over a window: from its first sample to its last.
#[derive(Default)]
pub struct Busy {
    first: Option<(f64, f64)>,
    last: (f64, f64),
}

impl Busy {
    /// Takes a sample: the CPU seconds used until then.
    pub fn note(&mut self, at_s: f64, cpu_s: f64) {
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
        let mut busy = Busy::default();
        assert_eq!(busy.cpus(), 0.0);
        busy.note(4.0, 10.0);
        assert_eq!(busy.cpus(), 0.0);
        busy.note(5.0, 10.9);
        busy.note(6.0, 11.0);
        assert_eq!(busy.cpus(), 0.5);
    }
}
