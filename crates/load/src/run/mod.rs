//! Runs a plan: checks it, looks whether the target is there, starts the
//! driver threads, folds what they report, and sums up.

mod machine;
pub(crate) mod source;
pub(crate) mod worker;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tidegate_host::{cpu_clock, open_files};

use crate::client::{Connector, Target, Tickets, Tls, Trouble};
use crate::error::Error;
use crate::merge;
use crate::outcome::{Failure, Stage};
use crate::plan::shard::Part;
use crate::plan::{Plan, Sources, Stop, TicketsOf};
use crate::recorder::{Batch, Event, Recorder};
use crate::result::shard::Portion;
use crate::result::sum::sum_up;
use crate::result::summary::{DriverPart, Snapshot, Summary};
use crate::run::worker::{Assignment, work};

/// How long the target may take to be reached at all, before the run.
const PROBE: Duration = Duration::from_secs(5);
/// How long a server that asked for a certificate may take to reject it, before
/// the run; one that is content says so at once by a ticket.
const VERDICT: Duration = Duration::from_millis(500);
/// Batches on their way from the driver threads.
const BATCHES: usize = 256;
/// How long before a common start driver threads begin: when it comes they are
/// waiting for it.
const THREADS_BEGIN: Duration = Duration::from_millis(50);
/// Batches whose space goes back to each driver thread, and the most events of one.
const SPARE: usize = 4;
const SPARE_EVENTS: usize = 64 * 1024;
/// Open files that are not connections.
const OTHER_FILES: u64 = 64;

/// Runs a plan to its end and returns what it showed. Blocks; the observer is
/// called on this thread about four times a second and cannot disturb the
/// driver threads. Before the run the target is probed by one connection that
/// sends no request.
///
/// # Errors
/// The plan is wrong, the target cannot be reached or TLS with it fails for
/// everybody, a file cannot be created, or a driver thread could not start.
pub fn run(plan: Plan, observer: &mut dyn FnMut(&Snapshot)) -> Result<Summary, Error> {
    run_when(plan, &mut || None, observer)
}

/// As [`run`], but when all is ready for the start it asks for the instant of it;
/// `None` is that of the plan.
///
/// # Errors
/// As [`run`]; besides, that the instant has passed.
pub fn run_when(
    plan: Plan,
    ready: &mut dyn FnMut() -> Option<SystemTime>,
    observer: &mut dyn FnMut(&Snapshot),
) -> Result<Summary, Error> {
    plan.check()?;
    let arrivals = plan.arrivals()?;
    let target = Target::parse(&plan.target)?;
    if plan.full_share.is_some() && !target.tls {
        return Err(Error::Plan {
            key: "full_share",
            rule: format!("{} has no TLS handshakes", plan.target),
            remedy: "give an https:// target, or no share",
        });
    }
    let mut tls = target.tls.then(|| Tls::new(&plan, &target)).transpose()?;
    let addresses = target.addresses()?;
    plan.check_reach(&addresses)?;
    let address = probe(&plan, &target, tls.as_ref(), &addresses)?;
    if let (Some(tls), TicketsOf::One) = (&mut tls, plan.tickets_of()) {
        one_ticket(tls, &target, address, PROBE)?;
    }
    let threads = plan.cores.len().max(1);
    let mut recorder = Recorder::new(&plan, threads)?;
    let rules = *plan.scenario.session();
    let files = open_files::raise_limit().saturating_sub(OTHER_FILES) as usize;
    // Simulated before the clock starts, if it has not been yet.
    plan.scenario.session_length();
    let (start, started_at) = begin(ready().or(plan.start_at), &plan.stop)?;
    let started_at_unix_ms =
        started_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
    recorder.begins(started_at_unix_ms);
    let test = merge::test_of(&plan, started_at_unix_ms, &arrivals.to_string());
    let part = plan.part.unwrap_or(Part::WHOLE);
    let assignment = Assignment {
        thread: 0,
        threads,
        share: part.share(0, threads),
        core: None,
        parts: plan.scenario.parts().clone(),
        target,
        address,
        tls,
        http: plan.http,
        sources: plan.sources.clone(),
        keep: plan.keep,
        close: plan.close,
        arrivals,
        patience_factor: plan.patience_factor(),
        time_scale: plan.time_scale,
        customers: plan.customers.unwrap_or(rules.customers),
        seed: plan.seed,
        run: started_at_unix_ms,
        max_in_flight: (plan.max_in_flight.min(files) / threads).max(1),
        max_sessions: plan.max_sessions,
        start,
        length: plan.warm_up + plan.measure,
        stop: plan.stop.clone(),
    };
    let cpu_before = cpu_clock::of_this_thread();
    drive(&assignment, part, &plan.cores, &mut recorder, observer)?;
    let mut folded = recorder.finish(|snapshot| observer(snapshot));
    folded.driver.folding_cpu_s =
        (cpu_clock::of_this_thread().saturating_sub(cpu_before)).as_secs_f64();
    let driver = DriverPart {
        part,
        machine: machine::describe(),
        interrupted: plan.stop.is_stopped(),
        raw_error: folded.raw_error,
        driver: folded.driver,
    };
    let portion = plan.part.map(|_| {
        let (test, driver, tally) = (test.clone(), driver.clone(), folded.tally.clone());
        let (measured, seconds) = (folded.measured, folded.seconds);
        Box::new(Portion { format: Portion::FORMAT, test, driver, measured, tally, seconds })
    });
    let mut summary = sum_up(&test, vec![driver], &folded.tally, folded.series, folded.measured);
    summary.portion = portion;
    Ok(summary)
}

