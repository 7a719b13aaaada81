//! The keys of a plan's file.

use tidegate_config::Preset::{Else, Is, Required, Unset};
use tidegate_config::{Boolean, List, Number, Subtable, Text, Time, Whole, keys};

use crate::spread::Spread;

/// Most customers, servers and money: more is a mistake in writing.
const MOST: f64 = 1e12;

keys! {
    /// What a plan is for, and what it may choose.
    pub(crate) static PLAN: PlanKeys {
        /// The demand.
        demand: Subtable = Required("see below");
        /// The operations of a session and what each costs; not with `costs` or `capacity`.
        operations: List<Subtable>(Subtable) = Unset;
        /// What operations cost as measured, in place of `operations`.
        costs: Subtable = Unset;
        /// What a server carried, in place of `operations`.
        capacity: Subtable = Unset;
        /// The servers that can be bought.
        servers: List<Subtable>(Subtable) = Required("see below");
        /// What a plan must keep to.
        rules: Subtable = Else("see below");
        /// Changes that make operations cheaper.
        optimisations: List<Subtable>(Subtable) = Unset;
        /// Servers that are there already.
        have: List<Subtable>(Subtable) = Unset;
        /// An overload, and what the site completes in it.
        overload: Subtable = Else("see below");
    }

    /// The demand. A range is `[lowest, highest]` or `[lowest, likely, highest]`.
    pub(crate) static DEMAND: DemandKeys {
        /// Customers in session at a time, on average over the first year.
        shoppers: Spread<Number>(Number(1e-3, MOST)) = Required("[800, 1200]");
        /// The busiest time as a multiple of that.
        peak_factor: Spread<Number>(Number(1.0, 1e6)) = Is("3");
        /// Growth per year: 0.25 is a quarter more.
        growth: Spread<Number>(Number(-0.9, 1000.0)) = Is("0");
        /// Length of a session; with `costs` and `capacity` the one that was measured, unless it is
        /// set.
        session: Spread<Time>(Time("1s", "1d")) = Else("must be set, except with `costs` or `capacity`");
        /// The operation that is a checkout.
        checkout: Text("name of an operation") = Unset;
        /// Browsing operations for each checkout, in place of `per_session` of the checkout.
        browse_to_buy: Spread<Number>(Number(1e-3, 1e9)) = Unset;
        /// What a checkout brings.
        checkout_value: Spread<Number>(Number(0.0, MOST)) = Is("0");
    }

    /// An operation of a session.
    pub(crate) static OPERATION: OperationKeys {
        /// Its name.
        name: Text("") = Required("Home");
        /// How often a session has it on average.
        per_session: Spread<Number>(Number(0.0, 1e6)) = Required("1.5");
        /// CPU time of one, in milliseconds, on a core of speed 1.
        cpu_ms: Spread<Number>(Number(0.0, 1e9)) = Required("2.5");
    }

    /// What operations cost, and how often a session has them, as measured.
    pub(crate) static COSTS: CostsKeys {
        /// The `summary.json` of `tidegate tca SCENARIO --target URL`.
        file: Text("a path") = Required("out/tca/summary.json");
    }

    /// What a server carried. A session is then one operation of the name `session`. The rate keeps
    /// to the response time of the study, so `rules.use = 1` adds no spare cores to it.
    pub(crate) static CAPACITY: CapacityKeys {
        /// The `summary.json` of `tidegate study capacity`.
        file: Text("a path") = Required("out/study/capacity/summary.json");
        /// Cores of the server that was studied.
        cores: Number(0.01, 1e5) = Required("8");
        /// Checkouts of a session.
        checkouts: Spread<Number>(Number(0.0, 1e6)) = Is("0");
    }

    /// A type of server.
    pub(crate) static SERVER: ServerKeys {
        /// Its name.
        name: Text("") = Required("8 cores");
        /// What one costs to buy.
        price: Number(0.0, MOST) = Is("0");
        /// What one costs in a year: rent, power, licences.
        yearly: Number(0.0, MOST) = Is("0");
        /// Years until it is replaced.
        life: Number(0.1, 100.0) = Is("3");
        /// Its cores.
        cores: Number(0.01, 1e5) = Required("8");
        /// Speed of a core relative to the one that costs were measured on.
        speed: Number(1e-3, 1e3) = Is("1");
        /// Speeds at operations where they differ, by name of the operation. A server of pages that
        /// are rendered ahead is fast at them.
        speeds: Subtable = Unset;
        /// The operations that it can serve.
        only: List<Text>(Text("")) = Else("all");
    }

    /// What a plan must keep to.
    pub(crate) static RULES: RulesKeys {
        /// Years to plan for.
        years: Whole(1, 30) = Is("3");
        /// The largest share of requests that may wait for a core; not with `use`.
        wait: Number(0.001, 0.999) = Else("0.05, unless `use` is set");
        /// The share of their time that cores may be busy, in place of `wait`.
        r#use: Number(0.01, 1.0) = Unset;
        /// Servers of each group that may fail at once without loss.
        redundancy: Whole(0, 100) = Is("1");
        /// The operations that may get servers of their own, at most 15 of several.
        may_split: List<Text>(Text("name of an operation")) = Else("all");
        /// Hours of a year at its busiest: a shortage of servers costs what is lost in them.
        peak_hours: Number(0.0, 8766.0) = Is("100");
        /// Share of lost revenue that counts as a loss.
        margin: Number(0.0, 1.0) = Is("0.3");
        /// Whether the gate stands before the site.
        gate: Boolean = Is("true");
    }

    /// A change that makes operations cheaper.
    pub(crate) static OPTIMISATION: OptimisationKeys {
        /// Its name.
        name: Text("") = Required("pages rendered ahead");
        /// What it costs once.
        price: Number(0.0, MOST) = Is("0");
        /// Factors on the CPU time of operations, by name: 0.1 makes one ten times as cheap.
        factors: Subtable = Required("{ Home = 0.1 }");
    }

    /// Servers that are there already.
    pub(crate) static HAVE: HaveKeys {
        /// Their type.
        server: Text("name of a server type") = Required("8 cores");
        /// Their number.
        count: Whole(0, 1_000_000_000) = Required("4");
    }

    /// An overload, and what the site completes beyond its capacity: points `[load, completed]`,
    /// both as multiples of the capacity. `tidegate study overload` measures them.
    pub(crate) static OVERLOAD: OverloadKeys {
        /// Offered load as a multiple of the capacity.
        load: Number(1.0, 1e6) = Is("3");
        /// How long it lasts, in hours.
        hours: Number(0.01, 8766.0) = Is("4");
        /// Without the gate. The default is a site with TLS 1.3 and ECDSA; with TLS 1.2 and RSA
        /// it is about `[[1, 1], [2, 0.7], [4, 0.1]]`.
        without_gate: List<List<Number>>(List(Number(0.0, 1e6))) =
            Else("[[1, 1], [2, 1], [4, 0.77]]");
        /// With it.
        with_gate: List<List<Number>>(List(Number(0.0, 1e6))) = Else("[[1, 1]]");
    }
}
