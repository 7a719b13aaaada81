//! What a site asks robots to leave alone.
//!
//! Source: RFC 9309. `Crawl-delay` is not in it, and is in use.

use std::time::Duration;

use crate::scope::matches;

/// The name that robots.txt may have rules for.
pub const ROBOT: &str = "tidegate-render";
/// Most of a robots.txt that is read, in bytes.
///
/// Source: RFC 9309, section 2.5.
pub const LARGEST: usize = 500 * 1024;
/// Longest pause between two requests that is kept to.
const LONGEST_DELAY: f64 = 60.0;

/// The rules for one robot.
#[derive(Clone, Debug, Default)]
pub struct Robots {
    rules: Vec<(bool, String)>,
    /// Time between two requests.
    pub delay: Option<Duration>,
}

impl Robots {
    /// Forbids everything: what a site means whose robots.txt cannot be read.
    pub fn nothing() -> Self {
        Self { rules: vec![(false, "/".to_owned())], delay: None }
    }

    /// Reads the rules of all groups for this robot, or of those for `*`.
    pub fn parse(text: &str) -> Self {
        let (mut own, mut any) = (Self::default(), Self::default());
        let mut has_own = false;
        let (mut is_own, mut is_any, mut in_agents) = (false, false, false);
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let Some((field, value)) = line.split_once(':') else { continue };
            let (field, value) = (field.trim().to_ascii_lowercase(), value.trim());
            if field == "user-agent" {
                if !std::mem::replace(&mut in_agents, true) {
                    (is_own, is_any) = (false, false);
                }
                is_any |= value == "*";
                is_own |= value.eq_ignore_ascii_case(ROBOT);
                has_own |= is_own;
                continue;
            }
            if field == "sitemap" {
                continue;
            }
            in_agents = false;
            for (robots, _) in
                [(&mut own, is_own), (&mut any, is_any)].into_iter().filter(|it| it.1)
            {
                match field.as_str() {
                    "allow" | "disallow" if !value.is_empty() => {
                        robots.rules.push((field == "allow", value.to_owned()));
                    }
                    "crawl-delay" => {
                        let seconds = value.parse().ok().filter(|it: &f64| *it > 0.0);
                        robots.delay =
                            seconds.map(|it| Duration::from_secs_f64(it.min(LONGEST_DELAY)));
                    }
                    _ => {}
                }
            }
        }
        if has_own { own } else { any }
    }

    /// Whether a path with its query may be requested: as the longest rule says that fits, of two
    /// of one length as the one that allows.
    pub fn allow(&self, path_and_query: &str) -> bool {
        let fits = self.rules.iter().filter(|(_, rule)| match rule.strip_suffix('$') {
            Some(rule) => matches(rule, path_and_query, true),
            None => matches(rule, path_and_query, false),
        });
        fits.max_by_key(|(allows, rule)| (rule.len(), *allows)).is_none_or(|(allows, _)| *allows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_rule_decides_and_groups_of_one_robot_are_one() {
        let robots = Robots::parse(
            "User-agent: *\nDisallow: /\n\nuser-agent: other\nUser-Agent: Tidegate-Render # us\n\
             Disallow: /cart\nDisallow: /*.pdf$\nAllow: /cart/help\nsitemap: x\nCrawl-delay: 2\n\
             User-agent: tidegate-render\nDisallow: /admin\nDisallow:\n",
        );
        for (path, allowed) in [
            ("/", true),
            ("/cart", false),
            ("/cart/1", false),
            ("/cart/help", true),
            ("/a.pdf", false),
            ("/a.pdf?x", true),
            ("/admin/", false),
        ] {
            assert_eq!(robots.allow(path), allowed, "{path}");
        }
        assert_eq!(robots.delay, Some(Duration::from_secs(2)));
        assert!(!Robots::parse("User-agent: *\nDisallow: /\n").allow("/x"));
        assert!(Robots::parse("<html>no rules</html>").allow("/x"));
        assert!(!Robots::nothing().allow("/x"));
    }
}
