//! What the controller knows and does, for people and dashboards.

use serde::Serialize;

use crate::costs::Costs;
use crate::policy::PolicyName;
use crate::prices::KindPrice;
use crate::priority::RouteBudget;
use crate::resource::Resource;
use crate::sustainable::Sustainable;

/// The controller's state at a moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Status {
    /// The policy that decides.
    pub policy: PolicyName,
    /// New sessions of the average cost that may enter at this moment; `None`: any number.
    pub budget: Option<u64>,
    /// New sessions per second that the policy admits at most, at this moment: what is left
    /// beside the sessions that are active. Below the capacity this is more than the service
    /// carries in the long run, see [`sustainable`](Self::sustainable). `None`: any number.
    pub limit_per_s: Option<f64>,
    /// New sessions decided on since the start: admitted + not_now.
    pub offered: u64,
    /// Of these, those admitted.
    pub admitted: u64,
    /// Of these, how many were told not now and have not come in since: they
    /// were refused, or are held.
    pub not_now: u64,
    /// Returning connections since the start; all of them were admitted.
    pub returning: u64,
    /// New sessions asking per second, over about the last second.
    pub offered_per_s: f64,
    /// New sessions admitted per second, over about the last second.
    pub admitted_per_s: f64,
    /// Returning connections per second, over about the last second.
    pub returning_per_s: f64,
    /// Costs learned so far (or their priors).
    pub costs: Costs,
    /// Kinds of full handshakes that were seen, and what each costs.
    pub kinds: Vec<KindPrice>,
    /// Routes with their priorities, costs and budgets, in the order of the configuration; empty
    /// where all have the same priority.
    pub routes: Vec<RouteBudget>,
    /// Why requests are refused by their priority, in a clause with numbers; `None` while none are.
    pub why_refused: Option<String>,
    /// Resources in view, gate first.
    pub resources: Vec<Resource>,
    /// What the service carries as it is used at present.
    pub sustainable: Sustainable,
    /// Why what is measured as the upstream is not what limits the service, in a clause with
    /// numbers: a relay, or a program that waits for something else. `None` while it may be.
    pub work_elsewhere: Option<String>,
    /// One sentence with numbers: why the budget is what it is.
    pub why: String,
    /// One sentence with numbers: why the last new session that was told not now
    /// had to wait; `None` if there was none.
    pub why_not: Option<String>,
}
