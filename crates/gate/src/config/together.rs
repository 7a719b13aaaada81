//! Rules between keys, and warnings about what is allowed but risky.

use super::checked::Config;
use super::choices::{AccessFormat, ClientAuth, Cores, Forwarded, Policy, Processes, Refusal};
use super::load_from::LoadFrom;
use super::origin::Origin;
use super::pools::POOLS;
use super::routes::{Destination, Route};
use crate::open_files::{connections_within, needed};
use crate::telemetry::clock::unix_now;
use std::net::{IpAddr, SocketAddr};
use tidegate_config::{Problem, Section, one_line, show_duration};
use tidegate_host::open_files;

/// The keys of the listeners.
const ADDRESS: &str = "listen.address";
const CLEAR: &str = "listen.clear";

/// Most ticket keys kept at once: the key of a ticket is searched among them.
const TICKET_KEYS: u128 = 64;

impl Config {
    /// What an operator should know though nothing is wrong, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        warnings(self)
    }
}

/// Checks values against each other; one that is wrong by itself is left out.
pub(super) fn check(config: &Config, root: &Section<'_>) {
    let rule = |keys: &[&str], broken: bool, problem: Problem| {
        if broken && keys.iter().all(|key| root.reader.is_sound(key)) {
            root.wrong_key(keys[0], problem);
        }
    };
    let Config { listen, tls, upstream, admission, admin, .. } = config;

    for (key, problem) in config.fleet.mistakes() {
        rule(&[key, "fleet.nats"], true, problem);
    }
    let log = &config.access_log;
    for (key, set) in [
        ("access_log.format", log.format != AccessFormat::Json),
        ("access_log.queries", log.queries),
    ] {
        let remedy = "add file = \"access.log\" under [access_log], or leave it out";
        rule(
            &[key, "access_log.file"],
            set && log.file.is_none(),
            Problem::new("has no effect without access_log.file", remedy),
        );
    }
    const CERTIFICATE: &str = "tls.certificate";
    const KEY: &str = "tls.key";
    let remedy = "add key = \"key.pem\" under [tls], or give --key";
    rule(
        &[CERTIFICATE, KEY],
        tls.certificate.is_some() && tls.key.is_none(),
        Problem::new("is a certificate without its key", remedy),
    );
    let remedy = "add certificate = \"cert.pem\" under [tls], or give --cert";
    rule(
        &[KEY, CERTIFICATE],
        tls.key.is_some() && tls.certificate.is_none(),
        Problem::new("is a key without its certificate", remedy),
    );

    let keys = ["tls.client_auth", "tls.client_ca", "tls.client_subject_header"];
    let off = tls.client_auth == ClientAuth::Off;
    rule(
        &keys[..2],
        !off && tls.client_ca.is_none(),
        Problem::new(
            "needs the authorities that sign the clients' certificates",
            "add client_ca = \"clients.pem\" under [tls]",
        ),
    );
    let unused = || {
        let remedy = "add client_auth = \"require\" or \"request\" under [tls], or leave it out";
        Problem::new("has no effect while tls.client_auth is off", remedy)
    };
    rule(&[keys[1], keys[0]], off && tls.client_ca.is_some(), unused());
    rule(&[keys[2], keys[0]], off && tls.client_subject_header.is_some(), unused());
    rule(&["tls.client_crl", keys[0]], off && tls.client_crl.is_some(), unused());

    const ROTATION: &str = "tls.ticket_rotation";
    const LIFETIME: &str = "tls.ticket_lifetime";
    let lifetime = show_duration(tls.ticket_lifetime);
    rule(
        &[ROTATION, LIFETIME],
        tls.ticket_rotation > tls.ticket_lifetime,
        Problem::new(
            format!("must be at most tls.ticket_lifetime, {lifetime}"),
            format!("try \"{lifetime}\""),
        ),
    );
    let keys = tls.ticket_lifetime.as_nanos() / tls.ticket_rotation.as_nanos().max(1);
    rule(
        &[ROTATION, LIFETIME],
        keys > TICKET_KEYS,
        Problem::new(
            format!("must be at least 1/{TICKET_KEYS} of tls.ticket_lifetime, {lifetime}"),
            "rotate less often, or shorten the lifetime",
        ),
    );

    rule(
        &["admission.rate", "admission.policy"],
        admission.policy == Policy::Static && admission.rate.is_none(),
        Problem::new(
            "must be set for the policy static",
            "add rate = 50 under [admission], or give --rate, in new sessions per second",
        ),
    );

    const NEW: &str = "admission.new_connection_cpu";
    const RETURNING: &str = "admission.returning_connection_cpu";
    let of = (admission.new_connection_cpu, admission.returning_connection_cpu);
    let alone = Problem::new(
        format!("needs the other one of {NEW} and {RETURNING}"),
        "give both, as profiled, or leave it out",
    );
    rule(&[NEW, RETURNING], of.0.is_some() && of.1.is_none(), alone.clone());
    rule(&[RETURNING, NEW], of.1.is_some() && of.0.is_none(), alone);
    rule(
        &[NEW, "admission.policy"],
        of.0.is_some() && admission.policy != Policy::Eac,
        Problem::new("is for the policy eac only", "leave it out, or set policy = \"eac\""),
    );

    for (key, set) in [
        ("admission.room_template", admission.room_template.is_some()),
        ("admission.never_wait_paths", admission.never_wait_paths.is_some()),
        ("admission.maintenance", admission.maintenance),
        ("admission.opens", admission.opens.is_some()),
    ] {
        let problem = Problem::new(
            "has no effect without the waiting room",
            "set refuse = \"page\" under [admission], or leave it out",
        );
        rule(&[key, "admission.refuse"], set && admission.refuse != Refusal::Page, problem);
    }

    rule(
        &["upstream.ca", "upstream.url"],
        upstream.ca.is_some() && !config.upstreams().iter().any(|upstream| upstream.uses_tls()),
        Problem::new("is for an https upstream only", "leave it out, or make upstream.url https"),
    );
    rule(
        &["upstream.insecure", "upstream.ca"],
        upstream.insecure && upstream.ca.is_some(),
        Problem::new("has no effect together with upstream.ca", "leave one of them out"),
    );
    let agents = config.upstreams().iter().any(|upstream| upstream.asks_agents());
    const SECRET: &str = "upstream.agent_secret";
    rule(
        &[SECRET, "upstream.load_from"],
        agents && upstream.agent_secret.is_none(),
        Problem::new(
            "must be set where load_from names an agent",
            "add agent_secret = \"agent.secret\" under [upstream], the file that the agent has too",
        ),
    );
    rule(
        &[SECRET, "upstream.load_from"],
        !agents && upstream.agent_secret.is_some(),
        Problem::new(
            "has no effect without an agent",
            "add load_from = \"agent://HOST:9444\", or leave it out",
        ),
    );
    rule(
        &["upstream.cpus", "upstream.load_from"],
        upstream.load_from == LoadFrom::Orca && upstream.cpus.is_none(),
        Problem::new(
            "must be set where load_from is orca",
            "add cpus = 8 under [upstream], the processors that the service has",
        ),
    );
    rule(
        &["upstream.cpus", "upstream.load_from"],
        upstream.load_from != LoadFrom::Orca && upstream.cpus.is_some(),
        Problem::new(
            "has no effect without load_from = \"orca\"",
            "leave it out: all other sources tell it",
        ),
    );
    let elsewhere = upstream.load_from != LoadFrom::Host;
    for (key, set) in [
        ("upstream.processes", matches!(upstream.processes, Processes::List(_))),
        ("upstream.cgroup", upstream.cgroup.is_some()),
    ] {
        rule(
            &[key, "upstream.load_from"],
            elsewhere && set,
            Problem::new("has no effect beside load_from", "leave one of them out"),
        );
    }
    let named = config.named_pools.iter();
    let named = named.map(|pool| (format!("{POOLS}[{}]", pool.index), &pool.upstream));
    for (table, checked) in [("upstream".to_owned(), upstream)].into_iter().chain(named) {
        let [path, interval] = ["check_path", "check_interval"].map(|key| format!("{table}.{key}"));
        rule(
            &[&path, &interval],
            checked.check_path.is_some() && checked.check_interval.is_zero(),
            Problem::new(
                "has no effect while check_interval is 0s",
                "set check_interval = \"2s\", or leave it out",
            ),
        );
    }
    let own = listen.address.iter().map(|address| (*address, ADDRESS, ""));
    let clear = listen.clear.map(|clear| (clear, CLEAR, " for plain HTTP"));
    let own: Vec<_> = own.chain(clear).collect();
    for (key, url) in config.servers() {
        for (own, listener, what) in &own {
            rule(
                &[&key, listener],
                is_own(url, *own),
                Problem::new(
                    format!("is the gate's own address{what}, {own}"),
                    "name the service's port, or set another for the gate",
                ),
            );
        }
    }
    for (place, address) in listen.address.iter().enumerate() {
        // The listener of an IPv6 address leaves IPv4 to one of the list.
        let before = listen.address[..place]
            .iter()
            .find(|before| before.is_ipv4() == address.is_ipv4() && collide(**before, *address));
        if let Some(before) = before {
            let rule_text = format!("has {before} and {address}, of which one takes all");
            rule(&[ADDRESS], true, Problem::new(rule_text, "leave one of them out"));
        }
    }
    let taken = |by: SocketAddr| listen.address.iter().find(|address| collide(by, **address));
    if let Some(clear) = listen.clear {
        if let Some(address) = taken(clear) {
            rule(
                &["listen.clear", "listen.address"],
                true,
                Problem::new(
                    format!("must differ from listen.address, {address}"),
                    "choose another port",
                ),
            );
        }
        if let Some(admin) = admin.address {
            rule(
                &["listen.clear", "admin.address"],
                collide(clear, admin),
                Problem::new(
                    format!("must differ from admin.address, {admin}"),
                    "choose another port",
                ),
            );
        }
    }
    redirect(config, &rule);
    if let Some(address) = admin.address.and_then(taken) {
        rule(
            &["admin.address", "listen.address"],
            true,
            Problem::new(
                format!("must differ from listen.address, {address}"),
                "choose another port",
            ),
        );
    }

    if let (Cores::List(list), Ok(own)) = (&listen.cores, tidegate_host::Cores::of_this_process())
        && let Some(core) = list.iter().find(|core| !own.list().contains(core))
    {
        let own: Vec<_> = own.list().iter().map(usize::to_string).collect();
        let rule_text = format!("core {core} is not among those this process may use");
        let remedy = format!("those are {}", one_line(&own.join(", ")));
        rule(&["listen.cores"], true, Problem::new(rule_text, remedy));
    }
}

