//! The brokerage's tiers as processes, each with its log, and a customer who uses them.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{PATIENCE, Text, curl};

/// A tier that runs. It is killed when it is dropped.
pub struct Tier {
    child: Child,
    /// Where it listens.
    pub address: String,
    log: PathBuf,
}

impl Tier {
    /// Starts `tidegate site brokerage` with these arguments, and waits until it is ready.
    pub fn start(folder: &Path, name: &str, args: &[&str]) -> Self {
        let log = folder.join(format!("{name}.log"));
        let stderr = File::options().create(true).append(true).open(&log).expect("a log");
        let child = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["site", "brokerage"])
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the binary starts");
        let mut tier = Self { child, address: String::new(), log };
        for line in BufReader::new(tier.child.stdout.take().expect("piped")).lines() {
            let line = line.expect("text");
            if line == "ready" {
                assert!(!tier.address.is_empty(), "no address before `ready`");
                return tier;
            }
            if let Some((_, announced)) = line.split_once(": ") {
                tier.address = announced.to_owned();
            }
        }
        panic!("{name} ended: {}", tier.log());
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("a log")
    }

    /// Ends it as a crash does: nothing of it runs any more.
    pub fn kill(mut self) {
        self.child.kill().expect("it runs");
        self.child.wait().expect("it is a child");
    }

    /// Sends SIGTERM, and returns its exit code.
    pub fn end(mut self) -> Option<i32> {
        // SAFETY: the child was not waited for yet, so the id is its own.
        unsafe { libc::kill(self.child.id().cast_signed(), libc::SIGTERM) };
        self.wait()
    }

    /// Its exit code once it has ended.
    pub fn wait(&mut self) -> Option<i32> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                return status.code();
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Tier {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A page with its status.
#[derive(Debug)]
pub struct Page {
    pub status: u16,
    pub text: String,
}

/// A customer with the cookies of a browser, by curl.
#[derive(Clone)]
pub struct Customer {
    site: String,
    cookies: PathBuf,
}

impl Customer {
    /// Signs in. A site that is not available gives a customer who is not signed in.
    pub fn sign_in(site: &str, folder: &Path, number: usize) -> Self {
        let cookies = folder.join(format!("cookies-{number}"));
        let customer = Self { site: site.to_owned(), cookies };
        let fields = format!("user=customer{number}&password=password{number}");
        customer.post("/login", &fields);
        customer
    }

    fn request(&self, path: &str, more: &[&str]) -> Page {
        let (url, cookies) = (format!("{}{path}", self.site), self.cookies.display().to_string());
        let fixed =
            ["--cookie", &cookies, "--cookie-jar", &cookies, "--write-out", "\n%{http_code}", &url];
        let text = curl(&[&fixed, more].concat()).stdout_text();
        let (text, status) = text.rsplit_once('\n').unwrap_or(("", "0"));
        Page { status: status.parse().unwrap_or(0), text: text.to_owned() }
    }

    pub fn get(&self, path: &str) -> Page {
        self.request(path, &[])
    }

    pub fn post(&self, path: &str, fields: &str) -> Page {
        self.request(path, &["--data", fields])
    }

    /// Sends an order of this name to buy or sell at a limit.
    pub fn order(&self, form: &str, name: &str, side: &str, quantity: usize, limit: &str) -> Page {
        let fields = format!(
            "form={form}&order={name}&side={side}&symbol=ALEN&kind=limit&quantity={quantity}\
             &limit={limit}&good=cancel"
        );
        self.post("/orders", &fields)
    }

    /// What the forms of the session carry, once the site is available.
    pub fn form(&self) -> Option<String> {
        let page = self.get("/orders/new");
        let (_, rest) = page.text.split_once("name=\"form\" value=\"")?;
        Some(rest.split_once('"')?.0.to_owned())
    }
}
