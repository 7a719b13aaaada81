//! The processors of an experiment: whole cores by affinity, parts of them by a control group.

use tidegate_host::Cores;
use tidegate_lab::{Quota, apart, quota_period};

use crate::experiment::{Combination, POSTGRESQL, Settings};
use crate::{Error, Result};

/// Who runs where.
#[derive(Debug)]
pub struct Resources {
    /// Cores of service and gate.
    pub server: Cores,
    /// Cores of the customers.
    pub driver: Cores,
    /// How much of a core a processor is: that of all combinations, or of those that leave it
    /// open.
    pub share: f64,
    /// Limits service and gate to parts of cores.
    quota: Option<Quota>,
    /// What a reader of the results has to know.
    pub notes: Vec<String>,
}

/// Processors of one run.
#[derive(Clone, Debug, PartialEq)]
pub struct Grant {
    /// The cores.
    pub cores: Cores,
    /// How much of them may be used, in cores.
    pub cpus: f64,
}

impl Resources {
    /// Finds cores for the combinations. Where parts of cores are needed and this process may not
    /// make a control group, processors are whole cores, and combinations for which there are
    /// too few are left out; `notes` say so.
    ///
    /// # Errors
    /// [`Error::Operator`]: a core is not allowed here, or the experiment asks for more cores
    /// than there are; [`Error::Machine`]: no control group can be made, and it compares parts
    /// of cores, or no combination is left.
    pub fn find(
        (server, driver): (&Option<Cores>, &Option<Cores>),
        combinations: &mut Vec<Combination>,
        make_quota: impl FnOnce() -> Result<Quota>,
    ) -> Result<Self> {
        if combinations.iter().all(|one| one.settings.shared_processors) {
            return Self::shared((server, driver));
        }
        let most = most(combinations);
        let (server, driver) = cores((server, driver), most)?;
        let have = server.list().len();
        let stated = combinations
            .iter()
            .filter_map(|one| Some((one.settings.processors, one.settings.processor_share?)));
        for (processors, share) in stated.clone() {
            let needed = (f64::from(processors) * share - 1e-9).ceil();
            if needed > have as f64 {
                return Err(Error::Operator(format!(
                    "processors = {processors} with processor_share = {share} needs {needed} cores, and service and gate have {have} ({server}): lower `processors`, leave out `processor_share` to take parts of cores, or give more --server-cores"
                )));
            }
        }
        let open = combinations.iter().any(|one| one.settings.processor_share.is_none());
        let mut share =
            if open && most as usize > have { have as f64 / f64::from(most) } else { 1.0 };
        let limits_servers = combinations.iter().any(|one| limited_servers(&one.settings));
        let parts =
            (open && share < 1.0) || stated.clone().any(|(_, share)| share < 1.0) || limits_servers;
        // Shares that differ are what the experiment is about.
        let mut shares: Vec<u64> = stated.map(|(_, share)| share.to_bits()).collect();
        shares.dedup();
        let compared = shares.len() > 1;
        let mut notes = Vec::new();
        let quota = match parts.then(make_quota).transpose() {
            Ok(quota) => quota,
            Err(error) if compared => {
                return Err(Error::Machine(format!(
                    "levels of processor_share below 1 need a control group, and none can be made: {error}"
                )));
            }
            Err(error) => {
                share = 1.0;
                for one in combinations.iter_mut() {
                    one.settings.processor_share = one.settings.processor_share.map(|_| 1.0);
                }
                combinations.retain(|one| {
                    one.settings.processors as usize <= have && !limited_servers(&one.settings)
                });
                if combinations.is_empty() {
                    return Err(Error::Machine(format!(
                        "{most} processors on {have} cores are parts of cores, which need a control group, and none can be made: {error}; lower `processors`, or give more --server-cores"
                    )));
                }
                notes.push(format!(
                    "No control group could be made ({error}), so processors are whole cores by affinity, not parts of them, and combinations with more than {have}, or with a limit of an application or database server, were left out."
                ));
                None
            }
        };
        let each = shares_of(combinations, share);
        if let [common] = each[..] {
            share = common;
        }
        let note = parts_note(&each, &server);
        if let Some(note) = note.filter(|_| quota.is_some()) {
            notes.insert(0, note);
        }
        Ok(Self { server, driver, share, quota, notes })
    }

