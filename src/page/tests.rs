//! The page as a whole: what it must never hold, and what it always says.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::facts::{Facts, Rejoin, RoomState, VisitorState, Wait};
use super::language::{LANGUAGES, Language};
use super::policy::hash;
use super::scene::Scene;
use super::{Colour, Logo, Page, Settings, Source};

/// One round trip of a fresh connection carries about this much (ten segments).
const SIZE_MAX: usize = 14 * 1024;
/// Where it is sent uncompressed.
const RAW_MAX: usize = 20 * 1024;

fn waiting<'a>() -> Facts<'a> {
    Facts {
        room: "spring-tour",
        visitor: VisitorState::Waiting,
        number: Some(48_211),
        position: Some(1204),
        wait: Some(Wait { low: 250, high: 350 }),
        waiting: Some(55_310),
        next_poll_ms: 5230,
        poll_url: "/_ropeline/v1/rooms/spring-tour/position",
        leave_url: "/_ropeline/v1/rooms/spring-tour/ticket",
        enter_url: "/events/42/buy?seats=2&row=a",
        rejoin: Some(Rejoin::Form { action: "/_ropeline/v1/rooms/spring-tour/tickets", fields: &[] }),
        ..Facts::default()
    }
}

fn html(settings: &Settings, facts: &Facts<'_>, accept_language: &str) -> String {
    let rendered = Page::new(settings).render(facts, Some(accept_language));
    String::from_utf8(rendered.html.to_vec()).unwrap()
}

fn plain(facts: &Facts<'_>) -> String {
    html(&Settings::default(), facts, "en")
}

/// What stands between the only `open` and the `close` after it.
fn between<'a>(page: &'a str, open: &str, close: &str) -> &'a str {
    assert_eq!(page.matches(open).count(), 1, "{open} once");
    page.split_once(open).and_then(|(_, rest)| rest.split_once(close)).expect("both tags").0
}

/// What a Huffman code of single bytes makes of `data`, its table included: gzip never takes more.
fn huffman_bytes(data: &[u8]) -> usize {
    let mut counts = [0usize; 256];
    data.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    let used = counts.into_iter().filter(|count| *count > 0);
    let mut heap: BinaryHeap<Reverse<usize>> = used.map(Reverse).collect();
    let mut bits = 0;
    while let (Some(Reverse(a)), Some(Reverse(b))) = (heap.pop(), heap.pop()) {
        bits += a + b;
        heap.push(Reverse(a + b));
        if heap.len() == 1 {
            break;
        }
    }
    bits / 8 + 300
}

/// Every state of a room and a visitor.
fn all_states<'a>() -> Vec<Facts<'a>> {
    use RoomState as R;
    use VisitorState as V;
    let rooms = [R::Scheduled, R::Lobby, R::Open, R::Paused, R::Full, R::SoldOut, R::Closed, R::Unavailable];
    let visitors = [V::None, V::Waiting, V::Admitted, V::Waitlisted, V::Lapsed, V::Left];
    let pairs = rooms.into_iter().flat_map(|room| visitors.into_iter().map(move |visitor| (room, visitor)));
    pairs.map(|(room_state, visitor)| Facts { room_state, visitor, ..waiting() }).collect()
}

#[test]
fn policy_names_exactly_this_style_and_this_script() {
    for facts in all_states() {
        let rendered = Page::new(&Settings::default()).render(&facts, None);
        let page = std::str::from_utf8(&rendered.html).unwrap();
        let csp = rendered.csp.to_str().unwrap();
        let style = hash(between(page, "<style>", "</style>"));
        let script = hash(between(page, "<script>", "</script>"));
        assert_eq!(
            csp,
            format!(
                "default-src 'none'; script-src '{script}'; style-src '{style}'; connect-src 'self'; img-src data:; \
                 worker-src blob:; form-action 'self'; frame-ancestors 'self'; base-uri 'none'"
            )
        );
        // The parser turns CR LF into LF, and then the hash would be of something else.
        assert!(!page.contains('\r'));
        assert!(
            !page.contains(" style=") && !page.contains(" onclick="),
            "nothing that a hash does not cover"
        );
    }
}

#[test]
fn policy_opens_only_what_the_settings_need() {
    let settings = Settings {
        crowd: Source::parse("https://crowd.example:8443"),
        logo: Logo::parse("/logo.svg"),
        frame_ancestors: Source::parse("https://partner.example").into_iter().collect(),
        ..Settings::default()
    };
    let csp = Page::new(&settings).render(&waiting(), None).csp;
    let csp = csp.to_str().unwrap();
    assert!(csp.contains("connect-src 'self' https://crowd.example:8443;"), "{csp}");
    assert!(csp.contains("img-src data: 'self';"), "{csp}");
    assert!(csp.contains("frame-ancestors 'self' https://partner.example;"), "{csp}");
}

