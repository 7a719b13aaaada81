//! User agents that say they are programs.

/// Words of their names, in small letters.
const WORDS: &[&str] = &[
    "bot",
    "crawl",
    "spider",
    "slurp",
    "externalhit",
    "monitor",
    "uptime",
    "pingdom",
    "healthcheck",
    "kube-probe",
    "googlehc",
    "curl/",
    "wget/",
    "python-",
    "python/",
    "libwww",
    "go-http-client",
    "java/",
    "apache-httpclient",
    "headlesschrome",
];
/// A telephone whose name has one of them.
const PHONE: &str = "cubot";

/// Whether a user agent says that it is a program and no browser.
pub(super) fn is_bot(agent: &str) -> bool {
    let agent = agent.to_ascii_lowercase().replace(PHONE, "");
    WORDS.iter().any(|word| agent.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_that_say_so_are_told_from_browsers() {
        for bot in [
            "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
            "Mozilla/5.0 (compatible; Baiduspider/2.0)",
            "curl/8.5.0",
            "python-requests/2.31",
            "ELB-HealthChecker/2.0",
            "facebookexternalhit/1.1",
        ] {
            assert!(is_bot(bot), "{bot}");
        }
        for browser in [
            "",
            "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
            "Mozilla/5.0 (Linux; Android 10; CUBOT X30) AppleWebKit/537.36",
            "okhttp/4.9.3",
        ] {
            assert!(!is_bot(browser), "{browser}");
        }
    }
}