    /// Whole cores, for whatever runs on them.
    ///
    /// # Errors
    /// [`Error::Operator`]: a core is not allowed here, or both have one.
    pub fn whole_cores(server: &Cores, driver: &Cores) -> Result<Self> {
        let given = (&Some(server.clone()), &Some(driver.clone()));
        Self::find(given, &mut Vec::new(), Quota::new)
    }

    /// All processors for both, or those that are given.
    fn shared((server, driver): (&Option<Cores>, &Option<Cores>)) -> Result<Self> {
        let all = Cores::of_this_thread()
            .map_err(|error| Error::Machine(format!("cannot read the affinity: {error}")))?;
        let of = |given: &Option<Cores>| given.clone().unwrap_or_else(|| all.clone());
        let (server, driver) = (of(server), of(driver));
        Ok(Self { server, driver, share: 1.0, quota: None, notes: Vec::new() })
    }

    /// The processors of a run with these settings.
    pub fn grant(&self, settings: &Settings) -> Grant {
        if settings.shared_processors {
            let cpus = self.server.list().len() as f64;
            return Grant { cores: self.server.clone(), cpus };
        }
        let share = settings.processor_share.unwrap_or(self.share);
        let cpus = f64::from(settings.processors) * share;
        let count = ((cpus - 1e-9).ceil() as usize).clamp(1, self.server.list().len());
        let cores = Cores::new(self.server.list()[..count].iter().copied());
        Grant { cores: cores.expect("a part of a set that is one"), cpus }
    }

    /// Limits running processes to what a run was granted.
    ///
    /// # Errors
    /// The kernel refuses, or a process has ended.
    pub fn limit(&self, grant: &Grant, processes: &[u32]) -> Result<()> {
        let Some(quota) = &self.quota else { return Ok(()) };
        let whole = grant.cpus >= grant.cores.list().len() as f64 - 1e-9;
        quota.set((!whole).then_some(grant.cpus))?;
        quota.add(processes)
    }

    /// Limits each application server of a run, and its database server, to their shares, in groups
    /// below that of all. The groups must outlive the processes.
    ///
    /// # Errors
    /// The kernel refuses, or a process has ended.
    pub fn limit_servers(
        &self,
        settings: &Settings,
        servers: &[u32],
        database: &[u32],
    ) -> Result<Vec<Quota>> {
        let Some(quota) = &self.quota else { return Ok(Vec::new()) };
        let limit = |name: &str, share: f64, processes: &[u32]| -> Result<Quota> {
            let group = quota.below(name)?;
            group.set(Some(share))?;
            group.add(processes)?;
            Ok(group)
        };
        let mut groups = Vec::new();
        if limits_application(settings) {
            for (index, server) in servers.iter().enumerate() {
                let name = format!("application-{index}");
                groups.push(limit(&name, settings.app_server_share, &[*server])?);
            }
        }
        if limits_database(settings) {
            groups.push(limit("database", settings.database_share, database)?);
        }
        Ok(groups)
    }

    /// What "processors" are in this study, for tables and figures: `processors, each a quarter of
    /// a core`, or `processors`.
    pub fn unit(&self) -> String {
        if self.share < 1.0 {
            format!("processors, each {} of a core", part(self.share))
        } else {
            "processors".into()
        }
    }
}

fn limited_servers(settings: &Settings) -> bool {
    limits_application(settings) || limits_database(settings)
}

fn limits_application(settings: &Settings) -> bool {
    settings.site == "brokerage" && settings.app_server_share < 1.0
}

fn limits_database(settings: &Settings) -> bool {
    settings.database.as_deref() == Some(POSTGRESQL) && settings.database_share < 1.0
}