/// Checks the listener that leads to https.
fn redirect(config: &Config, rule: &dyn Fn(&[&str], bool, Problem)) {
    const REDIRECT: &str = "listen.redirect";
    const WEBROOT: &str = "listen.acme_webroot";
    const UPSTREAM: &str = "listen.acme_upstream";
    let listen = &config.listen;
    let others = [(CLEAR, listen.clear), ("admin.address", config.admin.address)];
    let own = listen.address.iter().map(|address| (ADDRESS, Some(*address)));
    for (key, other) in own.chain(others) {
        let (Some(other), Some(own)) = (other, listen.redirect) else { continue };
        let problem =
            Problem::new(format!("must differ from {key}, {other}"), "choose another port");
        rule(&[REDIRECT, key], collide(own, other), problem);
    }
    for (key, given) in
        [(WEBROOT, listen.acme_webroot.is_some()), (UPSTREAM, listen.acme_upstream.is_some())]
    {
        let remedy = "add redirect = \"0.0.0.0:80\" under [listen], or leave it out";
        let problem = Problem::new("has no effect while listen.redirect is off", remedy);
        rule(&[key, REDIRECT], given && listen.redirect.is_none(), problem);
    }
    let both = listen.acme_webroot.is_some() && listen.acme_upstream.is_some();
    let problem = Problem::new("has no effect beside listen.acme_webroot", "leave one of them out");
    rule(&[UPSTREAM, WEBROOT], both, problem);
    let by_tls = listen.acme_upstream.as_ref().is_some_and(|origin| origin.tls);
    let problem = Problem::new("must be http://", "challenges are answered without TLS");
    rule(&[UPSTREAM], by_tls, problem);
}