#[test]
fn one_round_trip_carries_it() {
    for facts in all_states() {
        for language in LANGUAGES {
            let page = html(&Settings::default(), &facts, language.tag());
            let size = huffman_bytes(page.as_bytes());
            assert!(size < SIZE_MAX, "{} {:?}: {size} of {}", language.tag(), facts.visitor, page.len());
            assert!(page.len() < RAW_MAX, "{} {:?}: {} bytes", language.tag(), facts.visitor, page.len());
        }
    }
}

#[test]
fn nothing_comes_from_elsewhere() {
    for facts in all_states() {
        let page = plain(&facts);
        for sign in ["http://", "https://", "//cdn", "@import", "url(", " src=", "<iframe", "<base"] {
            assert!(!page.contains(sign), "{sign}");
        }
        assert_eq!(page.matches("<link ").count(), 1);
        assert!(page.contains("<link rel=\"icon\" href=\"data:"));
    }
}

#[test]
fn every_state_is_complete_without_scripts() {
    for facts in all_states() {
        for language in LANGUAGES {
            let scene = Scene::of(&facts);
            let say = language.words.say(scene);
            let page = html(&Settings::default(), &facts, language.tag());
            assert!(page.starts_with("<!doctype html>\n"), "{page}");
            assert!(page.contains(&format!("<html lang=\"{}\" dir=\"ltr\">", language.tag())));
            assert!(page.contains(&format!("<h1 id=\"head\">{}</h1>", say.head)), "{}", scene.name());
            assert!(page.contains(&format!("<p id=\"lead\" class=\"lead\">{}</p>", say.lead)));
            assert!(page.contains(&format!("data-scene=\"{}\"", scene.name())));
            assert!(!page.contains("{{"), "every hole is filled");
            let refreshes = scene.is_live() || scene == Scene::Entering;
            assert_eq!(page.contains("http-equiv=\"refresh\""), refreshes, "{}", scene.name());
        }
    }
}

#[test]
fn the_place_is_told() {
    let page = plain(&waiting());
    for text in [
        "<title>1,204 in line · Waiting room</title>",
        "<p id=\"position\" class=\"position\">1,204</p>",
        "1,203 people ahead of you",
        "<dd id=\"wait\">4–6 minutes</dd>",
        "<dd id=\"waiting\">55,310</dd>",
        "<dd id=\"number\">48,211</dd>",
        "<meta http-equiv=\"refresh\" content=\"6;url=/events/42/buy?seats=2&amp;row=a\">",
        "This page renews itself every 6 seconds.",
        "data-show=\"place tips leave live\"",
        "There is no need to refresh.",
        "max=\"1\" value=\"0\" hidden",
        "aria-live=\"polite\"",
    ] {
        assert!(page.contains(text), "{text}");
    }
    let page = plain(&Facts { start: Some(2000), position: Some(1), ..waiting() });
    assert!(page.contains("max=\"2000\" value=\"1999\"") && page.contains("You are next"));
    let page = plain(&Facts { room_state: RoomState::Paused, ..waiting() });
    assert!(page.contains("<dd id=\"wait\">not known yet</dd>"), "no estimate while nobody goes in");
    let page = plain(&Facts { position: None, wait: None, ..waiting() });
    assert!(page.contains("data-show=\"tips leave live\"") && page.contains("<title>You are in line · "));
}

#[test]
fn the_browser_gets_its_language() {
    let page = Page::new(&Settings::default());
    let rendered = page.render(&waiting(), Some("zh-TW,zh;q=0.9,en;q=0.8"));
    let text = std::str::from_utf8(&rendered.html).unwrap();
    assert_eq!(rendered.content_language, "zh-Hant");
    assert!(text.contains("<title>第 1,204 位 · 線上排隊</title>"));
    assert!(text.contains("前面還有 1,203 人") && text.contains("4–6 分鐘"));
    assert_eq!(page.render(&waiting(), None).content_language, "en");

    let languages = vec![Language::by_tag("ZH-hant").unwrap()];
    let page = Page::new(&Settings { languages, ..Settings::default() });
    assert_eq!(page.render(&waiting(), Some("en")).content_language, "zh-Hant");
}

#[test]
fn whatever_comes_from_outside_stays_text() {
    const BAD: &str =
        "</script><script>alert(1)</script>\"'><img src=x onerror=alert(1)>\r\n\u{202e}{{facts}}<!--";
    let facts = Facts {
        room: BAD,
        message: Some(BAD),
        poll_url: BAD,
        leave_url: BAD,
        enter_url: BAD,
        ticket: Some(BAD),
        rejoin: Some(Rejoin::Form { action: BAD, fields: &[(BAD, BAD)] }),
        ..waiting()
    };
    let settings = Settings { title: Some(BAD.to_owned()), ..Settings::default() };
    for facts in [facts, Facts { rejoin: Some(Rejoin::Link(BAD)), ..facts }] {
        let page = html(&settings, &facts, "en");
        assert_eq!(page.matches("<script").count(), 3, "{page}");
        assert_eq!(page.matches("</script").count(), 3);
        assert!(!page.contains("<img") && !page.contains("<!--") && !page.contains('\r'));
        let seen = between(&page, "<main", "<script id=\"words\"");
        assert!(!seen.split("<form").next().unwrap().contains('\u{202e}'), "texts turn nothing around");
        assert!(page.contains("href=\"/\""), "no way out of this site");
        let json = between(&page, "<script id=\"facts\" type=\"application/json\">", "</script>");
        let given: serde_json::Value = serde_json::from_str(json).unwrap();
        for key in ["room", "poll_url", "leave_url", "ticket"] {
            assert_eq!(given[key], BAD, "{key}");
        }
    }
}