/// A share of a core in words.
pub fn part(share: f64) -> String {
    match share {
        share if (share - 0.25).abs() < 1e-6 => "a quarter".into(),
        share if (share - 0.5).abs() < 1e-6 => "half".into(),
        share if share >= 1.0 => "the whole".into(),
        share => format!("{:.0} %", 100.0 * share),
    }
}

/// The parts of a core that a processor is in these combinations, from small to large; `open`
/// where they do not say.
fn shares_of(combinations: &[Combination], open: f64) -> Vec<f64> {
    let each = combinations.iter().map(|one| one.settings.processor_share.unwrap_or(open));
    let mut each: Vec<f64> = each.collect();
    each.sort_by(f64::total_cmp);
    each.dedup();
    each
}

fn parts_note(shares: &[f64], server: &Cores) -> Option<String> {
    match *shares {
        [share] if share < 1.0 => Some(format!(
            "One processor is {} of a core: a control group limits the time of service and gate on core {server}, in periods of {:.1} ms. Work that meets the end of its part of a period waits for the next, which with few customers is a part of the response time. What threads on different cores do to each other is not part of the result.",
            part(share),
            1e3 * quota_period(share).as_secs_f64()
        )),
        [least, .., most] => Some(format!(
            "One processor is {} to {} of a core, as each combination says.",
            part(least),
            part(most)
        )),
        _ => None,
    }
}

/// The most processors of a combination that leaves their share open, at least 1.
fn most(combinations: &[Combination]) -> u32 {
    let open = combinations.iter().filter(|one| one.settings.processor_share.is_none());
    let most = open.map(|one| one.settings.processors).max();
    let stated = combinations.iter().filter_map(|one| {
        let share = one.settings.processor_share?;
        Some((f64::from(one.settings.processors) * share - 1e-9).ceil() as u32)
    });
    most.into_iter().chain(stated).max().unwrap_or(1).max(1)
}

