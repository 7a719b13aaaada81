//! The keys of an experiment file.

use tidegate_config::Preset::{Else, Is, Required, Unset};
use tidegate_config::{Boolean, List, Number, Other, Subtable, Text, Time, Whole, Words, keys};

/// Services that come with the program.
pub const SITES: &[&str] = &["auction", "b2b", "brokerage", "shop", "tomcat", "node", "messages"];
/// Message services with their kind of security, each after what it is compared with.
pub const CONFIGURATIONS: &[&str] = &[
    "rust-clear",
    "rust-https",
    "rust-jose",
    "rust-cose",
    "rust-http-signatures",
    "rust-xml",
    "jsp-clear",
    "jsp-https",
    "soap-clear",
    "soap-wss",
];
/// The database that is a PostgreSQL server of the run's own.
pub const POSTGRESQL: &str = "postgresql";
/// Those whose cost of a password hash can be set.
pub const PASSWORD_SITES: &[&str] = &["auction", "brokerage", "shop"];
/// Kinds of the certificate that customers meet.
pub const CERTIFICATES: &[&str] = &[
    "rsa-2048",
    "rsa-3072",
    "rsa-4096",
    "ecdsa-p256",
    "ecdsa-p384",
    "ed25519",
    "ml-dsa-44",
    "ml-dsa-65",
    "ml-dsa-87",
];
/// Cipher suites that customers offer.
pub const SUITES: &[&str] = &["all", "aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"];
/// Key exchange groups that customers offer.
pub const GROUPS: &[&str] =
    &["all", "x25519", "secp256r1", "X25519MLKEM768", "SecP256r1MLKEM768", "MLKEM768"];
/// What secures the connections of the brokerage, and of the services between businesses.
pub const SECURITY: &[&str] = &["none", "tls", "tls+backend", "modern"];
/// How the browse pages of the shop are made: its `--build`.
pub const BUILDS: &[&str] = &["baseline", "cached", "rendered"];
/// Sizes of the shop: its `--size`.
pub const SIZES: &[&str] = &["small", "medium", "large"];
/// What makes the pages of the brokerage.
pub const STUBS: &[&str] = &["in-process", "cgi"];
/// Costs of a password hash: `--password-cost` of the sites that hash them.
pub const PASSWORD_COSTS: &[&str] = &["light", "owasp"];
/// Handshakes of the customers.
pub const HANDSHAKES: &[&str] = &["resumed", "full"];
/// What a connection of the customers is kept for.
pub const KEEPS: &[&str] = &["request", "session", "customer"];
/// TLS versions that customers offer.
pub const TLS: &[&str] = &["both", "1.2", "1.3"];
/// Scales of a figure's y axis.
pub const SCALES: &[&str] = &["linear", "log"];
/// Whose a claim is.
pub const CLAIM_KINDS: &[&str] = &["paper", "own", "check"];
/// What is taken of the runs of a selection.
pub const TAKES: &[&str] = &["each", "mean", "peak"];
/// What a figure's x axis can show.
pub const AXES: &[&str] = &["offered_per_s", "load", "processors", "time", "knee"];
/// What stacked bars can consist of.
pub const SEGMENTS: &[&str] = &["gate", "gate_cpu", "request", "customer", "handshakes", "tiers"];

