//! The machine, commit and command that every result of the benchmark carries.

use serde::Serialize;
use tidegate_host::Provenance;

/// Where and how a run was made: [`tidegate_host::Machine`] and [`Provenance`] under the
/// names that the result files use.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Processor model, as the kernel names it.
    pub processor: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Kernel name and release.
    pub kernel: String,
    /// Distribution.
    pub system: String,
    /// Commit, command line and start.
    #[serde(flatten)]
    pub provenance: Provenance,
}

impl Machine {
    /// Reads it; a text that the system does not report is "unknown".
    pub fn read() -> Self {
        let machine = tidegate_host::Machine::read();
        let known = |text: String| if text.is_empty() { "unknown".to_owned() } else { text };
        Self {
            processor: known(machine.cpu),
            processors: machine.cpus,
            kernel: format!("Linux {}", machine.kernel),
            system: known(machine.system),
            provenance: Provenance::read(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_result_keep_their_names() {
        let json = serde_json::to_value(Machine::read()).unwrap();
        for text in ["processor", "kernel", "system", "commit", "command"] {
            assert!(!json[text].as_str().unwrap().is_empty(), "{text}: {json}");
        }
        assert!(json["processors"].as_u64().unwrap() > 0);
        assert!(json["started_unix_s"].as_u64().unwrap() > 0);
        assert_eq!(json.as_object().unwrap().len(), 7);
    }
}
