//! Bad documents, and what is said of them. The cases are those by which others lost their protection in
//! silence: misspelt keys, keys in the wrong table, keys that stand twice, wrong kinds, wrong bounds.

use super::super::Spot;
use super::{BASE, load, report};

/// Each line of `expected` must be the start of a line of the report, and there must be no others.
fn check(text: &str, expected: &[&str]) {
    let report = report(text);
    let lines: Vec<&str> = report.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{text}\n---\n{report}");
    for (line, start) in lines.iter().zip(expected) {
        assert!(line.starts_with(start), "expected {start}\nfound    {line}\nin\n{text}");
    }
}

/// The base with lines added at its end, which belong to the room; they begin at line 7.
pub(super) fn room(lines: &str, expected: &[&str]) {
    check(&format!("{BASE}{lines}\n"), expected);
}

/// The base with whole tables before it.
fn before(tables: &str, expected: &[&str]) {
    check(&format!("{tables}\n{BASE}"), expected);
}

#[test]
fn everything_is_said_at_once_and_by_line() {
    let text = r#"
[server]
lisetn = ["127.0.0.1:1"]
prefix = "x"
trusted_proxies = ["10.0.0.0/8", "10.1.2.3/8", "all"]
[origin]
url = "shop:3000"
connect_timeout = 5
[store]
url = "redis://u:hunter2@h:x"
[[room]]
id = "Spring"
paths = ["buy", "/a"]
[room.release]
rate = 0
burst = "10/min"
[[room]]
id = "b"
paths = ["/a"]
release = { rate = "1/s", hold = "1d" }
[limits]
"#;
    check(
        text,
        &[
            "f:3: server.lisetn: unknown key; did you mean `listen`?",
            "f:4: server.prefix: expected a path",
            "f:5: server.trusted_proxies[1]: \"10.1.2.3/8\" has bits set beyond its length; the network is \"10.0.0.0/8\"",
            "f:5: server.trusted_proxies[2]: expected a network",
            "f:7: origin.url: expected http://host:port",
            "f:8: origin.connect_timeout: expected a duration such as \"500ms\", \"2s\", \"10m\" or \"1h\", found 5",
            "f:10: store.url: host 1 has a port that is no number",
            "f:12: room[0].id: expected 1 to 64 of a-z, 0-9 and -",
            "f:13: room[0].paths[0]: \"buy\" must begin with a slash",
            "f:15: room[0].release.rate: expected a rate such as",
            "f:16: room[0].release.burst: expected a whole number from 1 to 1000000, found \"10/min\"",
            "f:19: room[1].paths[0]: \"/a\" on any host is matched by room[0].paths[1] already",
            "f:20: room[1].release.hold: expected a duration such as",
            "f:21: limits: unknown key; did you mean `limit`?",
        ],
    );
}

#[test]
fn misspelt_and_misplaced_keys() {
    room("rat = \"1/s\"", &["f:7: room[0].rat: unknown key"]);
    room("pathes = []", &["f:7: room[0].pathes: unknown key; did you mean `paths`?"]);
    room("rate = \"1/s\"", &["f:7: room[0].rate: unknown key; `rate` belongs in [room.release]"]);
    room(
        "[room.pass]\nmax_total = 5",
        &["f:8: room[0].pass.max_total: unknown key; `max_total` belongs in [room.release]"],
    );
    before("[sever]\nlisten = []", &["f:1: sever: unknown key; did you mean `server`?"]);
    before("listen = []", &["f:1: listen: unknown key; `listen` belongs in [admin] or [server]"]);
    before(
        "[server]\nlimits.header_byts = 5",
        &["f:2: server.limits.header_byts: unknown key; did you mean `header_bytes`?"],
    );
    room("\"\" = 1", &["f:7: room[0].\"\": unknown key"]);
    room("\"a\\nb\" = 1", &["f:7: room[0].\"a\\nb\": unknown key"]);
    check("[room]\nid = \"a\"\norigin = 1", &["f:1: origin.url: missing", "f:1: room: "]);
}

#[test]
fn keys_that_stand_twice() {
    before(
        "[server.limits]\nconnections = 1\nconnections = 2",
        &["f:3: server.limits.connections: stands twice"],
    );
    room("id = \"b\"", &["f:7: room[0].id: stands twice"]);
    room("[room.pass]\nttl = \"1h\"\n[room.pass]\nttl = \"1h\"", &["f:9: room[0].pass: stands twice"]);
    room("identity = { kind = \"browser\", kind = \"browser\" }", &["f:7: room[0].kind: stands twice"]);
    // The rest is judged all the same.
    room("id = \"b\"\nburts = 1", &["f:7: room[0].id: stands twice", "f:8: room[0].burts: unknown key"]);
}

#[test]
fn what_is_not_toml() {
    check("[server\nx = 1", &["f:1: not TOML: "]);
    check("[server]\n\nlisten = 127.0.0.1", &["f:3: not TOML: "]);
    check("a = 'x", &["f:1: not TOML: "]);
}