/// Waits for the start, as far as it lies ahead, and gives it by both clocks.
fn begin(at: Option<SystemTime>, stop: &Stop) -> Result<(Instant, SystemTime), Error> {
    while let Some(at) = at {
        let (now, wall) = (Instant::now(), SystemTime::now());
        let Ok(left) = at.duration_since(wall) else {
            return Err(Error::Late(wall.duration_since(at).unwrap_or_default()));
        };
        if left <= THREADS_BEGIN {
            return Ok((now + left, at));
        }
        if stop.is_stopped() {
            break;
        }
        std::thread::sleep((left - THREADS_BEGIN).min(Duration::from_millis(50)));
    }
    // Threads need a moment to begin; all count from the same instant.
    let moment = Duration::from_millis(20);
    Ok((Instant::now() + moment, SystemTime::now() + moment))
}

/// Runs the driver threads and folds until all are done.
fn drive(
    assignment: &Assignment,
    part: Part,
    cores: &[usize],
    recorder: &mut Recorder,
    observer: &mut dyn FnMut(&Snapshot),
) -> Result<(), Error> {
    let stop = &assignment.stop;
    std::thread::scope(|scope| {
        let (out, batches) = mpsc::sync_channel::<Batch>(BATCHES);
        let mut handles = Vec::new();
        let mut spares = Vec::new();
        for thread in 0..assignment.threads {
            let core = cores.get(thread).copied();
            let share = part.share(thread, assignment.threads);
            let job = Assignment { thread, share, core, ..assignment.clone() };
            let out = out.clone();
            let (back, spare) = mpsc::sync_channel::<Vec<Event>>(SPARE);
            spares.push(back);
            let handle = std::thread::Builder::new()
                .name(format!("driver-{thread}"))
                .spawn_scoped(scope, move || work(job, &out, &spare))
                .map_err(|source| {
                    stop.stop();
                    Error::System { what: "a driver thread", source }
                })?;
            handles.push(handle);
        }
        drop(out);
        while !recorder.all_done() {
            match batches.recv_timeout(Duration::from_millis(100)) {
                Ok(mut batch) => {
                    recorder.take(&batch);
                    batch.events.clear();
                    if (1..=SPARE_EVENTS).contains(&batch.events.capacity()) {
                        // With as many on their way back it is one too many.
                        let _ = spares[batch.thread].try_send(batch.events);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            recorder.due(&mut *observer);
        }
        let mut result = Ok(());
        for handle in handles {
            let ended = handle.join().unwrap_or_else(|panic| {
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                Err(Error::Driver(text.unwrap_or_else(|| "it panicked".to_owned())))
            });
            result = result.and(ended);
        }
        result
    })
}

/// Finds an address of the target that answers. A refusal in the handshake,
/// or a handshake that takes too long, is an answer: the run will count it.
fn probe(
    plan: &Plan,
    target: &Target,
    tls: Option<&Tls>,
    addresses: &[SocketAddr],
) -> Result<SocketAddr, Error> {
    let runtime = probing()?;
    let asked = || tls.is_some_and(Tls::asks_for_certificate);
    let tls_error = |reason: String| Error::Tls {
        target: target.text.clone(),
        remedy: remedy(&reason, asked()),
        reason,
    };
    let no_http = |reason: String| match asked() && reason.contains("alert") {
        true => tls_error(reason),
        false => Error::Http { target: target.text.clone(), reason },
    };
    let mut last = String::new();
    for address in addresses {
        let connector = Connector::new(*address, &Sources::System, tls.cloned(), plan.http, 0);
        let tickets = Arc::new(Tickets::own());
        let stage = std::cell::Cell::new(Stage::Connect);
        let result = runtime.block_on(async {
            tokio::time::timeout(PROBE, connector.connect(&tickets, &stage, |_| ())).await
        });
        match result {
            Ok(Ok((mut connection, _))) => {
                if asked() {
                    let until = tokio::time::Instant::now() + VERDICT;
                    if let Some(why) = runtime.block_on(connection.is_taken_back(until)) {
                        return Err(tls_error(why));
                    }
                }
                // Over TLS the server has said it by ALPN.
                if !target.tls || asked() {
                    let check = runtime
                        .block_on(async { tokio::time::timeout(PROBE, connection.check()).await });
                    let silent = |_| Err(format!("no answer within {} s", PROBE.as_secs()));
                    check.unwrap_or_else(silent).map_err(no_http)?;
                }
                connection.finish(crate::plan::Close::Shutdown);
                return Ok(*address);
            }
            Ok(Err(Trouble::Refused(_))) => return Ok(*address),
            Ok(Err(Trouble::Failed(Failure::Tls, reason))) => return Err(tls_error(reason)),
            Ok(Err(Trouble::Failed(Failure::Http, reason))) => return Err(no_http(reason)),
            Ok(Err(Trouble::Failed(_, reason))) => last = format!("{address}: {reason}"),
            Err(_) if stage.get() == Stage::Connect => {
                last = format!("{address}: no answer within {} s", PROBE.as_secs());
            }
            Err(_) => return Ok(*address),
        }
    }
    Err(Error::Unreachable { target: target.text.clone(), reason: last })
}

/// Gets the ticket that all customers are to use, if it comes within this time.
fn one_ticket(
    tls: &mut Tls,
    target: &Target,
    address: SocketAddr,
    within: Duration,
) -> Result<(), Error> {
    let got = probing()?.block_on(async {
        tokio::time::timeout(within, tls.get_one_ticket(address)).await.unwrap_or_else(|_| {
            let seconds = within.as_secs_f64();
            let none = format!("the server gave no ticket of TLS 1.3 within {seconds} s");
            Err(std::io::Error::other(none))
        })
    });
    got.map_err(|error| Error::Tls {
        target: target.text.clone(),
        reason: error.to_string(),
        remedy: "one ticket for all has to be had before the run: see --tickets",
    })
}

fn probing() -> Result<tokio::runtime::Runtime, Error> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| Error::System { what: "a runtime", source })
}

fn remedy(reason: &str, asked: bool) -> &'static str {
    if asked && reason.contains("alert") {
        "it asks for a client certificate: show one that it accepts, with --cert"
    } else if reason.contains("NoApplicationProtocol") {
        "it does not speak the version of HTTP that is asked for: see --http"
    } else if reason.contains("CaUsedAsEndEntity") {
        "it shows an authority's own certificate (CA:TRUE), which cannot be verified: accept it \
         with --insecure"
    } else if reason.contains("certificate") {
        "accept its certificate with --insecure, or name its authority with --ca"
    } else if reason.contains("corrupt message") {
        "it may not speak TLS there: try http:// or another port"
    } else {
        "see which TLS versions, cipher suites and groups it offers"
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
    use rustls::{ServerConfig, ServerConnection, StreamOwned};

    use super::*;
    use crate::scenario::Scenario;

    type Server = StreamOwned<ServerConnection, TcpStream>;

    /// What comes of asking a server of TLS for a ticket that gives none, and does this
    /// after the handshake.
    fn refused(then: fn(&mut Server)) -> String {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
        let mut config = ServerConfig::builder()
            .with_no_client_auth()
            .with_single_cert(vec![own.cert.der().clone()], key)
            .unwrap();
        config.send_tls13_tickets = 0;
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let connection = ServerConnection::new(Arc::new(config)).unwrap();
            let mut server = Server::new(connection, listener.accept().unwrap().0);
            server.conn.complete_io(&mut server.sock).unwrap();
            then(&mut server);
        });
        let page = "[session]\nsteps = [\"Page\"]\n[pages]\nPage = { path = \"/\" }\n";
        let scenario = Scenario::from_toml(page, "page.toml").unwrap();
        let mut plan = Plan::new(scenario, &format!("https://{address}"));
        plan.insecure = true;
        plan.tickets = Some(TicketsOf::One);
        let target = Target::parse(&plan.target).unwrap();
        let mut tls = Tls::new(&plan, &target).unwrap();
        let within = Duration::from_millis(500);
        let error = one_ticket(&mut tls, &target, address, within).unwrap_err();
        server.join().unwrap();
        assert_eq!(error.exit_code(), 3);
        error.to_string()
    }

    #[test]
    fn a_server_that_gives_no_ticket_is_told_after_a_while_or_when_it_closes() {
        let told = refused(|server| {
            // Until the customer gives up.
            let _ = server.read(&mut [0]);
        });
        let expected = "the server gave no ticket of TLS 1.3 within 0.5 s";
        assert!(told.contains(expected) && told.contains("see --tickets"), "{told}");
        let told = refused(|server| {
            let _ = server.sock.shutdown(std::net::Shutdown::Both);
        });
        assert!(told.contains("the server closed the connection and gave no ticket"), "{told}");
    }
}
