//! The leak rule: whatever is forwarded without a pass must not be under a gated path however leniently a
//! server reads it. The second reader here shares no code with the first.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use super::{Found, Host, Pattern, RoomPaths, Routes, RoutesSettings, Target};

const TARGETS: usize = 60_000;

/// Pieces that hostile targets are made of.
const PIECES: &[&str] = &[
    "/",
    "/",
    "/",
    "//",
    "buy",
    "BUY",
    "b",
    "uy",
    "open",
    "x",
    "_ropeline",
    "_ROPELINE",
    "v1",
    ".",
    "..",
    "%2e",
    "%2E%2e",
    "%252e",
    "%2f",
    "%2F",
    "%252f",
    "%25252f",
    "%5c",
    "%255C",
    "\\",
    ";",
    "%3b",
    ";a=b",
    "%253b",
    "?",
    "%3f",
    "%23",
    "%62",
    "%42",
    "%2562",
    "%252562",
    "%25",
    "%75y",
    "%20",
    "%2520",
    "%00",
    "%0a",
    "%c0%af",
    "%ef%bc%8f",
    "%zz",
    "%",
    "é",
    "static",
    "%5f",
    "~",
    "+",
    "&",
    "=",
    "@",
    ":",
];

/// Percent-decodes, slashes out of backslashes, merges, resolves dots, cuts at `;`, lowers: the leak rule as
/// the field reports put it. Bytes, so that nothing is lost.
fn lenient(raw: &str, decodes: usize, cut_each: bool) -> Vec<u8> {
    let mut path: Vec<u8> = raw.bytes().take_while(|b| *b != b'?').collect();
    for _ in 0..decodes {
        path = decode(&path);
    }
    for byte in &mut path {
        *byte = if *byte == b'\\' { b'/' } else { byte.to_ascii_lowercase() };
    }
    if !cut_each {
        path = path.into_iter().take_while(|b| *b != b';').collect();
    }
    let mut kept: Vec<Vec<u8>> = Vec::new();
    for segment in path.split(|b| *b == b'/') {
        let segment: Vec<u8> = segment.iter().copied().take_while(|b| *b != b';').collect();
        match segment.as_slice() {
            b"" | b"." => {}
            b".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    let mut out = b"/".to_vec();
    out.extend(kept.join(&b'/'));
    out
}

fn decode(bytes: &[u8]) -> Vec<u8> {
    let digit = |at: usize| bytes.get(at).and_then(|b| char::from(*b).to_digit(16));
    let mut out = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match (bytes[at], digit(at + 1), digit(at + 2)) {
            (b'%', Some(high), Some(low)) => {
                out.push(u8::try_from(high * 16 + low).unwrap());
                at += 3;
            }
            (byte, _, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    out
}

fn under(path: &[u8], root: &[u8]) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn routes() -> Routes {
    let patterns = |texts: &[&str]| texts.iter().map(|t| Pattern::parse(t).unwrap()).collect();
    let room = RoomPaths {
        id: "a".to_owned(),
        hosts: Vec::new(),
        paths: patterns(&["/buy/**"]),
        open_paths: patterns(&["/buy/static/**"]),
    };
    let settings = RoutesSettings {
        rooms: vec![room],
        hosts: vec![],
        prefix: "/_ropeline".to_owned(),
        ignore_case: true,
    };
    Routes::new(&settings).unwrap()
}

fn hostile(rng: &mut StdRng) -> String {
    let mut raw = String::from("/");
    for _ in 0..rng.random_range(1..9) {
        raw.push_str(PIECES.choose(rng).unwrap());
    }
    raw
}

#[test]
fn no_hostile_target_leaks() {
    let seed = std::env::var("ROPELINE_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(rand::random);
    println!("ROPELINE_SEED={seed}");
    let mut rng = StdRng::seed_from_u64(seed);
    let routes = routes();
    let host = Host::read("shop.example").unwrap();
    let (mut forwarded, mut gated) = (0, 0);
    for _ in 0..TARGETS {
        let raw = hostile(&mut rng);
        let Ok(target) = Target::read(&raw) else { continue };
        let found = routes.find(&host, &target);
        gated += usize::from(matches!(found, Found::Room(_)));
        if !matches!(found, Found::Free | Found::Open(_)) {
            continue;
        }
        forwarded += 1;
        for decodes in 0..4 {
            for cut_each in [false, true] {
                let read = lenient(&raw, decodes, cut_each);
                let shown = String::from_utf8_lossy(&read).into_owned();
                assert!(!under(&read, b"/_ropeline"), "seed {seed}: {raw} reads as {shown}");
                let open = under(&read, b"/buy/static");
                assert!(open || !under(&read, b"/buy"), "seed {seed}: {raw} reads as {shown}");
            }
        }
    }
    // Neither side may win by refusing everything.
    assert!(forwarded > TARGETS / 50 && gated > TARGETS / 500, "forwarded {forwarded}, gated {gated}");
}

#[test]
fn the_second_reader_reads_as_the_field_reports_do() {
    for raw in ["//buy", "/%2562uy", "/open%5c..%5cbuy", "/open/..;/buy", "/BUY;x", "/a/../buy/x"] {
        assert!(under(&lenient(raw, 2, true), b"/buy"), "{raw}");
    }
}