/// Whether two listeners cannot both have their addresses. Port 0 is any free one.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let (a, b) = (one.ip(), other.ip());
    let both = a == b || a.is_unspecified() || b.is_unspecified();
    one.port() == other.port() && one.port() != 0 && both
}

/// Whether the upstream is the gate itself: the same port at an address that
/// the gate listens on.
pub(super) fn is_own(origin: &Origin, listen: SocketAddr) -> bool {
    if origin.socket.is_some() {
        return false;
    }
    let ip = match origin.host.as_str() {
        "localhost" => Some(IpAddr::from([127, 0, 0, 1])),
        host => host.parse::<IpAddr>().ok(),
    };
    ip.is_some_and(|ip| {
        let here = ip == listen.ip() || (listen.ip().is_unspecified() && ip.is_loopback());
        here && origin.port == listen.port()
    })
}

/// What an operator should know though nothing is wrong.
fn warnings(config: &Config) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(address) = config.listen.clear
        && !address.ip().is_loopback()
    {
        warnings.push(format!(
            "listen.clear = {address}: plain HTTP can be read and changed on the way to the gate; \
             127.0.0.1 keeps it on this machine"
        ));
    }
    if let Some(address) = config.admin.address
        && !address.ip().is_loopback()
    {
        warnings.push(format!(
            "admin.address = {address}: metrics and status can be read from other machines; \
             127.0.0.1 keeps them on this one"
        ));
    }
    warnings.extend(expiring(config, unix_now()));
    warnings.extend(expiring_revocations(config, unix_now()));
    for upstream in config.upstreams() {
        if upstream.insecure && upstream.uses_tls() {
            warnings.push(format!(
                "upstream.insecure = true: the connection to {} can be intercepted, because its \
                 certificate is not verified",
                upstream.url
            ));
        }
    }
    for pool in &config.named_pools {
        let leads_there = |route: &Route| route.to == Destination::Pool(pool.name.clone());
        if !config.routes.iter().any(leads_there) {
            warnings.push(format!(
                "the pool {} gets no requests: no route names it; add pool = {:?} to a table \
                 [[routes]]",
                pool.name, pool.name
            ));
        }
    }
    if config.upstream.forwarded == Forwarded::Pass {
        warnings.push(
            "upstream.forwarded = \"pass\": customers choose the address that the upstream sees; \
             \"append\" keeps the fields of a proxy in front of the gate"
                .to_owned(),
        );
    }
    if config.admission.policy != Policy::Static && config.admission.rate.is_some() {
        let policy = config.admission.policy;
        warnings.push(format!("admission.rate has no effect with the policy {policy}"));
    }
    let cores = config.listen.cores.resolve().map_or(1, |cores| cores.len());
    let (asked, files) = (config.limits.max_connections, open_files::hard_limit());
    let places = connections_within(files, cores);
    if places < asked {
        warnings.push(format!(
            "limits.max_connections = {asked}: these need up to {} open files and this process may \
             open {files}, which suffice for {places}: the gate takes no more at once; raise the \
             hard limit (LimitNOFILE=, ulimit -Hn), or set max_connections = {places}",
            needed(asked, cores)
        ));
    }
    warnings
}

