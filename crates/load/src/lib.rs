//! Workload models, arrivals, the customer and the recorder.
