//! Who takes a place, and what everyone else is told (contract section 3, "Gated").

use serde_json::Value;

use crate::support::http::Ask;
use crate::support::origin::Origin;
use crate::support::plan::Plan;
use crate::support::ropeline::Ropeline;
use crate::support::visitor::App;

/// What a request without a pass should meet.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Met {
    /// The waiting page and a place.
    Page,
    /// The document with 503 and a place.
    DocumentAndPlace,
    /// 503 and no place.
    Turned,
}

struct Case {
    name: &'static str,
    ask: Ask,
    met: Met,
}

fn case(name: &'static str, ask: Ask, met: Met) -> Case {
    Case { name, ask, met }
}

const HTML: (&str, &str) = ("accept", "text/html,*/*;q=0.8");
const FORM: (&str, &str) = ("content-type", "application/x-www-form-urlencoded");

fn fetch(mode: &str, dest: &str, site: &str) -> Ask {
    Ask::get("/buy").with_all(&[("sec-fetch-mode", mode), ("sec-fetch-dest", dest), ("sec-fetch-site", site)])
}

fn form_post(site: &str) -> Ask {
    Ask::new("POST", "/buy")
        .with_all(&[HTML, FORM, ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document")])
        .with("sec-fetch-site", site)
        .body("seat=1")
}

fn cases() -> Vec<Case> {
    let any = |ask: Ask| ask.with("accept", "*/*");
    vec![
        case("a navigation", Ask::get("/buy").navigation(), Met::Page),
        case(
            "a navigation from another site",
            fetch("navigate", "document", "cross-site").with_all(&[HTML]),
            Met::Page,
        ),
        case("an old browser", Ask::get("/buy").with_all(&[HTML]), Met::Page),
        case("a program that wants JSON", Ask::get("/buy").program(), Met::DocumentAndPlace),
        case("a same-site form post", form_post("same-origin"), Met::Page),
        case("HEAD", Ask::new("HEAD", "/buy").with_all(&[HTML]), Met::Turned),
        case("a prefetch", Ask::get("/buy").navigation().with("sec-purpose", "prefetch"), Met::Turned),
        case(
            "a prerender",
            Ask::get("/buy").navigation().with("sec-purpose", "prefetch;prerender"),
            Met::Turned,
        ),
        case("an old prefetch", Ask::get("/buy").navigation().with("purpose", "prefetch"), Met::Turned),
        case("an image", any(fetch("no-cors", "image", "same-origin")), Met::Turned),
        case("a script", any(fetch("no-cors", "script", "same-origin")), Met::Turned),
        case("a page's fetch", Ask::get("/buy").script_fetch(), Met::Turned),
        case("a cross-site post", form_post("cross-site"), Met::Turned),
        case("an invented method", Ask::new("BREW", "/buy").with("accept", "text/plain"), Met::Turned),
        case("a PUT from a page", Ask::new("PUT", "/buy").script_fetch().body("x"), Met::Turned),
        case(
            "a preflight",
            Ask::new("OPTIONS", "/buy")
                .with_all(&[("origin", "https://else.example"), ("access-control-request-method", "POST")]),
            Met::Turned,
        ),
    ]
}

/// Everyone waits: the room is paused, so what takes a place shows in the count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_takes_a_place_and_who_does_not() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min"), &origin).await;
    ropeline.pause("").await;
    let mut last = App::joined(&ropeline).await.number;
    for Case { name, ask, met } in cases() {
        let reply = ask.send(ropeline.edge()).await.unwrap();
        let told = format!("{name}: {} {:?} {}", reply.status, reply.headers, reply.text());
        match met {
            Met::Page => assert_page(&reply, &told),
            Met::DocumentAndPlace => {
                assert_document(&reply, &told);
                assert!(reply.json()["visitor"]["number"].as_u64().is_some(), "{told}");
                assert!(reply.json()["ticket"].as_str().is_some(), "{told}");
            }
            Met::Turned if name == "HEAD" => assert!(reply.body.is_empty(), "{told}"),
            Met::Turned if name == "a preflight" => assert!(reply.status != 200, "{told}"),
            Met::Turned => assert_turned(&reply, &told),
        }
        assert!(reply.header("cache-control").contains("no-store"), "{told}");
        assert!(reply.header("etag").is_empty() && reply.header("last-modified").is_empty(), "{told}");
        let next = App::joined(&ropeline).await.number;
        let taken = next - last - 1;
        assert_eq!(taken, u64::from(met != Met::Turned), "places taken; {told}");
        last = next;
    }
    assert!(origin.journal().of("/buy").is_empty(), "the shop saw none of them");
}

fn assert_page(reply: &crate::support::http::Reply, told: &str) {
    assert_eq!(reply.status, 200, "{told}");
    assert!(reply.header("content-type").starts_with("text/html"), "{told}");
    assert!(reply.header("x-robots-tag").contains("noindex"), "{told}");
    assert!(reply.header("vary").to_ascii_lowercase().contains("accept"), "{told}");
    assert!(reply.header("content-security-policy").contains("default-src 'none'"), "{told}");
    let ticket = reply.cookies().into_iter().find(|(name, _, _)| name == "rl_t_sale");
    let (_, value, attributes) = ticket.unwrap_or_else(|| panic!("no ticket: {told}"));
    for wanted in ["HttpOnly", "Path=/", "SameSite=Lax", "Max-Age="] {
        assert!(attributes.contains(wanted), "{wanted} is missing in {attributes}");
    }
    assert!(!attributes.contains("Domain"), "host-only: {attributes}");
    assert!(!reply.text().contains(&value), "no ticket in a page of the edge");
}

fn assert_document(reply: &crate::support::http::Reply, told: &str) {
    assert_eq!(reply.status, 503, "{told}");
    assert!(reply.header("retry-after").parse::<u64>().is_ok(), "{told}");
    assert_eq!(reply.json()["room"]["id"], "sale", "{told}");
}

fn assert_turned(reply: &crate::support::http::Reply, told: &str) {
    assert_document(reply, told);
    assert_eq!(reply.json()["visitor"], Value::Null, "{told}");
    assert!(reply.cookies().is_empty(), "{told}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_browser_takes_one_place_however_often_it_asks() {
    let origin = Origin::start().await;
    let ropeline = Ropeline::start(Plan::before(&origin).rate("1/min"), &origin).await;
    ropeline.pause("").await;
    let mut visitor = crate::support::visitor::Visitor::of(&ropeline);
    visitor.open("/buy").await.unwrap();
    let number = visitor.number().await;
    for _ in 0..50 {
        assert_eq!(visitor.open("/buy/seats").await.unwrap().status, 200);
    }
    assert_eq!(visitor.number().await, number);
    assert_eq!(App::joined(&ropeline).await.number, number + 1);
}
