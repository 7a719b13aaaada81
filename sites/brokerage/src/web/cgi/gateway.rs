//! The server's side: starts a program for each request, and ends it when its time is over.

use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::environment::{Surroundings, variables};
use super::output;
use super::stub::{STUB_ENVIRONMENT, StubSetup};
use crate::error::Error;
use crate::protocol::Outage;
use crate::web::failure::Failure;
use crate::web::options::{Options, Program};
use tidegate_sitekit::Result;
use tidegate_sitekit::server::Local;
use tidegate_sitekit::web::{client, form};

/// Most programs that run at once in this process.
const AT_ONCE: usize = 64;
/// How long a request waits for one of them to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long a program may run: longer than its call of the application tier.
const DEADLINE: Duration = Duration::from_secs(15);
/// Most bytes that a program may write.
const MOST_OUTPUT: u64 = 4 * 1024 * 1024;

/// Starts programs.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    program: Program,
    /// What the program needs to know, for its environment.
    setup: String,
    trusted_proxies: Vec<std::net::IpAddr>,
    secure: bool,
    places: Semaphore,
    deadline: Duration,
}

impl Gateway {
    /// A gateway to a program that is told where the application tier is.
    ///
    /// # Errors
    /// What it has to be told cannot be written.
    pub fn new(program: Program, options: &Options) -> Result<Self> {
        Ok(Self(Arc::new(Inner {
            program,
            setup: StubSetup::of(options).to_text()?,
            trusted_proxies: options.trusted_proxies.clone(),
            secure: options.tls.is_some(),
            places: Semaphore::new(AT_ONCE),
            deadline: DEADLINE,
        })))
    }

    /// All requests that this process does not answer itself go to the program.
    pub fn router(self) -> Router {
        Router::new().route("/login", post(serve)).fallback(serve).with_state(self)
    }
}

async fn serve(State(gateway): State<Gateway>, request: Request) -> Response {
    gateway.0.answer(request).await.unwrap_or_else(|error| Failure::from(error).into_response())
}

impl Inner {
    async fn answer(&self, request: Request) -> std::result::Result<Response, Error> {
        let local = request.extensions().get::<Local>().map(|Local(address)| *address);
        let client = client::address(&request, &self.trusted_proxies);
        let (parts, body) = request.into_parts();
        let secure = self.secure
            || client::over_tls(&parts.headers, &parts.extensions, &self.trusted_proxies);
        let body = form::collect(body).await?;
        let Ok(Ok(_place)) = timeout(PATIENCE, self.places.acquire()).await else {
            let cause = format!(
                "no program was free for {} s: all {AT_ONCE} are at work",
                PATIENCE.as_secs()
            );
            return Err(failed(cause, false));
        };
        let around = Surroundings {
            client,
            secure,
            local: local.unwrap_or_else(|| ([127, 0, 0, 1], 0).into()),
            length: body.len(),
        };
        // A program that is cut off has perhaps made its call.
        match timeout(self.deadline, self.run(variables(&parts, &around), body)).await {
            Ok(written) => output::response(written?).map_err(|why| {
                failed(format!("what the program wrote is no response: {why}"), true)
            }),
            Err(_) => {
                let cause = format!("the program was killed after {} s", self.deadline.as_secs());
                Err(failed(cause, true))
            }
        }
    }

    /// Runs the program; it is killed if this is dropped.
    async fn run(
        &self,
        variables: Vec<(String, String)>,
        body: Vec<u8>,
    ) -> std::result::Result<Vec<u8>, Error> {
        let started = Command::new(&self.program.path)
            .args(&self.program.args)
            .env_clear()
            .envs(variables)
            .env(STUB_ENVIRONMENT, &self.setup)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn();
        let mut child = started.map_err(|error| {
            failed(format!("{} cannot be started: {error}", self.program.path.display()), false)
        })?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let (Some(mut input), Some(output)) = (input, output) else {
            return Err(failed("a program has no pipes".into(), false));
        };
        // Both at once: a program may write before it has read all.
        let write = async {
            // One that does not read its input says why by its output.
            let _ = input.write_all(&body).await;
            drop(input);
        };
        let read = async {
            let mut written = Vec::new();
            output.take(MOST_OUTPUT + 1).read_to_end(&mut written).await.map(|_| written)
        };
        let ((), written) = tokio::join!(write, read);
        let written =
            written.map_err(|error| failed(format!("a program's output: {error}"), true))?;
        if written.len() as u64 > MOST_OUTPUT {
            return Err(failed(
                format!("a program wrote more than {} MiB", MOST_OUTPUT >> 20),
                true,
            ));
        }
        let status = child.wait().await;
        match status {
            Ok(status) if status.success() => Ok(written),
            Ok(status) => Err(failed(format!("a program ended with {status}"), true)),
            Err(error) => Err(failed(format!("a program's end: {error}"), true)),
        }
    }
}

