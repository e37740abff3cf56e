//! Identities that could tell nobody apart, or that lead in a circle.

use super::bad::room;
use super::{BASE, load};

#[test]
fn identities_that_could_tell_nobody() {
    let one = |line: &str, expected: &str| room(line, &[&format!("f:7: room[0].identity.{expected}")]);
    one("identity = { kind = \"cookie\" }", "name: missing");
    one("identity = { kind = \"cookie\", name = \"a b\" }", "name: expected the name of a cookie");
    one("identity = { kind = \"cookie\", name = \"__Host-rl_t_a\" }", "name: is a cookie of ropeline's own");
    one("identity = { kind = \"cookie\", name = \"s\", claim = \"sub\" }", "claim: has no effect");
    one("identity = { name = \"s\" }", "name: has no effect");
    one("identity = { kind = \"browser\", missing = \"browser\" }", "missing: has no effect");
    one("identity = { kind = \"header\", name = \"x-user\" }", "kind: a header counts only from a proxy");
    one("identity = { kind = \"jwt\" }", "jwks: missing");
    for jwks in ["", "keys", "//a", "http://a", "ftp://a/b", "file:", "/a b", "http://u:hunter2@a/b"] {
        one(&format!("identity = {{ kind = \"jwt\", jwks = {jwks:?} }}"), "jwks: expected ");
    }
    one("identity = { kind = \"jwt\", jwks = \"/k\", claim = \"\" }", "claim: must not be empty");
    one("identity = { kind = \"jwt\", jwks = \"/k\", name = \"cookie\" }", "name: \"cookie\" says nothing");
    for url in ["login", "//evil.example", "javascript:1", "/a b", "/\\\\a"] {
        let line = format!("identity = {{ kind = \"cookie\", name = \"s\", login_url = {url:?} }}");
        one(&line, "login_url: expected a path");
    }
    one(
        "identity = { kind = \"cookie\", name = \"s\", login_url = \"/buy/login\" }",
        "login_url: \"/buy/login\" is behind",
    );
    one(
        "identity = { kind = \"cookie\", name = \"s\", missing = \"browser\", login_url = \"/login\" }",
        "login_url: has no effect",
    );
    one(
        "identity = { kind = \"cookie\", name = \"s\", missing = \"wait\" }",
        "missing: expected \"refuse\" or",
    );
    let open = "open_paths = [\"/buy/login\"]\nidentity = { kind = \"cookie\", name = \"s\", login_url = \"/buy/login?x\" }";
    assert!(load(&format!("{BASE}{open}")).is_ok());
}
