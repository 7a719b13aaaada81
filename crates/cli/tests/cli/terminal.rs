//! Ctrl-C typed on the terminal of a live view, which that view has in raw mode.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};

use crate::common::upstream::Upstream;
use crate::common::{has_two_processors, wait_until};

const ALTERNATE_SCREEN: &str = "\x1b[?1049h";
const SCREEN_OF_BEFORE: &str = "\x1b[?1049l";

/// `tidegate` as the one process of a terminal.
struct OnTerminal {
    child: Child,
    keyboard: File,
    /// Keeps the terminal's settings in sight when the child has ended.
    other_end: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl OnTerminal {
    fn start(args: &[&str]) -> Self {
        let (keyboard, other_end) = crate::common::terminal();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        let end = || other_end.try_clone().unwrap();
        command.args(args).stdin(end()).stdout(end()).stderr(end());
        // SAFETY: both are system calls alone, allowed between fork and exec.
        unsafe {
            command.pre_exec(|| {
                let leads = libc::setsid() != -1 && libc::ioctl(0, libc::TIOCSCTTY, 0) != -1;
                leads.then_some(()).ok_or_else(std::io::Error::last_os_error)
            });
        }
        let child = command.spawn().expect("the binary starts");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (mut screen, seeing) = (keyboard.try_clone().unwrap(), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut piece) {
                seeing.lock().unwrap().extend_from_slice(&piece[..length]);
            }
        });
        Self { child, keyboard, other_end, seen }
    }

    fn shows(&self, words: &str) -> bool {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).contains(words)
    }

    fn press_ctrl_c(&mut self) {
        self.keyboard.write_all(b"\x03").unwrap();
    }

    /// Whether lines are echoed and edited, as a shell leaves it.
    fn is_cooked(&self) -> bool {
        // SAFETY: plain data, for which all zeros is a value.
        let mut state: libc::termios = unsafe { std::mem::zeroed() };
        // SAFETY: the descriptor is open and `state` is ours.
        assert_eq!(unsafe { libc::tcgetattr(self.other_end.as_raw_fd(), &raw mut state) }, 0);
        let wanted = libc::ICANON | libc::ECHO | libc::ISIG;
        state.c_lflag & wanted == wanted
    }

    /// Its exit code, once it ended by itself.
    fn ends_with(&mut self) -> Option<i32> {
        let ended = Mutex::new((&mut self.child, None));
        wait_until("it ends", || {
            let (child, status) = &mut *ended.lock().unwrap();
            *status = child.try_wait().unwrap();
            status.is_some()
        });
        ended.into_inner().unwrap().1.and_then(|status| status.code())
    }
}

impl Drop for OnTerminal {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

#[test]
fn ctrl_c_ends_the_demo_and_gives_its_terminal_back() {
    if !has_two_processors() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut demo = OnTerminal::start(&["demo", "--quick", "--out", out.to_str().unwrap()]);
    wait_until("the view is there", || demo.shows(ALTERNATE_SCREEN));
    assert!(!demo.is_cooked());
    demo.press_ctrl_c();
    assert_eq!(demo.ends_with(), Some(3));
    wait_until("it says so", || demo.shows("stopped before the end; no results are written"));
    assert!(demo.shows(SCREEN_OF_BEFORE) && demo.is_cooked());
    assert!(!out.join("summary.json").exists());
}

#[test]
fn ctrl_c_ends_a_load_run_with_the_report_of_what_there_was() {
    let server = Upstream::start();
    let mut load =
        OnTerminal::start(&["load", "--target", &server.url, "--requests", "20", "--warm-up", "0"]);
    wait_until("the view is there", || load.shows(ALTERNATE_SCREEN));
    wait_until("some are answered", || server.requests().len() > 5);
    load.press_ctrl_c();
    let code = load.ends_with();
    assert_eq!(code, Some(0), "{}", String::from_utf8_lossy(&load.seen.lock().unwrap()));
    wait_until("it says so", || load.shows("(stopped early)"));
    assert!(load.shows(SCREEN_OF_BEFORE) && load.is_cooked());
}