keys! {
    /// What the experiment is about, and its parts.
    pub(super) static EXPERIMENT: ExperimentKeys {
        /// Name of the study and of its folder.
        name: Text("letters, digits and hyphens, at most 40") = Required("checkout");
        /// What it shows, in one line.
        about: Text("") = Required("how many customers the checkout carries");
        /// The system that is measured.
        system: Subtable = Else("the auction site behind a gate");
        /// The customers.
        workload: Subtable = Else("customers of the auction site at its capacity");
        /// Times and repetitions.
        windows: Subtable = Else("see below");
        /// What a quick run (`--quick`) changes in `windows`.
        quick: Subtable = Else("see below");
        /// What is varied. Every combination of levels is measured, unless `only` says
        /// otherwise.
        factors: List<Subtable>(Subtable) = Unset;
        /// The combinations that are measured: those that one of these selections has.
        only: List<Subtable>(Subtable) = Else("all");
        /// What is checked.
        claims: List<Subtable>(Subtable) = Unset;
        /// Tables beside those that every study has.
        tables: List<Subtable>(Subtable) = Unset;
        /// How many servers carry a number of customers.
        servers: Subtable = Unset;
        /// What kinds of connections add to transactions, against their work in the clear.
        overhead: Subtable = Unset;
        /// What is drawn. Without one, throughput, response time and completed sessions.
        figures: List<Subtable>(Subtable) = Unset;
    }

    /// The system that is measured. Every key but `ready_within` can be a factor.
    pub(super) static SYSTEM: SystemKeys {
        /// A site that comes with the program; not with `command`. `brokerage` has three tiers,
        /// `b2b` are services between businesses; `shop` has a card processor beside it, whose CPU
        /// time is not counted; `tomcat` is an auction of servlets and JSP, `node` a shop: `make
        /// study` installs and builds what they need. With `gate = false` customers meet the TLS of
        /// the brokerage, of `b2b`, and of these two.
        /// `messages` is one of the message services, which a client of its own sends series of
        /// requests to: without a gate, and with `requests` in `[windows]`.
        site: Words(SITES) = Is("auction");
        /// Program and arguments of a service of one's own, in place of `site`. It starts in
        /// the folder of this file, and gets SIGTERM at the end of each run.
        command: List<Text>(Text("")) = Unset;
        /// URL at which that service answers.
        address: Text("`http://HOST:PORT`, or `https://` without a gate") = Unset;
        /// Path that answers with a status below 500 once the service is ready; without it,
        /// the service is ready when it accepts connections.
        ready: Text("a path") = Unset;
        /// Longest time from its start until it is ready.
        ready_within: Time("100ms", "30m") = Is("60s");
        /// Database of the auction site, the brokerage, the shop, `b2b` or the auction on Tomcat,
        /// `postgres://USER@HOST/NAME`; without it SQLite in the study's folder, on Tomcat H2 in
        /// memory. Each of the five needs a database of its own, and fills it if it is empty.
        /// `postgresql` starts a PostgreSQL server for the run, on the processors of the site; its
        /// CPU time counts. Not for Tomcat.
        database: Text("URL, or `postgresql`") = Unset;
        /// How much of a core that server may use at most, by a control group below that of all
        /// processors: as if it had a machine of its own. 1 does not limit it.
        database_share: Number(0.1, 1.0) = Is("1");
        /// How the browse pages of the shop are made: its `--build`.
        build: Words(BUILDS) = Is("baseline");
        /// Whether the gate serves the shop's browse pages, which `tidegate render` writes to files
        /// before the first run.
        static_tier: Boolean = Is("false");
        /// Size of the shop: its `--size`.
        size: Words(SIZES) = Is("small");
        /// CPU time that every page of the auction site but the front page uses in addition.
        extra_cpu: Time("0ms", "100ms") = Is("0ms");
        /// How much of a core another program uses beside service and gate, on their processors: a
        /// neighbour whose demand no reading of the service shows.
        neighbour: Number(0.0, 1.0) = Is("0");
        /// Whether a gate stands before the service.
        gate: Boolean = Is("true");
        /// The message service of `site = "messages"`, and its security: our own (`rust-…`), or a
        /// page or SOAP service on Tomcat, which are left out where Java is missing.
        configuration: Words(CONFIGURATIONS) = Unset;
        /// Admission policy of the gate, which refuses a name that it does not know; `eac, profiled`,
        /// which is `eac` with what connections cost in the baseline of the round; or another proxy in
        /// its place: `peer:nginx`, `peer:haproxy`, `peer:envoy`, and `peer:envoy-protected` with
        /// admission control and adaptive concurrency (`scripts/bootstrap bench` installs them).
        policy: Text("a policy of the gate") = Is("tide");
        /// Whether customers who are not admitted wait in the gate's [waiting
        /// room](../waiting-room.md), where they are reset otherwise.
        room: Boolean = Is("false");
        /// What secures the connections of the brokerage: its `--security`.
        security: Words(SECURITY) = Is("none");
        /// The brokerage's link from web to application tier in place of that of `security`: its
        /// `--web-app`.
        web_app: Text("as in `sealed,per-request`") = Unset;
        /// Its link from application to data tier: its `--app-data`.
        app_data: Text("as in `tls,persistent,resumed`") = Unset;
        /// What makes the pages of the brokerage: its web tier, or a process for each request.
        stub: Words(STUBS) = Is("in-process");
        /// Application servers of the brokerage.
        app_servers: Whole(1, 16) = Is("1");
        /// How much of a core each of them may use at most, by a control group below that of all
        /// processors: as if each had a machine of its own. 1 limits none.
        app_server_share: Number(0.1, 1.0) = Is("1");
        /// What a check of a password costs the auction site, the brokerage and the shop: `light` about 50 µs
        /// of a core, `owasp`, as in production, 20 to 35 ms, by machine. Users of the auction are stored with
        /// quick hashes, which `owasp` replaces when they first sign in.
        password_cost: Words(PASSWORD_COSTS) = Is("light");
        /// Kind of the certificate that customers meet. Tomcat and Node have `rsa-2048` and
        /// `ecdsa-p256` alone, and ML-DSA needs TLS 1.3.
        certificate: Words(CERTIFICATES) = Is("ecdsa-p256");
        /// TLS versions that customers offer.
        tls: Words(TLS) = Is("both");
        /// Key exchange groups that customers offer.
        group: Words(GROUPS) = Is("all");
        /// Cipher that customers offer, in the suites of all TLS versions that have it.
        suite: Words(SUITES) = Is("all");
        /// Whether customers show a certificate, of the same kind, which the brokerage demands.
        mutual: Boolean = Is("false");
        /// Whether customers verify the certificate that they meet, as browsers do. Not for
        /// Tomcat, Node and a `command`.
        verify: Boolean = Is("false");
        /// Whether the brokerage has static pages of 30 bytes, 36 KiB and 1 MiB as well.
        measured_pages: Boolean = Is("false");
        /// Whether gate, auction and customers are traced, with a gate: gives the time by phase,
        /// and `gate.trace`, `site.trace` and `load.trace` in the folder of each run, for
        /// `tidegate trace`.
        trace: Boolean = Is("false");
        /// Several gates before several servers of the auction site, and what goes wrong with them in
        /// the measured window: a fault file that ships (`none`, `demand-moves`, `one-gate`,
        /// `gate-killed`, `partition`, `nats-gone`, `slow-link`), or one of your own. Each process has a host of its
        /// own, a network namespace, which needs root; NATS comes from `scripts/bootstrap test`.
        faults: Text("name or file") = Unset;
        /// Processors of service and gate.
        processors: Whole(1, 4096) = Is("1");
        /// Whether the service and what comes to it share all processors, in place of
        /// `processors` of their own: for a client and a service that wait for each other.
        shared_processors: Boolean = Is("false");
        /// How much of a core one of these processors is: 1 is a core; less is a share of its
        /// time, by a control group.
        processor_share: Number(0.01, 1.0) = Else("1 if there are enough cores for the most processors, else an equal share of those that there are");
    }

    /// The customers. Every key can be a factor.
    pub(super) static WORKLOAD: WorkloadKeys {
        /// A scenario of the load generator: one that ships, or a file.
        scenario: Text("name or file") = Is("auction-bidding-normalised");
        /// Sessions that arrive, as a multiple of the capacity without admission control, which
        /// is measured.
        load: Number(0.01, 100.0) = Else("1 without `rate`");
        /// Sessions that arrive per second, in place of `load`.
        rate: Number(0.01, 1000000.0) = Unset;
        /// Customers at a time, in place of `load`: a closed loop, in which each begins the next
        /// session when one has ended.
        customers: Whole(1, 100000) = Unset;
        /// What a connection of the customers is kept for.
        keep: Words(KEEPS) = Else("that of the scenario");
        /// Whether customers resume their TLS sessions, or every handshake is full.
        handshakes: Words(HANDSHAKES) = Is("resumed");
        /// Whether a relay stands between customers and the system, which counts bytes and round
        /// trips. It takes CPU time of the customers' processors.
        relay: Boolean = Is("false");
        /// Round-trip time that it adds.
        round_trip: Time("0ms", "2s") = Is("0ms");
        /// Factor of all times of the customers, and of the gate's that follow them.
        time_scale: Number(0.001, 100.0) = Is("0.025");
        /// Further factor of the customers' patience.
        patience_scale: Number(0.001, 100.0) = Is("1");
        /// A crowd that comes and goes: in the second quarter of the measured window as many times
        /// as many sessions arrive. What completes in each of the four is in
        /// `completed_before_per_s`, `completed_during_per_s`, `completed_next_per_s` and
        /// `completed_after_per_s`.
        crowd: Number(1.0, 100.0) = Else("none");
        /// Factor of warm-up and measured window, for work that takes longer than they do.
        window_scale: Number(0.1, 100.0) = Else("1");
    }

    /// Times and repetitions of the windows.
    pub(super) static WINDOWS: WindowKeys {
        /// Time before the measured window of each run.
        warm_up: Time("100ms", "1h") = Is("3s");
        /// Added to `warm_up` for each of the `customers` at a time: the more there are, the later
        /// have all signed in. No effect with `load` or `rate`.
        warm_up_per_customer: Time("0ms", "10s") = Is("0ms");
        /// Starts each service once and keeps it through its runs, in place of a new one for each:
        /// before the first of them, and the first through a gate, customers come for so long, and
        /// up to three times that until its response times no longer fall. For services that
        /// compile their code while they run. Gates start anew for each run.
        warm_up_once: Time("1s", "1h") = Unset;
        /// The measured window of each run.
        measured: Time("1s", "4h") = Is("8s");
        /// Rounds. In each, every combination is measured once, in random order. A verdict takes
        /// five.
        repetitions: Whole(1, 1000) = Is("5");
        /// Requests of the long series of a run, in place of times: for `site = "messages"`.
        /// Shorter series are in proportion.
        requests: Whole(20, 1000000) = Unset;
        /// Most requests of each long series, which goes on beyond `requests` until the service and
        /// its client are warm: three stretches of 5 s agree within 5 %. It ends after three minutes.
        requests_at_most: Whole(20, 1000000) = Else("`requests`");
    }

    /// What a quick run changes in `windows`.
    pub(super) static QUICK: QuickKeys {
        /// Time before the measured window of each run.
        warm_up: Time("100ms", "1h") = Else("as in `windows`");
        /// Added to it for each of the `customers` at a time.
        warm_up_per_customer: Time("0ms", "10s") = Else("as in `windows`");
        /// The measured window of each run.
        measured: Time("1s", "4h") = Else("as in `windows`");
        /// Warm-up of a service that is kept.
        warm_up_once: Time("1s", "1h") = Else("as in `windows`");
        /// Rounds.
        repetitions: Whole(1, 1000) = Else("as in `windows`");
        /// Requests of the long series.
        requests: Whole(20, 1000000) = Else("as in `windows`");
        /// Most requests of each long series.
        requests_at_most: Whole(20, 1000000) = Else("as in `windows`");
    }

    /// A factor: one key of `system` or `workload`, or several that change together.
    pub(super) static FACTOR: FactorKeys {
        /// The key that is varied.
        key: Text("of `system` or `workload`") = Unset;
        /// Name of a factor whose levels set several keys.
        name: Text("letters, digits, hyphens and underscores") = Unset;
        /// Values of the key; or, with `name`, tables with the `name` of the level and the keys
        /// that it sets.
        levels: Other("list", "values, or tables") = Required("off, tide");
        /// The levels of a quick run.
        quick: Other("list", "names of levels") = Else("all");
        /// Levels that are compared with another level, such as `{ rust-https = "rust-clear" }`:
        /// gives the table `ratios`.
        reference: Subtable = Unset;
    }

    /// A claim. The figure is the metric of the selected runs, or its ratio to that of the runs
    /// that they are compared with: those of the same round with the same levels of every factor
    /// that neither selection names, or of which both ask the same. Rounds are replicates, five at
    /// least; the verdict follows from the interval (95 %) over them. Runs of other levels are other
    /// conditions: each has a verdict, and the claim holds if it holds in all of them.
    pub(super) static CLAIM: ClaimKeys {
        /// Short name.
        id: Text("letters, digits and hyphens") = Required("collapse");
        /// The figure of the source, as it stands beside the measured one, such as `14 to 21 %`.
        paper: Text("") = Unset;
        /// Where the claim is made.
        source: Text("") = Required("our capacity plan");
        /// Whose claim it is: a conclusion of a paper, one of your own, or a check: what follows
        /// from the set-up, so that its failure speaks against the measurement.
        kind: Words(CLAIM_KINDS) = Else("`paper` if the source begins with `paper` or a paper's number, as in `001, Table 2`; `own` otherwise");
        /// The claim in one sentence.
        text: Text("") = Required("throughput does not fall under overload");
        /// What is compared: a metric, which is a column of `results.parquet`, or the mean time
        /// of a phase.
        metric: Text("see below") = Required("requests_per_s");
        /// The runs: levels by factor, such as `{ policy = "off", load = ">= 2" }`.
        r#where: Subtable = Else("all runs");
        /// What is taken of them: `each`; `mean`; or `peak`, the level of `load` or `rate` with
        /// the highest mean over the other rounds.
        take: Words(TAKES) = Is("each");
        /// The metric that is highest at a `peak`, as where `metric` is the load there.
        peak_of: Text("see below") = Else("`metric`");
        /// The runs that they are compared with; without it, the metric itself is checked. A
        /// peak is none of the runs that are compared with it: as a share of the capacity, which
        /// the baseline of the round measures, there is `requests_of_capacity`.
        compared_with: Subtable = Unset;
        /// What is taken of these: `mean` or `peak`.
        compared_take: Words(&["mean", "peak"]) = Is("peak");
        /// Their metric.
        compared_metric: Text("see below") = Else("`metric`");
        /// Two selections whose ratio, of means of the same round, the ratio is divided by: an
        /// overhead compared with another one.
        relative_to: List<Subtable>(Subtable) = Unset;
        /// Least figure with which the claim holds.
        at_least: Number(f64::MIN, f64::MAX) = Unset;
        /// Largest figure with which it holds.
        at_most: Number(f64::MIN, f64::MAX) = Unset;
        /// A factor for each of whose levels, as far as `where` selects them, the claim is checked
        /// by itself.
        each: Text("name of a factor") = Unset;
        /// Whether a quick run checks it. Without a claim that says so, it checks all.
        quick: Boolean = Is("false");
    }

    /// A figure.
    pub(super) static FIGURE: FigureKeys {
        /// Short name, also of its files.
        id: Text("letters, digits and hyphens") = Required("throughput");
        /// Its title.
        title: Text("") = Required("Throughput");
        /// A sentence below the title.
        note: Text("") = Unset;
        /// What its lines show: a column of `results.parquet`. A figure has one of
        /// this, `segments`, `stack` and `course`.
        metric: Text("see below") = Unset;
        /// Stacked bars in place of lines, and what they consist of: `gate` is the mean time of a
        /// connection by phase as the gate traced it (`trace = true`), `gate_cpu` the gate's CPU
        /// time in these phases, `request` the mean time of an answered request by where it was
        /// (before and in the gate, before and in the site, in the database), `customer` the mean time of an answered request by phase as
        /// customers observe it, `handshakes` the shares of full and resumed handshakes, `tiers`
        /// the CPU time of a request in each tier of the brokerage.
        segments: Words(SEGMENTS) = Unset;
        /// Stacked bars of these metrics in place of lines, one for each combination of levels.
        stack: List<Text>(Text("see below")) = Unset;
        /// Lines of a course in place of a metric: of values over the position in a series.
        course: Text("see below") = Unset;
        /// Unit of the y axis.
        unit: Text("") = Else("that of what is shown");
        /// What the x axis shows: `time` is the seconds of the runs with the highest load. Stacked
        /// bars stand over `load` (their default), `processors` or `knee`: loads below the
        /// capacity, and from 1.5 times the capacity on.
        x: Words(AXES) = Is("offered_per_s");
        /// The factor that comes first in the names of lines, or of groups of bars. There is one
        /// for each combination of levels, but for the load.
        lines: Text("name of a factor") = Unset;
        /// The runs.
        r#where: Subtable = Else("all runs");
        /// A factor for each of whose levels, as far as `where` selects them, there is a figure.
        each: Text("name of a factor") = Unset;
        /// Scale of the y axis.
        scale: Words(SCALES) = Is("linear");
    }
    /// A table: a row for each combination of levels, with means over the rounds.
    pub(super) static TABLE: TableKeys {
        /// Its name in `summary.json`.
        id: Text("letters, digits and hyphens") = Required("baseline");
        /// Its title.
        title: Text("") = Required("The baseline at rising load");
        /// A sentence below the title.
        note: Text("") = Unset;
        /// Its columns: metrics, and phases where they are measured.
        metrics: List<Text>(Text("see below")) = Required("server_use, response_mean_ms");
        /// The runs.
        r#where: Subtable = Else("all runs");
    }

    /// How many servers carry a number of customers: for each group of servers, the sessions that
    /// begin per second, divided by `capacity_per_s`, which a baseline measured on one server.
    /// Gives the table `servers`, with those that the customers keep busy and the whole ones of each
    /// group. Spare servers and waiting are not in it: `tidegate plan` has them.
    pub(super) static SERVERS: ServersKeys {
        /// Customers in session at a time.
        customers: Number(1.0, 1e12) = Required("100000");
        /// Length of their session.
        session: Time("1s", "1d") = Required("11m");
        /// Price of a server.
        price: Number(0.0, 1e12) = Is("0");
        /// The factor whose levels the sites consist of.
        factor: Text("name of a factor") = Required("part");
        /// The sites that are compared.
        sites: List<Subtable>(Subtable) = Required("see below");
    }

    /// What kinds of connections add to the CPU time of transactions, against their work: the CPU
    /// time in the clear, of the run with the same other levels in the same round. Gives the tables
    /// `overhead` and `crossing`, and the figure `overhead`.
    pub(super) static OVERHEAD: OverheadKeys {
        /// The factor whose levels are the kinds of connections.
        factor: Text("name of a factor") = Required("connection");
        /// Its level in the clear.
        clear: Text("a level of it") = Required("clear");
        /// The share of its work that a connection is to add at most.
        share: Number(0.001, 10.0) = Is("0.1");
        /// The runs.
        r#where: Subtable = Else("all runs");
        /// Those of them that give the crossing, such as all but those of large responses, which
        /// cost more to encrypt.
        fitted: Subtable = Else("all of them");
    }

    /// A site of one or more groups of servers.
    pub(super) static SERVERS_SITE: ServersSiteKeys {
        /// Its name.
        name: Text("") = Required("checkouts on servers of their own");
        /// Sessions that each group serves for a customer's session, by the level of `factor` that
        /// was measured.
        parts: Subtable = Required("{ browse = 1, checkouts = 0.1 }");
    }
}
