//! The resources that are sampled.

/// A quantity that a sample has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Metric {
    /// Share of the time since the sample before in which the processor of this index was busy,
    /// in thousandths; of all processes.
    CoreBusy = 0,
    /// Tasks of the machine that run or wait for a processor.
    Running = 1,
    /// CPU time of the process, nanoseconds since its start.
    ProcessCpu = 2,
    /// Context switches of the process because it waited for something, since its start.
    Voluntary = 3,
    /// Context switches of the process because another task got its processor.
    Involuntary = 4,
    /// Time that the threads of the process have waited for a processor, nanoseconds.
    RunQueueWait = 5,
    /// Resident memory of the process, bytes.
    Resident = 6,
    /// Connections that wait to be accepted at the port of this index; not in every sample.
    AcceptQueue = 7,
    /// TCP segments that the machine has sent again.
    Retransmitted = 8,
    /// Connections that the machine has dropped because an accept queue was full.
    ListenOverflows = 9,
    /// Time in which some task of the machine waited for a processor, microseconds.
    PressureCpu = 10,
    /// The same for memory.
    PressureMemory = 11,
    /// The same for input and output.
    PressureIo = 12,
    /// CPU time of the control group, nanoseconds.
    GroupCpu = 13,
    /// Time for which the quota of the control group stopped it, nanoseconds.
    GroupThrottled = 14,
    /// Memory of the control group, bytes.
    GroupMemory = 15,
    /// Time in which some task of the control group waited for a processor, microseconds.
    GroupPressureCpu = 16,
    /// Quota of the control group or of one above it, thousandths of a processor; absent without.
    GroupQuota = 17,
    /// Time in which some task of the control group waited for memory, microseconds.
    GroupPressureMemory = 18,
    /// The same for input and output.
    GroupPressureIo = 19,
}

impl Metric {
    /// Every metric.
    pub const ALL: [Self; 20] = [
        Self::CoreBusy,
        Self::Running,
        Self::ProcessCpu,
        Self::Voluntary,
        Self::Involuntary,
        Self::RunQueueWait,
        Self::Resident,
        Self::AcceptQueue,
        Self::Retransmitted,
        Self::ListenOverflows,
        Self::PressureCpu,
        Self::PressureMemory,
        Self::PressureIo,
        Self::GroupCpu,
        Self::GroupThrottled,
        Self::GroupMemory,
        Self::GroupPressureCpu,
        Self::GroupQuota,
        Self::GroupPressureMemory,
        Self::GroupPressureIo,
    ];

    /// The metric of this number in a file.
    pub fn of(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The name in exports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CoreBusy => "core_busy_permille",
            Self::Running => "tasks_running",
            Self::ProcessCpu => "process_cpu_ns",
            Self::Voluntary => "voluntary_switches",
            Self::Involuntary => "involuntary_switches",
            Self::RunQueueWait => "run_queue_wait_ns",
            Self::Resident => "resident_bytes",
            Self::AcceptQueue => "accept_queue",
            Self::Retransmitted => "tcp_retransmitted",
            Self::ListenOverflows => "listen_overflows",
            Self::PressureCpu => "pressure_cpu_us",
            Self::PressureMemory => "pressure_memory_us",
            Self::PressureIo => "pressure_io_us",
            Self::GroupCpu => "group_cpu_ns",
            Self::GroupThrottled => "group_throttled_ns",
            Self::GroupMemory => "group_memory_bytes",
            Self::GroupPressureCpu => "group_pressure_cpu_us",
            Self::GroupQuota => "group_quota_millicpus",
            Self::GroupPressureMemory => "group_pressure_memory_us",
            Self::GroupPressureIo => "group_pressure_io_us",
        }
    }

    /// Whether the value only grows, so that differences count.
    pub const fn is_counter(self) -> bool {
        !matches!(
            self,
            Self::CoreBusy
                | Self::Running
                | Self::Resident
                | Self::AcceptQueue
                | Self::GroupMemory
                | Self::GroupQuota
        )
    }
}
