//! What stands over the file, what is read besides it, and files that cannot be read.

use std::path::Path;

use super::super::load::of_text;
use super::super::{Overlay, Secret, load as load_file, warnings};
use super::{BASE, good, none};
use crate::queue::Place;

fn overlay(origin: Option<&str>, listen: Option<&str>, rate: Option<&str>, store: Option<&str>) -> Overlay {
    let own = |text: Option<&str>| text.map(str::to_owned);
    Overlay { origin: own(origin), listen: own(listen), rate: own(rate), store: own(store) }
}

#[test]
fn an_origin_alone_is_a_room_over_the_whole_site() {
    let over = overlay(Some("http://127.0.0.1:3000"), None, None, None);
    let config = load_file(None, &over, &none).unwrap();
    assert_eq!((config.origin.host.as_str(), config.origin.port), ("127.0.0.1", 3000));
    assert_eq!(config.store.place, Place::File("./ropeline-data".into()));
    let [room] = config.rooms.as_slice() else { panic!("{config:?}") };
    assert_eq!((room.id.as_str(), room.rules.rate.to_string().as_str()), ("site", "50/s"));
    assert_eq!(
        (room.paths.as_slice(), room.open_paths.as_slice()),
        (&["/**".to_owned()][..], &["/.well-known/**".to_owned(), "/robots.txt".to_owned()][..],)
    );
    assert_eq!(warnings(&config), []);
}

#[test]
fn nothing_at_all_is_said_to_be_too_little() {
    let problems = load_file(None, &Overlay::default(), &none).unwrap_err();
    assert!(problems.to_string().contains("--config FILE"), "{problems}");
}

#[test]
fn arguments_stand_over_variables_and_those_over_the_file() {
    let env = |name: &str| match name {
        "ROPELINE_STORE_URL" => Some("redis://:pw@variable".to_owned()),
        "ROPELINE_ORIGIN_SECRET" => Some("hush".to_owned()),
        _ => None,
    };
    let text = format!("store.url = \"file:written\"\n{BASE}");
    let config = of_text("f", &text, &Overlay::default(), &env).unwrap();
    assert_eq!(config.store.place, Place::Redis("redis://:pw@variable".to_owned()));
    assert_eq!(config.origin.secret, Some(Secret("hush".to_owned())));
    let over = overlay(Some("http://shop"), Some("[::1]:81"), Some("5/min"), Some("file:argument"));
    let config = of_text("f", &text, &over, &env).unwrap();
    assert_eq!(config.store.place, Place::File("argument".into()));
    assert_eq!((config.origin.host.as_str(), config.origin.port), ("shop", 80));
    assert_eq!(config.server.listen, ["[::1]:81".parse().unwrap()]);
    let rules = &config.rooms.first().unwrap().rules;
    assert_eq!((rules.rate.to_string().as_str(), rules.burst), ("5/min", 1));
}

#[test]
fn what_stands_over_a_key_makes_up_for_its_absence_but_not_for_its_faults() {
    let over = overlay(Some("http://shop"), None, Some("7/s"), None);
    let room = "[[room]]\nid = \"a\"\npaths = [\"/\"]\n";
    assert!(of_text("f", room, &over, &none).is_ok());
    let text = format!("origin.url = 5\n{room}release.rate = 5\n");
    let report = of_text("f", &text, &over, &none).unwrap_err().to_string();
    assert!(
        report.contains("f:1: origin.url: ") && report.contains("f:5: room[0].release.rate: "),
        "{report}"
    );
}

#[test]
fn problems_outside_the_file_name_the_argument_or_variable() {
    let env = |name: &str| (name == "ROPELINE_ORIGIN_SECRET").then(String::new);
    let over = overlay(Some("shop"), Some("81"), Some("0/s"), Some("redis://u:hunter2@/"));
    let report = of_text("f", BASE, &over, &env).unwrap_err().to_string();
    let starts: Vec<&str> = report.lines().map(|line| line.split(": ").next().unwrap_or_default()).collect();
    assert_eq!(starts, ["--listen", "--origin", "--rate", "--store", "ROPELINE_ORIGIN_SECRET"], "{report}");
    assert!(!report.contains("hunter2"));
}

#[test]
fn one_rate_for_several_rooms_is_refused() {
    let text = format!("{BASE}[[room]]\nid = \"b\"\npaths = [\"/b\"]\nrelease.rate = \"1/s\"\n");
    let report = of_text("f", &text, &overlay(None, None, Some("5/s"), None), &none).unwrap_err().to_string();
    assert_eq!(report, "--rate: the file has 2 rooms; set release.rate in each of them");
}

#[test]
fn secrets_come_from_files_too() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (secret, url) = (file("secret", "hush\n"), file("url", "redis://:pw@h\n"));
    let text = BASE.replacen("[[room]]", &format!("secret_file = \"{secret}\"\n[[room]]"), 1);
    let config = good(&format!("store.url_file = \"{url}\"\n{text}"));
    assert_eq!(config.origin.secret, Some(Secret("hush".to_owned())));
    assert_eq!(config.store.place, Place::Redis("redis://:pw@h".to_owned()));
    let bad = file("url", "redis://:hunter2@h:x");
    let report = super::report(&format!("store.url_file = \"{bad}\"\n{text}"));
    assert!(report.starts_with("f:1: store.url_file: ") && !report.contains("hunter2"), "{report}");
}

#[test]
fn a_file_that_cannot_be_read_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let said = |path: &Path| load_file(Some(path), &Overlay::default(), &none).unwrap_err().to_string();
    let missing = said(Path::new("/nowhere/ropeline.toml"));
    assert!(missing.starts_with("/nowhere/ropeline.toml: cannot be read ("), "{missing}");
    assert!(missing.contains("check the path") && missing.lines().count() == 1, "{missing}");
    assert!(said(folder.path()).contains("name a file in it"));
    let file = folder.path().join("f");
    std::fs::write(&file, b"# a\n\n# \xff\n").unwrap();
    assert!(said(&file).contains("line 3 is not UTF-8"));
    std::fs::write(&file, vec![b'#'; (1 << 20) + 1]).unwrap();
    assert!(said(&file).contains("is larger than 1048576 bytes"));
}

#[test]
fn what_is_legal_but_unwise_is_told() {
    let text = format!(
        "[server]\ntrusted_proxies = [\"0.0.0.0/0\"]\ncrowd_listen = [\"127.0.0.1:8081\"]\n\
         [admin]\nlisten = \"0.0.0.0:9090\"\n[store]\nurl = \"redis://h\"\ndurability = \"memory\"\naccept_loss = true\n{BASE}\
         open_paths = [\"/_ropeline/x\"]\nwaiting = {{ return_within = \"20s\" }}\npass.ttl = \"4m\"\n\
         release.hold = \"11s\"\nrelease.burst = 51\n"
    );
    let mut keys: Vec<String> = warnings(&good(&text)).into_iter().map(|warning| warning.key).collect();
    keys.sort();
    let expected = [
        "admin.listen",
        "room[0].open_paths[0]",
        "room[0].pass.ttl",
        "room[0].release.burst",
        "room[0].release.hold",
        "room[0].waiting.poll.max",
        "server.crowd_listen",
        "server.trusted_proxies",
        "store.accept_loss",
        "store.durability",
    ];
    assert_eq!(keys, expected);
}
