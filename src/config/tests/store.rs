//! `[store]` on Redis in all its forms: what is read, what is refused, and what is warned of.

use super::super::{print, warnings};
use super::{BASE, good, report};

const AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tls/ca.pem");
const NO_AUTHORITY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/tls/key.pem");

fn store(lines: &str) -> String {
    format!("[store]\n{lines}\n{BASE}")
}

#[test]
fn every_kind_of_address_is_read_and_shown_without_its_passwords() {
    for (url, shown) in [
        ("rediss://u:hunter2@h:1/2", "rediss://u:***@h:1/2"),
        (
            "redis+sentinel://:hunter2@a,b/m?sentinel_password=hunter2",
            "redis+sentinel://:***@a,b/m?sentinel_password=***",
        ),
        ("rediss+cluster://u:hunter2@a,b:7", "rediss+cluster://u:***@a,b:7"),
    ] {
        let config = good(&store(&format!("url = \"{url}\"")));
        let printed = print(&config);
        assert!(printed.contains(&format!("url = \"{shown}\"")), "{printed}");
        assert!(!format!("{config:?}{printed}").contains("hunter2"));
        assert!(report(&printed).contains("store.url: the password was masked"));
    }
}

#[test]
fn authorities_are_read_at_once_and_are_for_tls_alone() {
    let config = good(&store(&format!("url = \"rediss://h\"\nca_file = \"{AUTHORITY}\"")));
    assert_eq!(config.store.ca_file.as_deref(), Some(AUTHORITY.as_ref()));
    assert!(print(&config).contains(&format!("ca_file = \"{AUTHORITY}\"")));
    for (lines, problem) in [
        (format!("ca_file = \"{NO_AUTHORITY}\"\nurl = \"rediss://h\""), "f:2: store.ca_file: "),
        ("ca_file = \"/nowhere/ca.pem\"\nurl = \"rediss://h\"".to_owned(), "/nowhere/ca.pem cannot be read"),
        (
            format!("ca_file = \"{AUTHORITY}\"\nurl = \"redis://h\""),
            "f:2: store.ca_file: only an address with TLS",
        ),
        (format!("ca_file = \"{AUTHORITY}\""), "f:2: store.ca_file: only an address with TLS"),
    ] {
        let said = report(&store(&lines));
        assert!(said.contains(problem) && said.lines().count() == 1, "{said}");
    }
    let both = report(&store(&format!("ca_file = \"{AUTHORITY}\"\nurl = \"rediss://\"")));
    assert_eq!(both, "f:3: store.url: the host is missing");
}

#[test]
fn a_failover_that_may_lose_places_is_warned_of() {
    let said = |lines: &str| {
        let list = warnings(&good(&store(lines)));
        list.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    for url in ["redis+sentinel://h/m", "redis+cluster://h"] {
        let text = said(&format!("url = \"{url}\""));
        assert!(text.contains("store.durability") && text.contains("failover"), "{text}");
        assert_eq!(said(&format!("url = \"{url}\"\ndurability = \"replicas\"\nreplicas = 1")), "");
    }
    assert_eq!(said("url = \"rediss://h\""), "");
}