#[test]
fn rates() {
    for value in
        ["0", "-5", "1e9", "50", "\"0/s\"", "\"-1/s\"", "\"1000001/s\"", "\"1e9/s\"", "\"50\"", "true", "[]"]
    {
        let text = BASE.replace("\"50/s\"", value);
        check(
            &text,
            &[
                "f:6: room[0].release.rate: expected a rate such as \"50/s\", \"10/min\" or \"3600/h\", above 0 and at most 1000000/s, found ",
            ],
        );
    }
}

#[test]
fn kinds_and_bounds() {
    let bad = [
        "release.burst = 0",
        "release.burst = -1",
        "release.burst = 1.5",
        "release.max_total = \"5\"",
        "release.max_active = 0",
        "release.max_active = \"9\"",
        "release.hold = \"31s\"",
        "release.hold = \"-1s\"",
        "waiting.return_within = \"0s\"",
        "waiting.max = 0",
        "waiting.poll.min = \"1ms\"",
        "waiting.poll = \"2s\"",
        "pass.ttl = \"500ms\"",
        "pass.ttl = \"25h\"",
        "pass.leeway = \"2m\"",
        "pass.first_use = \"0s\"",
        "pass.idle = \"25h\"",
        "same_site = \"Lax\"",
        "hosts = \"shop.example\"",
        "hosts = [\"shop.example:80\"]",
        "hosts = [1]",
        "page.status = 302",
        "page.status = 204",
        "page.status = 99",
        "page.title = \"\"",
        "page.colours.accent = \"red\"",
        "page.languages = [\"xx\"]",
        "page.languages = []",
        "page.logo = \"/nowhere/logo.svg\"",
        "page.logo = \"/etc/passwd\"",
        "identity = \"browser\"",
        "identity.kind = \"ip\"",
        "page = 1",
    ];
    for line in bad {
        let key = line.split([' ', '=']).next().unwrap_or_default();
        room(line, &[&format!("f:7: room[0].{key}")]);
    }
    let bad = [
        ("server", "listen = []"),
        ("server", "listen = [\"127.0.0.1\"]"),
        ("server", "prefix = \"/\""),
        ("server", "prefix = \"/a/\""),
        ("server", "cors_origins = [\"*\"]"),
        ("server", "crowd_url = \"https://wait.example\""),
        ("server", "limits.header_bytes = 1"),
        ("admin", "listen = 9090"),
        ("store", "durability = \"safe\""),
        ("store", "timeout = \"0s\""),
        ("store", "durability = \"memory\""),
        ("store", "url = \"\""),
        ("store", "url_file = \"/nowhere/x\""),
        ("keys", "dir = \"\""),
    ];
    for (table, line) in bad {
        let key = line.split(' ').next().unwrap_or_default();
        before(&format!("[{table}]\n{line}"), &[&format!("f:2: {table}.{key}")]);
    }
}

#[test]
fn what_is_missing() {
    check("", &["f:1: origin.url: missing", "f:1: room: missing"]);
    check(
        "[origin]\n\n[[room]]\n[[room]]\npaths = []\n",
        &[
            "f:1: origin.url: missing",
            "f:3: room[0].id: missing",
            "f:3: room[0].paths: missing",
            "f:3: room[0].release.rate: missing",
            "f:4: room[1].id: missing",
            "f:4: room[1].release.rate: missing",
            "f:5: room[1].paths: must not be empty",
        ],
    );
    before("[[cache]]\nttl = \"1s\"", &["f:1: cache[0].paths: missing"]);
    before(
        "[[admin.token]]",
        &[
            "f:1: admin.token[0].name: missing",
            "f:1: admin.token[0].role: missing",
            "f:1: admin.token[0].sha256: missing",
        ],
    );
}