/// The cores of server and customers: those given, else as many as are needed and allowed, one
/// of which the customers keep.
fn cores((server, driver): (&Option<Cores>, &Option<Cores>), most: u32) -> Result<(Cores, Cores)> {
    let allowed = Cores::of_this_thread()
        .map_err(|error| Error::Machine(format!("cannot read the affinity: {error}")))?;
    if server.is_some() || driver.is_some() || allowed.list().len() < 3 {
        return apart(server, driver);
    }
    let list = allowed.list();
    let for_server = (most as usize).min(list.len() - 1);
    let for_driver = (list.len() - for_server).min(most as usize).max(1);
    let set = |cores: &[usize]| Cores::new(cores.iter().copied()).ok();
    apart(&set(&list[..for_server]), &set(&list[for_server..for_server + for_driver]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Levels;

    fn combinations(processors: &[u32], share: Option<f64>) -> Vec<Combination> {
        let of = |count: &u32| Combination {
            levels: Levels::from([("processors".into(), count.to_string())]),
            settings: Settings {
                processors: *count,
                processor_share: share,
                ..Settings::default()
            },
        };
        processors.iter().map(of).collect()
    }

    fn no_groups() -> Result<Quota> {
        Err(Error::Machine("no control groups here".into()))
    }

    fn two() -> Option<(Option<Cores>, Option<Cores>)> {
        let allowed = Cores::of_this_thread().unwrap();
        Some((Some(allowed.only(0)?), Some(allowed.only(1)?)))
    }

    #[test]
    fn more_cores_than_there_are_are_bad_input_with_the_remedies() {
        let Some((server, driver)) = two() else { return };
        let mut many = combinations(&[1, 4], Some(1.0));
        let error = Resources::find((&server, &driver), &mut many, no_groups).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(
            text.contains("needs 4 cores") && text.contains("leave out `processor_share`"),
            "{text}"
        );
    }

    #[test]
    fn without_control_groups_whole_cores_remain_and_the_page_says_so() {
        let Some((server, driver)) = two() else { return };
        let mut many = combinations(&[1, 2, 4], None);
        let found = Resources::find((&server, &driver), &mut many, no_groups).unwrap();
        assert_eq!(many.len(), 1);
        assert_eq!((found.share, found.grant(&many[0].settings).cpus), (1.0, 1.0));
        assert!(found.notes[0].contains("more than 1, or with a limit"), "{:?}", found.notes);
        assert_eq!(found.unit(), "processors");
        let mut too_many = combinations(&[2, 4], None);
        let error = Resources::find((&server, &driver), &mut too_many, no_groups).unwrap_err();
        assert!(error.to_string().contains("no control groups here"), "{error}");
        let mut half = combinations(&[1], Some(0.5));
        let found = Resources::find((&server, &driver), &mut half, no_groups).unwrap();
        assert_eq!(found.grant(&half[0].settings).cpus, 1.0);
        assert!(found.notes[0].contains("whole cores by affinity"), "{:?}", found.notes);
        assert_eq!(found.share, 1.0);
        let mut limited = combinations(&[1, 1], None);
        for (one, share) in limited.iter_mut().zip([0.1, 1.0]) {
            (one.settings.site, one.settings.app_server_share) = ("brokerage".into(), share);
        }
        let found = Resources::find((&server, &driver), &mut limited, no_groups).unwrap();
        assert_eq!((limited.len(), limited[0].settings.app_server_share), (1, 1.0));
        assert!(found.notes[0].contains("a limit of an application"), "{:?}", found.notes);
        let mut parts = combinations(&[1], Some(0.5));
        parts.extend(combinations(&[1], Some(0.25)));
        let error = Resources::find((&server, &driver), &mut parts, no_groups).unwrap_err();
        assert!(error.to_string().contains("need a control group"), "{error}");
    }

    #[test]
    fn a_share_that_every_combination_states_is_what_a_processor_is() {
        let cores = Cores::new([0]).unwrap();
        let half = shares_of(&combinations(&[1, 2], Some(0.5)), 1.0);
        assert_eq!(half, [0.5]);
        let note = parts_note(&half, &cores).unwrap();
        assert!(note.starts_with("One processor is half of a core: "), "{note}");
        let mut several = combinations(&[1, 4], Some(0.5));
        several.extend(combinations(&[1], None));
        let several = shares_of(&several, 1.0);
        assert_eq!(several, [0.5, 1.0]);
        let note = parts_note(&several, &cores).unwrap();
        assert!(note.starts_with("One processor is half to the whole of a core"), "{note}");
        assert_eq!(parts_note(&shares_of(&combinations(&[1, 2], None), 1.0), &cores), None);
    }

    #[test]
    fn a_service_and_its_client_can_share_all_processors() {
        let mut one = combinations(&[1], None);
        one[0].settings.shared_processors = true;
        let found = Resources::find((&None, &None), &mut one, no_groups).unwrap();
        let all = Cores::of_this_thread().unwrap();
        assert_eq!((&found.server, &found.driver), (&all, &all));
        let grant = found.grant(&one[0].settings);
        assert_eq!((grant.cpus, grant.cores), (all.list().len() as f64, all));
    }

    #[test]
    fn a_run_is_granted_as_many_cores_as_its_processors_fill() {
        let Some((server, driver)) = two() else { return };
        let resources = Resources {
            server: server.clone().unwrap(),
            driver: driver.unwrap(),
            share: 0.25,
            quota: None,
            notes: Vec::new(),
        };
        let grants: Vec<f64> = combinations(&[1, 3, 4], None)
            .iter()
            .map(|one| resources.grant(&one.settings).cpus)
            .collect();
        assert_eq!(grants, [0.25, 0.75, 1.0]);
        let grant = resources.grant(&combinations(&[4], None)[0].settings);
        assert_eq!(grant.cores, server.unwrap());
        assert_eq!(resources.unit(), "processors, each a quarter of a core");
    }
}
