//! The limit on open files of this process (`RLIMIT_NOFILE`). Every connection is an
//! open file.
//!
//! Source: `getrlimit(2)`.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The limit that this process may raise its own to without a privilege; `u64::MAX`
/// where there is none.
pub fn hard_limit() -> u64 {
    value(getrlimit(Resource::Nofile).maximum)
}

/// The limit that holds for this process now; `u64::MAX` where there is none.
pub fn limit() -> u64 {
    value(getrlimit(Resource::Nofile).current)
}

/// Raises the limit of this process, and of those that it starts later, as far as it
/// may. Returns the limit that holds then, which is the old one where the kernel
/// refuses.
pub fn raise_limit() -> u64 {
    let old = getrlimit(Resource::Nofile);
    if value(old.current) < value(old.maximum) {
        let raised = Rlimit { current: old.maximum, maximum: old.maximum };
        if setrlimit(Resource::Nofile, raised).is_ok() {
            return value(old.maximum);
        }
    }
    value(old.current)
}

/// `None` means unlimited.
fn value(limit: Option<u64>) -> u64 {
    limit.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_the_hard_limit() {
        let limit = raise_limit();
        assert_eq!(limit, hard_limit());
        assert_eq!(super::limit(), limit);
        assert_eq!(raise_limit(), limit, "raising it again changes nothing");
    }
}