#[test]
fn what_contradicts_itself() {
    room(
        "waiting.poll = { min = \"40s\" }",
        &["f:7: room[0].waiting.poll.min: poll.max (30s) must not be shorter than poll.min (40s) (room a)"],
    );
    room("waiting.poll = { min = \"4s\", max = \"3s\" }", &["f:7: room[0].waiting.poll.max: "]);
    room(
        "pass = { ttl = \"10s\", leeway = \"10s\" }",
        &["f:7: room[0].pass.leeway: must be shorter than ttl"],
    );
    room(
        "pass = { ttl = \"10s\", first_use = \"11s\", idle = \"1m\" }",
        &[
            "f:7: room[0].pass.first_use: must not be longer than ttl",
            "f:7: room[0].pass.idle: must not be longer than ttl",
        ],
    );
    room(
        "open_paths = [\"/x\", \"/buy/**\"]",
        &["f:7: room[0].open_paths[1]: \"/buy/**\" on any host is matched by room[0].paths[0] already"],
    );
    let second = |lines: &str| format!("[[room]]\nid = \"b\"\nrelease.rate = \"1/s\"\n{lines}");
    room(
        "[[room]]\nid = \"a\"\nrelease.rate = \"1/s\"\npaths = [\"/b\"]",
        &["f:8: room[1].id: \"a\" is the id of another room (room[0].id)"],
    );
    room(&second("paths = [\"/%62uy/**\"]"), &["f:10: room[1].paths[0]: "]);
    room(
        &second("hosts = [\"b.example\"]\npaths = [\"/b/\"]\nopen_paths = [\"/b\"]"),
        &["f:12: room[1].open_paths[0]: \"/b\" on host b.example is matched by room[1].paths[0] already"],
    );
    assert!(load(&format!("{BASE}{}", second("hosts = [\"b.example\"]\npaths = [\"/buy/**\"]"))).is_ok());
    assert!(load(&format!("{BASE}{}", second("paths = [\"/BUY/**\"]"))).is_ok());
    let folded = BASE.replacen("[[room]]", "paths_ignore_case = true\n[[room]]", 1);
    check(&format!("{folded}{}", second("paths = [\"/BUY/**\"]")), &["f:11: room[1].paths[0]: "]);
    before(
        "[[cache]]\npaths = [\"/a\", \"/a/\"]",
        &["f:2: cache[0].paths[1]: \"/a/\" is matched by cache[0].paths[0] already"],
    );
    before(
        "[admin]\nlisten = \"127.0.0.1:8080\"",
        &["f:2: admin.listen: 127.0.0.1:8080 is already an address of server.listen"],
    );
    before(
        "[server]\nlisten = [\"0.0.0.0:3000\"]",
        &["f:4: origin.url: 0.0.0.0:3000 is where ropeline itself listens"],
    );
    before(
        "[store]\nurl = \"file:x\"\nurl_file = \"/dev/null\"",
        &["f:3: store.url_file: /dev/null is empty", "f:3: store.url_file: say either"],
    );
}

#[test]
fn secrets_that_are_empty_or_masked_or_shown() {
    let token = |hash: &str| format!("[[admin.token]]\nname = \"a\"\nrole = \"viewer\"\nsha256 = \"{hash}\"");
    before(
        &token(""),
        &[
            "f:4: admin.token[0].sha256: expected the SHA-256 of the token as 64 hex digits, found 0 characters",
        ],
    );
    before(
        &token("hunter2hunter2"),
        &[
            "f:4: admin.token[0].sha256: expected the SHA-256 of the token as 64 hex digits, found 14 characters",
        ],
    );
    before(
        &token("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        &["f:4: admin.token[0].sha256: is the hash of an empty token"],
    );
    before(
        &token(&"é".repeat(32)),
        &["f:4: admin.token[0].sha256: expected 64 hex digits, found other characters"],
    );
    before(&token("9f86d081..."), &["f:4: admin.token[0].sha256: was shortened by --print"]);
    let one = token(&"0".repeat(64));
    before(&format!("{one}\n{one}"), &["f:6: admin.token[1].name: \"a\" is the name of another token"]);
    before("[store]\nurl = \"redis://u:***@h\"", &["f:2: store.url: the password was masked"]);
    before("[store]\nurl = \"redis://u:@h\"", &["f:2: store.url: the password is empty"]);
    check(
        &BASE.replacen("[[room]]", "secret_file = \"/dev/null\"\n[[room]]", 1),
        &["f:3: origin.secret_file: /dev/null is empty"],
    );
}

#[test]
fn values_of_later_features_are_refused_as_such() {
    let https = report(&BASE.replace("http://", "https://"));
    assert!(https.contains("f:2: origin.url: not yet supported"), "{https}");
}

#[test]
fn whatever_stands_there_is_said_and_nothing_panics() {
    let manual = include_str!("../../../config/ropeline.toml");
    let lines = manual.lines().count();
    let mutants = (0..manual.len()).step_by(61).flat_map(|at| {
        let cut = manual.get(..at).unwrap_or_default().to_owned();
        let dropped = format!("{cut}{}", manual.get(at + 1..).unwrap_or_default());
        let stuffed = format!("{cut}\u{1}\"[{}", manual.get(at..).unwrap_or_default());
        [cut, dropped, stuffed]
    });
    for text in mutants {
        if let Err(problems) = load(&text) {
            assert!(!problems.list().is_empty(), "{text}");
            for problem in problems.list() {
                assert!(matches!(problem.spot, Spot::Line(line) if line <= lines + 1), "{problems}");
            }
            assert_eq!(problems.to_string().lines().count(), problems.list().len());
        }
    }
}

#[test]
fn numbers_are_read_as_toml_writes_them() {
    for text in ["16", "+16", "0x10", "0b1_0000", "1_6"] {
        let config = load(&format!("server.limits.connections = {text}\n{BASE}")).unwrap();
        assert_eq!(config.server.limits.connections, 16, "{text}");
    }
}
