//! Watches upstreams: whether their servers can be reached and work, what share of the requests
//! each gets, and to which addresses their names resolve. All of it runs on one thread, for all
//! cores.

use crate::config::{Config, Pool, Upstream};
use crate::error::Error;
use crate::generation::Generation;
use crate::shared::Shared;
use crate::upstream::check::Check;
use crate::upstream::connector::Connector;
use crate::upstream::health::{MemberHealth, UpstreamHealth};
use crate::upstream::standing::{Change, Rules, Seen};
use rustls::crypto::aws_lc_rs::default_provider;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tidegate_config::show_duration;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// How often servers are judged.
const LOOK: Duration = Duration::from_millis(100);

/// Watches the upstreams of the generation in force, until dropped.
pub async fn run(shared: Arc<Shared>, mut generations: watch::Receiver<Arc<Generation>>) {
    loop {
        let generation = generations.borrow_and_update().clone();
        let mut watched = JoinSet::new();
        for (pool, connectors) in generation.config.pools().iter().zip(&generation.connectors) {
            let watch = Watch::new(&shared, pool, connectors);
            watched.spawn_local(watch.run());
        }
        tokio::select! {
            changed = generations.changed() => if changed.is_err() {
                return std::future::pending().await;
            },
            Some(Err(failed)) = watched.join_next() => std::panic::resume_unwind(failed.into_panic()),
        }
    }
}

/// The watch over one upstream.
#[derive(Clone)]
struct Watch {
    shared: Arc<Shared>,
    health: Arc<UpstreamHealth>,
    upstream: Arc<Upstream>,
    /// How to connect to each of its URLs.
    connectors: Vec<Connector>,
    check: Option<Arc<Check>>,
}

impl Watch {
    fn new(shared: &Arc<Shared>, pool: &Pool<'_>, connectors: &[Connector]) -> Self {
        Self {
            shared: shared.clone(),
            health: shared.upstreams.of(pool),
            upstream: Arc::new(pool.upstream.clone()),
            connectors: connectors.to_vec(),
            check: Check::of(pool.upstream).map(Arc::new),
        }
    }

    /// Watches until dropped.
    async fn run(self) {
        loop {
            let members = self.health.members();
            let mut tasks = JoinSet::new();
            for member in members.iter().cloned() {
                tasks.spawn_local(self.clone().check(member));
            }
            match members.len() {
                1 => self.reset(&members[0]),
                _ => drop(tasks.spawn_local(self.clone().judge(members.clone()))),
            }
            tokio::select! {
                () = self.resolve_until_changed() => {}
                Some(Err(failed)) = tasks.join_next() => {
                    std::panic::resume_unwind(failed.into_panic());
                }
            }
        }
    }

    /// A server that is alone gets all requests.
    fn reset(&self, member: &MemberHealth) {
        *member.standing() = Default::default();
        member.set_share(member.standing().share(Duration::ZERO, &Rules::of(&self.upstream)));
    }

    fn connector(&self, member: &MemberHealth) -> Option<Connector> {
        let at = self.upstream.url.iter().position(|url| *url == member.url)?;
        let connector = &self.connectors[at];
        Some(member.address.map_or_else(|| connector.clone(), |address| connector.at(address)))
    }

    /// Checks one server: by its responses, and if there were none by a connection, or with a
    /// path always by a request.
    async fn check(self, member: Arc<MemberHealth>) {
        let interval = self.upstream.check_interval;
        let connector = self.connector(&member).filter(|_| !interval.is_zero());
        let Some(connector) = connector else {
            member.unchecked();
            return std::future::pending().await;
        };
        let troubles = &self.shared.upstreams.troubles;
        let responses = || member.sum(|core| &core.responses);
        let mut seen = 0;
        loop {
            let before = std::mem::replace(&mut seen, responses());
            let problem = match &self.check {
                Some(check) => check.run(&connector).await.err(),
                None if seen != before => None,
                None => connector.reach().await.err().map(|error| error.to_string()),
            };
            let well = problem.is_none();
            let before = member.checked(problem.clone());
            // Of one server among others that work, the log tells when it is taken out.
            if let Some(why) = problem
                && self.health.problem().is_some()
            {
                troubles.note_unreachable(self.health.subject(), why);
            }
            if before.is_some() && well && self.health.members().len() == 1 {
                tracing::info!("{} can be reached again", self.health.subject());
            }
            sleep(interval).await;
        }
    }

