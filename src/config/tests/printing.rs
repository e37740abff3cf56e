//! What is printed is what is in force, and hides what is secret.

use super::super::load::of_text;
use super::super::{Overlay, print};
use super::{BASE, good, load};

#[test]
fn what_was_printed_loads_to_the_same() {
    let rich = r##"
[server]
listen = ["127.0.0.1:8080", "[::1]:8080"]
hosts = ["Www.Example."]
prefix = "/q"
crowd_listen = ["127.0.0.1:8081"]
crowd_url = "https://wait.example:8443"
cors_origins = ["https://shop.example"]
trusted_proxies = ["10.0.0.0/8", "::1"]
limits = { header_timeout = "90s", header_bytes = 0x2000, idle_timeout = "1h", connections = 5, connections_per_address = 2, body_bytes = 0 }
[origin]
url = "http://[::1]:3000/"
connect_timeout = "1500ms"
paths_ignore_case = true
[store]
url = "redis://h:6380/2"
durability = "memory"
accept_loss = true
[[room]]
id = "a"
hosts = ["shop.example"]
paths = ["/演唱會/**"]
same_site = "none"
release = { rate = "10/min", burst = 7, hold = "0s", max_active = 11, max_total = 12 }
waiting = { return_within = "20h", poll = { min = "500ms", max = "1m" }, max = 9 }
pass = { first_use = "2s", idle = "5s", ttl = "10s", leeway = "0s" }
schedule = { doors = 2026-12-24T11:30:00+08:00, opens = 2026-12-24T12:00:00.25+08:00, closes = 2026-12-24T18:00:00Z, lobby_order = "draw", public = "a beacon" }
page = { status = 503, title = "a \"quoted\" \\ title", languages = ["zh-Hant"], colours = { accent = "#ABCDEF" } }
[[room]]
id = "b"
paths = ["/b"]
release.rate = "3/h"
[[room]]
id = "c"
paths = ["/c"]
release.rate = "3/h"
identity = { kind = "jwt", jwks = "HTTP://Keys.example/k?v=1", issuer = "i", audience = "a", login_url = "/l?r={return}" }
[[room]]
id = "d"
paths = ["/d"]
release.rate = "3/h"
identity = { kind = "header", name = "X-User", missing = "browser" }
[[room]]
id = "e"
paths = ["/e"]
release.rate = "3/h"
identity = { kind = "cookie", name = "Session" }
[[room]]
id = "f"
paths = ["/f"]
release.rate = "3/h"
identity = { kind = "jwt", name = "Session", jwks = "https://Id.example/k", claim = "id" }
[[cache]]
paths = ["/c/*"]
query = ["d"]
max_bytes = 5
"##;
    for text in [BASE, rich] {
        let config = good(text);
        let printed = print(&config);
        assert!(good(&printed) == config, "{printed}");
        assert_eq!(print(&good(&printed)), printed);
    }
}

#[test]
fn no_secret_is_printed_and_a_mask_is_not_taken_for_one() {
    let hash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";
    let secrets = format!(
        "[store]\nurl = \"redis://u:hunter2@h\"\n[[admin.token]]\nname = \"a\"\nrole = \"operator\"\nsha256 = \"{hash}\"\n{BASE}"
    );
    let env = |name: &str| (name == "ROPELINE_ORIGIN_SECRET").then(|| "hush".to_owned());
    let config = of_text("f", &secrets, &Overlay::default(), &env).unwrap();
    let printed = print(&config);
    let shown = format!("{config:?}{:?}{:?}{printed}", config.origin, config.admin);
    for secret in ["hunter2", "hush", hash, &hash[..16]] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(printed.contains("redis://u:***@h") && printed.contains("\"9f86d081...\""), "{printed}");
    let problems = load(&printed).unwrap_err();
    let keys: Vec<&str> = problems.list().iter().map(|problem| problem.key.as_str()).collect();
    assert_eq!(keys, ["store.url", "admin.token[0].sha256"]);
    let back = printed.replace("***", "hunter2").replace("9f86d081...", hash);
    assert!(of_text("f", &back, &Overlay::default(), &env).unwrap() == config);
}
