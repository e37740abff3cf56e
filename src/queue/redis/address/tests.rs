//! What is read, what is shown of it, and what is said of what cannot be read.

use super::*;

fn host(name: &str, port: u16) -> Host {
    Host { name: name.to_owned(), port }
}

fn login(user: Option<&str>, password: &str) -> Login {
    Login { user: user.map(ToOwned::to_owned), password: Some(password.to_owned()) }
}

#[test]
fn servers() {
    for (text, tls, name, port, db) in [
        ("redis://h", false, "h", 6379, 0),
        ("redis://h:6380/2", false, "h", 6380, 2),
        ("redis://H.example/", false, "h.example", 6379, 0),
        ("rediss://10.0.0.1:6380", true, "10.0.0.1", 6380, 0),
        ("rediss://[::1]:7/1", true, "::1", 7, 1),
        ("redis://[0::1]", false, "::1", 6379, 0),
    ] {
        let address = Address::parse(text).unwrap();
        let expected = Address { tls, login: Login::default(), db, to: To::Server(host(name, port)) };
        assert_eq!(address, expected, "{text}");
        assert_eq!((address.tls(), address.fails_over()), (tls, false));
        assert_eq!(Address::parse(&address.to_string()).unwrap(), expected, "what is shown reads the same");
    }
}

#[test]
fn passwords() {
    for (text, expected) in [
        ("redis://:pw@h", login(None, "pw")),
        ("redis://u:p%40w%3a@h", login(Some("u"), "p@w:")),
        ("redis://u%2F:p:w@h", login(Some("u/"), "p:w")),
        ("redis+cluster://u:p@w@h", login(Some("u"), "p@w")),
    ] {
        assert_eq!(Address::parse(text).unwrap().login, expected, "{text}");
    }
    let info = Address::parse("redis://u:pw@h/3").unwrap();
    let info = info.login.greeting(info.db);
    assert_eq!((info.username(), info.password(), info.db()), (Some("u"), Some("pw"), 3));
}

#[test]
fn sentinels_and_clusters() {
    let text = "rediss+sentinel://u:pw@a,b:7,[::1]/the-line/4?sentinel_user=s%20t&sentinel_password=q%26";
    let address = Address::parse(text).unwrap();
    let hosts = vec![host("a", 26379), host("b", 7), host("::1", 26379)];
    let to = To::Sentinels { hosts, name: "the-line".to_owned(), login: login(Some("s t"), "q&") };
    assert_eq!(address, Address { tls: true, login: login(Some("u"), "pw"), db: 4, to });
    assert!(address.fails_over());
    let plain = Address::parse("redis+sentinel://a/m").unwrap();
    assert!(
        matches!(&plain.to, To::Sentinels { name, login, .. } if name == "m" && *login == Login::default())
    );
    let cluster = Address::parse("redis+cluster://a,b:7000").unwrap();
    assert_eq!(cluster.to, To::Cluster(vec![host("a", 6379), host("b", 7000)]));
    assert!(cluster.fails_over() && !cluster.tls());
}

#[test]
fn what_is_wrong_is_named() {
    for (text, says) in [
        ("", "expected redis://"),
        ("memcached://h", "expected redis://"),
        ("redis:h", "expected redis://"),
        ("redis://", "host is missing"),
        ("redis://:pw@", "host is missing"),
        ("redis://h:x", "host 1 has a port"),
        ("redis://h:0", "host 1 has a port"),
        ("redis://h:65536", "host 1 has a port"),
        ("redis://h:+1", "host 1 has a port"),
        ("redis://h h", "host 1 is no name"),
        ("redis://[::g]:1", "host 1 is no name"),
        ("redis://::1", "host 1 is no name"),
        ("redis+cluster://a,:7", "host 2 is no name"),
        ("redis+cluster://a,", "host 2 is no name"),
        ("redis://a,b", "one host"),
        ("redis://h/x", "must be a number"),
        ("redis://h/-1", "must be a number"),
        ("redis://h/99999999999", "too large"),
        ("redis://h?a=b", "after ?"),
        ("redis://u@h", "password is empty"),
        ("redis://u:@h", "password is empty"),
        ("redis://u:***@h", "was masked"),
        ("redis://u:50%@h", "the password holds a %"),
        ("redis://u:%ff@h", "the password is no text"),
        ("redis://u:a/b@h", "%2F"),
        ("redis://u:a?b@h", "%3F"),
        ("redis+cluster://h/1", "no numbered databases"),
        ("redis+sentinel://h", "name under which"),
        ("redis+sentinel://h/a b", "made of letters"),
        ("redis+sentinel://h/m/x", "must be a number"),
        ("redis+sentinel://h/m?password=x", "only sentinel_user"),
        ("redis+sentinel://h/m?sentinel_user=x", "needs a sentinel_password"),
        ("redis+sentinel://h/m?sentinel_password=***", "was masked"),
    ] {
        let said = Address::parse(text).expect_err(text).to_string();
        assert!(said.contains(says), "{text}: {said}");
    }
    let many = format!("redis+cluster://{}", vec!["h"; 33].join(","));
    assert!(Address::parse(&many).unwrap_err().to_string().contains("more than 32"));
}

#[test]
fn no_password_is_shown() {
    let shown = |text: &str| {
        let address = Address::parse(text).unwrap();
        assert_eq!(format!("{address}"), format!("{address:?}"));
        address.to_string()
    };
    assert_eq!(shown("redis://u:hunter2@h/1"), "redis://u:***@h/1");
    assert_eq!(shown("rediss+cluster://:hunter2@a,b:1"), "rediss+cluster://:***@a,b:1");
    assert_eq!(
        shown("redis+sentinel://u:hunter2@a/m/2?sentinel_user=s&sentinel_password=hunter3"),
        "redis+sentinel://u:***@a/m/2?sentinel_user=s&sentinel_password=***"
    );
    for bad in ["redis://u:hunter2@h:x", "redis://u:hun/ter2@h", "redix://u:hunter2@h", "redis://hunter2/x"] {
        assert!(!Address::parse(bad).unwrap_err().to_string().contains("ter2"), "{bad}");
    }
}