#[test]
fn the_turn_leads_only_to_this_site() {
    for bad in
        ["//evil.example", "/\\evil.example", "/\t/evil.example", "https:evil.example", "javascript:1", ""]
    {
        let page = plain(&Facts { enter_url: bad, ..waiting() });
        assert!(!page.contains("evil") && !page.contains("javascript:"), "{bad}");
        assert!(page.contains("<a id=\"enter\" class=\"button\" href=\"/\">"));
    }
}

#[test]
fn a_ticket_is_only_there_for_bearers() {
    assert!(!plain(&waiting()).contains("\"ticket\":"));
    assert!(plain(&Facts { ticket: Some("abc"), ..waiting() }).contains("\"ticket\":\"abc\""));
}

#[test]
fn who_lapsed_has_one_step() {
    let facts = Facts { visitor: VisitorState::Lapsed, ..waiting() };
    let page = plain(&facts);
    assert!(page.contains("data-show=\"rejoin\"") && page.contains("<title>Your turn has passed · "));
    assert!(
        page.contains("<form method=\"post\" action=\"/_ropeline/v1/rooms/spring-tour/tickets\"><button")
    );
    let fields = [("return", "/a?b=1&c=2")];
    let rejoin = Some(Rejoin::Form { action: "/join", fields: &fields });
    assert!(
        plain(&Facts { rejoin, ..facts })
            .contains("<input type=\"hidden\" name=\"return\" value=\"/a?b=1&amp;c=2\">")
    );
    let page = plain(&Facts { rejoin: Some(Rejoin::Link("/join?x=1&y=2")), ..facts });
    assert!(page.contains("<a class=\"button\" href=\"/join?x=1&amp;y=2\">Join the line again</a>"));
}

#[test]
fn without_cookies_it_says_so_and_stops() {
    let rendered = Page::new(&Settings::default()).render_cookies_needed("/buy?a=1", Some("en"));
    let page = std::str::from_utf8(&rendered.html).unwrap();
    assert!(page.contains("<h1 id=\"head\">Cookies are needed</h1>") && page.contains("data-show=\"retry\""));
    assert!(page.contains("<a class=\"button\" href=\"/buy?a=1\">Try again</a>"));
    assert!(!page.contains("http-equiv=\"refresh\""));
}

#[test]
fn settings_are_seen() {
    let settings = Settings {
        title: Some("Spring \"Tour\" <2026>".to_owned()),
        accent: Colour(0xff, 0x00, 0x00),
        logo: Logo::parse("data:image/png;base64,AAAA"),
        ..Settings::default()
    };
    let page = html(&settings, &waiting(), "en");
    assert!(page.contains("<span id=\"title\" dir=\"auto\">Spring &quot;Tour&quot; &lt;2026&gt;</span>"));
    assert!(page.contains("<img src=\"data:image/png;base64,AAAA\" alt=\"\">"));
    assert!(page.contains("stroke='%23ff0000'"));
}

#[test]
fn messages_are_bounded_and_isolated() {
    let long = "界".repeat(5000);
    let page = plain(&Facts { message: Some(&long), ..waiting() });
    assert_eq!(page.matches('界').count(), Settings::MESSAGE_MAX);
    let page = plain(&Facts { message: Some("שלום\u{200f}\r\nline <2>"), ..waiting() });
    assert!(page.contains("<p id=\"message\" dir=\"auto\">שלום\u{200f}\nline &lt;2&gt;</p>"));
    assert!(!page.contains("from the organiser\" hidden"));
    assert!(plain(&waiting()).contains("from the organiser\" hidden"));
}

/// Writes every state to the directory in `ROPELINE_PAGES`, to be looked at in a browser.
#[test]
#[ignore = "writes files for a person to look at"]
fn write_pages() {
    let Some(directory) = std::env::var_os("ROPELINE_PAGES") else { return };
    let page = Page::new(&Settings { title: Some("Spring Tour 2026".to_owned()), ..Settings::default() });
    for language in LANGUAGES {
        for facts in all_states() {
            let name =
                format!("{}-{:?}-{:?}", language.tag(), facts.room_state, facts.visitor).to_lowercase();
            let path = std::path::Path::new(&directory);
            let rendered = page.render(&facts, Some(language.tag()));
            std::fs::write(path.join(format!("{name}.html")), &rendered.html).unwrap();
            std::fs::write(path.join("csp"), rendered.csp.as_bytes()).unwrap();
        }
    }
}
