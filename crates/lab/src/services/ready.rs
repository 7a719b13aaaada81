//! Waits until a server answers a request, which for one on a Java virtual machine may be half
//! a minute after its start.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tidegate_load::Stop;

use crate::error::{Error, Result};
use crate::http::get_while;
use crate::process::Process;

/// Longest time until a server answers: a virtual machine on a quarter of a processor starts,
/// fills its database and compiles its first page in it.
pub const START: Duration = Duration::from_secs(120);
/// Time between two attempts.
const POLL: Duration = Duration::from_millis(50);

/// Waits until `path` is answered with status 200, in the clear.
///
/// # Errors
/// The process ends, answers with another status, or does not answer within `longest`; with the
/// last lines of its log. The operator stops the run.
pub fn wait_until_ok(
    process: &mut Process,
    address: SocketAddr,
    path: &str,
    longest: Duration,
    stop: &Stop,
) -> Result<()> {
    let deadline = Instant::now() + longest;
    loop {
        if stop.is_stopped() {
            return Err(Error::Process(format!("stopped before the {} was ready", process.name())));
        }
        if let Some(exit) = process.exit()? {
            return Err(failed(process, &format!("ended at once ({})", exit.status)));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(failed(process, &format!("did not answer within {} s", longest.as_secs())));
        }
        let waits = || !stop.is_stopped() && Instant::now() <= deadline;
        match get_while(address, path, waits).map(|answer| answer.status) {
            Ok(200) => return Ok(()),
            Ok(status) => {
                return Err(failed(process, &format!("answered {path} with status {status}")));
            }
            Err(_) => std::thread::sleep(POLL.min(left)),
        }
    }
}

fn failed(process: &Process, what: &str) -> Error {
    Error::Process(format!("the {} {what}: {}", process.name(), process.last_lines()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Launch;
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::process::Command;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Launch::new("shell", command).log_unnamed().unwrap().start().unwrap()
    }

    /// A server that answers one request with this status line.
    fn answering(status_line: &'static str) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request);
            stream.write_all(format!("{status_line}\r\n\r\n").as_bytes()).unwrap();
        });
        address
    }

    fn wait(process: &mut Process, address: SocketAddr, longest: Duration) -> Result<()> {
        wait_until_ok(process, address, "/x", longest, &Stop::default())
    }

    #[test]
    fn a_server_is_ready_once_it_answers_and_another_status_is_an_error() {
        let mut process = shell("sleep 100");
        let soon = Duration::from_secs(60);
        wait(&mut process, answering("HTTP/1.1 200 OK"), soon).unwrap();
        let address = answering("HTTP/1.1 404 Not Found");
        let error = wait(&mut process, address, soon).unwrap_err().to_string();
        assert!(error.contains("the shell answered /x with status 404"), "{error}");
    }

    #[test]
    fn a_server_that_ends_or_never_answers_is_an_error_with_its_log() {
        let nobody = crate::address::free_address().unwrap();
        let mut process = shell("echo port in use; exit 1");
        let soon = Duration::from_secs(60);
        let error = wait(&mut process, nobody, soon).unwrap_err().to_string();
        assert!(error.contains("ended at once") && error.contains("port in use"), "{error}");
        let mut process = shell("sleep 100");
        let short = Duration::from_millis(60);
        let error = wait(&mut process, nobody, short).unwrap_err().to_string();
        assert!(error.contains("did not answer within 0 s"), "{error}");
    }

    #[test]
    fn the_operator_stops_it_while_a_server_is_silent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Stop::default();
        let stopping = stop.clone();
        let silent = std::thread::spawn(move || {
            let connection = listener.accept().unwrap();
            stopping.stop();
            connection
        });
        let mut process = shell("sleep 100");
        let never = Duration::from_secs(3_600);
        let error = wait_until_ok(&mut process, address, "/x", never, &stop).unwrap_err();
        assert_eq!(error.to_string(), "stopped before the shell was ready");
        silent.join().unwrap();
    }
}
