//! Mistakes in the configuration of routes.

use crate::config_mistakes::{UPSTREAM, assert_only_mistake, mistakes};

#[test]
fn a_bad_route_is_refused_with_its_line_and_remedy() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let (there, file) = (folder.path().display(), folder.path().join("file"));
    let at = |key: &str| format!("gate.toml:5: routes[0].{key}");
    for (keys, expected) in [
        (
            "url = \"http://127.0.0.1:1\"".to_owned(),
            "gate.toml:3: routes[0].path: must be set; add path = \"/products/\"".to_owned(),
        ),
        (
            "path = \"/a\"".into(),
            "gate.toml:3: routes[0]: leads nowhere; add directory = \"/var/www/shop\" or url = \
             \"http://127.0.0.1:8081\""
                .into(),
        ),
        (
            format!("path = \"/a\"\nurl = \"http://127.0.0.1:1\"\ndirectory = \"{there}\""),
            at(
                "url = \"http://127.0.0.1:1\": cannot be set beside directory; make two routes of it",
            ),
        ),
        (
            format!("path = \"/a\"\ndirectory = {file:?}"),
            at(&format!(
                "directory = {file:?}: is not a directory; name a directory of files; for a \
                 server, set url instead"
            )),
        ),
        (
            "path = \"/a\"\ndirectory = \"/none/such\"".into(),
            at("directory = \"/none/such\": is not there; name a directory of files; for a \
                server, set url instead"),
        ),
        (
            "path = \"/a\"\nvariant_cookie = \"zone\"\nurl = \"http://127.0.0.1:1\"".into(),
            at("variant_cookie = \"zone\": has no effect without directory; leave it out"),
        ),
        (
            format!("path = \"/a\"\ncgroup = \"/a\"\ndirectory = \"{there}\""),
            at("cgroup = \"/a\": has no effect without url; leave it out"),
        ),
        (
            format!("path = \"/a\"\nvariant_cookie = \"a=b\"\ndirectory = \"{there}\""),
            at("variant_cookie = \"a=b\": must be the name of a cookie: at most 64 letters, \
                digits, - and _; try \"zone\""),
        ),
        (
            format!("path = \"/a\"\ncache_control = \"\"\ndirectory = \"{there}\""),
            at(
                "cache_control = \"\": must be the value of a header field: at most 1024 printable \
                letters; try \"max-age=60\"",
            ),
        ),
        (
            "path = \"/a\"\nurl = \"http://127.0.0.1:8080\"\nprocesses = \"none\"".into(),
            "gate.toml:6: routes[0].processes = \"none\": is said where this url occurs first; \
             leave it out here"
                .into(),
        ),
        (
            "path = \"/a\"\npriority = \"high\"\nresponse_timeout = \"1s\"".into(),
            at("response_timeout = \"1s\": has no effect in a route that leads nowhere; leave it out")
                .replace(":5:", ":6:"),
        ),
        (
            "path = \"/a\"\nurll = \"x\"".into(),
            "gate.toml:3: routes[0]: leads nowhere; add directory = \"/var/www/shop\" or url = \
             \"http://127.0.0.1:8081\"\n\
             gate.toml:5: routes[0].urll = \"x\": is not a known key; did you mean url?"
                .into(),
        ),
    ] {
        assert_eq!(mistakes(&format!("{UPSTREAM}[[routes]]\n{keys}")), expected, "{keys}");
    }
    for path in ["products/", "/a/../b", "/a//b", "/a%20b", "/a?b"] {
        let text = format!("{UPSTREAM}[[routes]]\npath = \"{path}\"\nurl = \"http://127.0.0.1:1\"");
        let found = mistakes(&text);
        let begin = format!(
            "gate.toml:4: routes[0].path = \"{path}\": must be a path from the root, decoded, \
             without query and dot segments; try \"/products/\""
        );
        assert_eq!(found, begin);
    }
    let twice = "[[routes]]\npath = \"/a/\"\nurl = \"http://127.0.0.1:1\"\n";
    assert_only_mistake(
        &format!("{twice}{}", twice.replace("/a/", "/a")),
        "gate.toml:7: routes[1].path = \"/a\": is the path of another route; leave one of them out",
    );
    assert_only_mistake(
        "[routes]\npath = \"/a\"\n",
        "gate.toml:3: routes: must be tables [[routes]]; write [[routes]] and its keys below",
    );
    assert_only_mistake(
        "[[route]]\npath = \"/a\"\n",
        "gate.toml:3: route: is not a known table; did you mean [[routes]]?",
    );
    let own = "[listen]\nclear = \"127.0.0.1:9\"\n[[routes]]\npath = \"/a\"\nurl = \"http://127.0.0.1:9\"\n";
    assert_only_mistake(
        own,
        "gate.toml:7: routes[0].url = \"http://127.0.0.1:9\": is the gate's own address for plain \
         HTTP, 127.0.0.1:9; name the service's port, or set another for the gate",
    );
}