    /// Judges the servers.
    async fn judge(self, members: Arc<Vec<Arc<MemberHealth>>>) {
        let rules = Rules::of(&self.upstream);
        let mut before: Vec<_> = members.iter().map(|member| self.counted(member)).collect();
        loop {
            let now = self.shared.now();
            let mut up = members.iter().filter(|member| member.standing().is_up()).count();
            for (member, before) in members.iter().zip(&mut before) {
                let counted = self.counted(member);
                let (good, failed) = (counted.0 - before.0, counted.1 - before.1);
                *before = counted;
                let seen = Seen { good, failed, checks: member.checks() };
                let mut standing = member.standing();
                let was_up = standing.is_up();
                let change = standing.observe(now, seen, was_up && up == 1, &rules);
                up = up + usize::from(standing.is_up()) - usize::from(was_up);
                member.set_share(standing.share(now, &rules));
                drop(standing);
                if let Some(change) = change {
                    self.tell(member, change);
                }
            }
            sleep(LOOK).await;
        }
    }

    /// The requests that a server answered, and those that it failed.
    fn counted(&self, member: &MemberHealth) -> (u64, u64) {
        let (responses, failures) =
            (member.sum(|core| &core.responses), member.sum(|core| &core.failures));
        let errors = match self.upstream.eject_on_5xx {
            true => member.sum(|core| &core.server_errors),
            false => 0,
        };
        // The cores count on meanwhile.
        (responses.saturating_sub(errors), failures + errors)
    }

    fn tell(&self, member: &MemberHealth, change: Change) {
        let (of, name) = (self.health.subject(), member.name());
        let why = || match member.last_failure() {
            why if why.is_empty() => String::new(),
            why => format!(", last: {why}"),
        };
        match change {
            Change::Ejected(time, failed) => {
                member.ejections.fetch_add(1, Relaxed);
                let time = show_duration(time);
                tracing::warn!(
                    "{of}: {name} is taken out for {time} after {failed} failed requests{}",
                    why()
                );
            }
            Change::Spared(failed) => tracing::warn!(
                "{of}: {name} failed {failed} requests and stays, since no other server is \
                 left{}",
                why()
            ),
            Change::Down(checks) => tracing::warn!(
                "{of}: {name} gets no more requests after {checks} failed checks: {}",
                member.problem().unwrap_or_default()
            ),
            Change::Returned => tracing::info!("{of}: {name} gets requests again"),
        }
    }

    /// Resolves the names of its servers at intervals, until the addresses are others.
    async fn resolve_until_changed(&self) {
        let interval = self.upstream.resolve_interval;
        if interval.is_zero() {
            return std::future::pending().await;
        }
        loop {
            if self.resolve().await {
                return;
            }
            sleep(interval).await;
        }
    }

    /// Resolves the names of its servers; returns whether the addresses are others. A name that
    /// does not resolve now keeps its addresses.
    async fn resolve(&self) -> bool {
        let known = self.health.members();
        let mut members = Vec::new();
        for (url, connector) in self.upstream.url.iter().zip(&self.connectors) {
            let resolved = connector.resolve().await;
            if let Err(error) = &resolved {
                let troubles = &self.shared.upstreams.troubles;
                troubles.note_unreachable(self.health.subject(), error.to_string());
            }
            match resolved {
                Ok(Some(addresses)) => {
                    members.extend(addresses.into_iter().map(|at| (url, Some(at))));
                }
                _ => {
                    let former = known.iter().filter(|member| member.url == *url);
                    members.extend(former.map(|member| (url, member.address)));
                }
            }
        }
        let same =
            known.iter().map(|member| (&member.url, member.address)).eq(members.iter().copied());
        if same {
            return false;
        }
        self.health.set_members(members.into_iter());
        let names: Vec<_> = self.health.members().iter().map(|member| member.name()).collect();
        tracing::info!("{} has the servers {}", self.health.subject(), names.join(", "));
        true
    }
}

/// Tries to reach the servers of a configuration's upstreams. Returns those that cannot be reached:
/// the key that names each, its URL, and why.
///
/// # Errors
/// The roots for an https upstream cannot be used, or the runtime could not be started.
pub fn upstream_problems(config: &Config) -> Result<Vec<(String, String, String)>, Error> {
    let provider = Arc::new(default_provider());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|source| Error::System { what: "a runtime", source })?;
    let mut problems = Vec::new();
    for pool in config.pools() {
        let check = Check::of(pool.upstream);
        let connectors = Connector::all(config, pool.upstream, &provider)?;
        for (url, connector) in pool.upstream.url.iter().zip(connectors) {
            let checked = runtime.block_on(async {
                match &check {
                    Some(check) => check.run(&connector).await,
                    None => connector.reach().await.map_err(|error| error.to_string()),
                }
            });
            if let Err(why) = checked {
                problems.push((pool.key.clone(), url.to_string(), why));
            }
        }
    }
    // A resolver that hangs is not waited for.
    runtime.shutdown_background();
    Ok(problems)
}