fn failed(cause: String, may_be_done: bool) -> Error {
    Outage { cause: format!("CGI: {cause}"), may_be_done }.into()
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::time::Instant;

    use axum::body::Body;
    use http_body_util::BodyExt as _;

    use super::*;

    /// A body that breaks off, or of which nothing comes.
    struct Unfinished {
        breaks_off: bool,
    }

    impl http_body::Body for Unfinished {
        type Data = bytes::Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<std::io::Result<http_body::Frame<bytes::Bytes>>>> {
            match self.breaks_off {
                true => Poll::Ready(Some(Err(std::io::Error::other("broken off")))),
                false => Poll::Pending,
            }
        }
    }

    fn shell(script: &str, deadline: Duration) -> Inner {
        let args = vec!["-c".into(), script.into()];
        Inner {
            program: Program { path: "/bin/sh".into(), args },
            setup: "{}".into(),
            trusted_proxies: Vec::new(),
            secure: false,
            places: Semaphore::new(1),
            deadline,
        }
    }

    async fn run(script: &str) -> std::result::Result<String, String> {
        run_within(script, Duration::from_secs(20)).await
    }

    async fn run_within(script: &str, deadline: Duration) -> std::result::Result<String, String> {
        let request = Request::post("/orders?a=b").body(Body::from("quantity=1")).unwrap();
        match shell(script, deadline).answer(request).await {
            Ok(response) => {
                let status = response.status().as_u16();
                let body = response.into_body().collect().await.unwrap().to_bytes();
                Ok(format!("{status} {}", String::from_utf8_lossy(&body)))
            }
            Err(Error::Outage(outage)) => Err(outage.cause),
            Err(Error::Refused(problem)) => Err(problem.what.into()),
        }
    }

    #[tokio::test]
    async fn a_program_has_the_request_and_its_output_is_the_response() {
        let script = r#"printf 'Status: 201 Created\nContent-Type: text/plain\n\n'
            printf "$REQUEST_METHOD $PATH_INFO $QUERY_STRING $CONTENT_LENGTH "; /bin/cat"#;
        assert_eq!(run(script).await.unwrap(), "201 POST /orders a=b 10 quantity=1");
        let script = r#"printf 'Content-Type: text/plain\n\n'; printf "[$HOME]""#;
        assert_eq!(run(script).await.unwrap(), "200 []", "nothing else is passed on");
    }

    #[tokio::test]
    async fn a_program_that_fails_is_told_from_one_that_answers() {
        for (script, expected) in [
            ("exit 3", "ended with exit status: 3"),
            ("kill -9 $$", "signal: 9"),
            ("echo hello", "no end"),
            ("printf 'hello\\n\\n'", "is no header field"),
            ("exec /usr/bin/head -c 5000000 /dev/zero", "more than 4 MiB"),
        ] {
            let error = run(script).await.unwrap_err();
            assert!(error.contains(expected), "{script}: {error}");
        }
        let mut missing = shell("", DEADLINE);
        missing.program.path = "/does/not/exist".into();
        let request = Request::get("/main").body(Body::empty()).unwrap();
        let Err(Error::Outage(outage)) = missing.answer(request).await else { panic!("started") };
        assert!(outage.cause.contains("/does/not/exist cannot be started") && !outage.may_be_done);
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_killed() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("id");
        let script = format!("echo $$ > {}; exec /bin/sleep 1000", file.display());
        // Until the shell has begun, which takes a machine its time.
        let mut deadline = Duration::from_millis(500);
        let id = loop {
            let error = run_within(&script, deadline).await.unwrap_err();
            assert!(error.contains("the program was killed"), "{error}");
            match std::fs::read_to_string(&file) {
                Ok(id) if id.ends_with('\n') => break id,
                _ if deadline < Duration::from_secs(60) => deadline *= 4,
                begun => panic!("the shell has not begun: {begun:?}"),
            }
        };
        let began = Instant::now();
        let stat = format!("/proc/{}/stat", id.trim());
        let gone = || {
            let state = std::fs::read_to_string(&stat).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        while !gone() {
            assert!(began.elapsed() < Duration::from_secs(60), "{stat} is still there");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn programs_at_once_are_bounded_and_waiting_for_one_too() {
        let gateway = shell("exit 0", DEADLINE);
        let _all = gateway.places.acquire().await.unwrap();
        let request = Request::get("/main").body(Body::empty()).unwrap();
        let Err(Error::Outage(outage)) = gateway.answer(request).await else { panic!("ran") };
        assert!(outage.cause.contains("all 64 are at work") && !outage.may_be_done);
    }

    #[tokio::test(start_paused = true)]
    async fn a_form_that_is_too_long_or_slow_or_breaks_off_starts_no_program() {
        for (body, status) in [
            (Body::from(vec![0; 64 * 1024 + 1]), 413),
            (Body::new(Unfinished { breaks_off: false }), 408),
            (Body::new(Unfinished { breaks_off: true }), 400),
        ] {
            let request = Request::post("/orders").body(body).unwrap();
            let answer = shell("exit 0", DEADLINE).answer(request).await;
            let Err(Error::Refused(problem)) = answer else { panic!("{status}: it ran") };
            assert_eq!(problem.status, status);
        }
    }
}