/// Revocation lists that have expired or will within a day.
fn expiring_revocations(config: &Config, now: u64) -> Option<String> {
    let left = config.files.client_revocations.as_ref()?.expires?.saturating_sub_unsigned(now);
    let clients = "clients with certificates of its issuer";
    match left {
        ..0 => Some(format!(
            "a revocation list of tls.client_crl expired {} hours ago: {clients} are refused until \
             there is a new one",
            -left / 3_600
        )),
        0..86_400 => Some(format!(
            "a revocation list of tls.client_crl expires in {} hours: {clients} are refused then",
            left / 3_600
        )),
        _ => None,
    }
}

/// Certificates that have expired or will soon.
fn expiring(config: &Config, now: u64) -> impl Iterator<Item = String> {
    const DAY: i64 = 86_400;
    let now = i64::try_from(now).unwrap_or(i64::MAX);
    config.files.identities.iter().filter_map(move |identity| {
        let left = identity.expires?.saturating_sub(now);
        let names = match identity.names.is_empty() {
            true => "without a DNS name".to_owned(),
            false => format!("for {}", one_line(&identity.names.join(", "))),
        };
        match left.div_euclid(DAY) {
            days if days < 0 => Some(format!("the certificate {names} expired {} days ago", -days)),
            days if days < 14 => Some(format!("the certificate {names} expires in {days} days")),
            _ => None,
        }
    })
}
