//! What a host and a path lead to.
//!
//! Rules of all rooms stand in one order (see [`super::Pattern`]); between equal patterns a room that names the host
//! goes before one that serves any host. The reserved prefix goes before all rules and ignores case.

use std::collections::{BTreeSet, HashMap};

use super::host::Host;
use super::pattern::Pattern;
use super::target::Target;

/// One room as the routes see it.
#[derive(Debug, Clone, Default)]
pub struct RoomPaths {
    /// The room's name, for messages.
    pub id: String,
    /// Its hosts; empty: any served host.
    pub hosts: Vec<String>,
    /// Its paths.
    pub paths: Vec<Pattern>,
    /// What is let through inside its paths.
    pub open_paths: Vec<Pattern>,
}

/// What the routes are made of.
#[derive(Debug, Clone, Default)]
pub struct RoutesSettings {
    /// The rooms; a room is known by its index here.
    pub rooms: Vec<RoomPaths>,
    /// Served hosts besides those that rooms name.
    pub hosts: Vec<String>,
    /// The reserved prefix, such as `/_ropeline`.
    pub prefix: String,
    /// Whether rules match without regard to case.
    pub ignore_case: bool,
}

/// Why routes cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadRoutes {
    /// Not a host name.
    #[error("`{0}` is not a host name without a port")]
    Host(String),
    /// The prefix is no plain path below the root.
    #[error("the prefix must be a path such as /_ropeline")]
    Prefix,
    /// Two rules match the same paths of the same host.
    #[error("`{path}` leads to room `{first}` and to room `{second}` alike")]
    Clash {
        /// The pattern.
        path: String,
        /// The room that comes first in the settings.
        first: String,
        /// The other room; the same one when a path is both gated and open.
        second: String,
    },
}

/// What a request leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found<'t> {
    /// A host that is not served here: 421.
    Unserved,
    /// Under the reserved prefix; the rest of the normalised path, with its leading slash or empty. Never
    /// forwarded, whatever it is.
    Prefix(&'t str),
    /// A room's path, by index into the settings.
    Room(usize),
    /// An open path of a room, by index.
    Open(usize),
    /// Outside all rooms.
    Free,
    /// Read in different ways it leads to different places: 400.
    Ambiguous,
}

/// Every rule, ready to match.
#[derive(Debug, Clone)]
pub struct Routes {
    prefix: Pattern,
    prefix_segments: usize,
    ignore_case: bool,
    rules: Vec<Rule>,
    /// Indices of the rules that can apply to a host that is named somewhere, in order.
    by_host: HashMap<String, Vec<usize>>,
    /// The same for all other hosts; `None`: they are not served.
    elsewhere: Option<Vec<usize>>,
}

#[derive(Debug, Clone)]
struct Rule {
    pattern: Pattern,
    room: usize,
    open: bool,
    hosts: BTreeSet<String>,
}

impl Routes {
    /// Makes the routes.
    ///
    /// # Errors
    /// Everything that is wrong, at once.
    pub fn new(settings: &RoutesSettings) -> Result<Self, Vec<BadRoutes>> {
        let mut wrong = Vec::new();
        let mut rules = rules(settings, &mut wrong);
        wrong.extend(clashes(settings, &rules));
        rules.sort_by(|a, b| {
            a.pattern.specificity(&b.pattern).then_with(|| a.hosts.is_empty().cmp(&b.hosts.is_empty()))
        });
        let named: BTreeSet<String> = read_hosts(&settings.hosts, &mut wrong)
            .into_iter()
            .chain(rules.iter().flat_map(|rule| rule.hosts.iter().cloned()))
            .collect();
        let prefix = prefix(&settings.prefix);
        if prefix.is_none() {
            wrong.push(BadRoutes::Prefix);
        }
        let Some((prefix, prefix_segments)) = prefix.filter(|_| wrong.is_empty()) else {
            return Err(wrong);
        };
        let applying = |host: Option<&String>| -> Vec<usize> {
            let applies = |rule: &Rule| rule.hosts.is_empty() || host.is_some_and(|h| rule.hosts.contains(h));
            rules.iter().enumerate().filter(|(_, rule)| applies(rule)).map(|(index, _)| index).collect()
        };
        let by_host = named.iter().map(|host| (host.clone(), applying(Some(host)))).collect();
        let elsewhere = named.is_empty().then(|| applying(None));
        Ok(Self { prefix, prefix_segments, ignore_case: settings.ignore_case, rules, by_host, elsewhere })
    }

    /// What a request for `target` on `host` leads to.
    #[must_use]
    pub fn find<'t>(&self, host: &Host, target: &'t Target) -> Found<'t> {
        let Some(rules) = self.of_host(host) else {
            return Found::Unserved;
        };
        let found = self.lookup(rules, target.path());
        match target.all_readings(|path| self.lookup(rules, path) == found) {
            false => Found::Ambiguous,
            true => match found {
                Place::Prefix => Found::Prefix(self.rest(target.path())),
                Place::Room(room) => Found::Room(room),
                Place::Open(room) => Found::Open(room),
                Place::Free => Found::Free,
            },
        }
    }

    /// The rest of a path under the reserved prefix, whatever the host; `None` when it is not under it in
    /// every reading.
    #[must_use]
    pub fn below_prefix<'t>(&self, target: &'t Target) -> Option<&'t str> {
        target.all_readings(|path| self.prefix.matches_folded(path)).then(|| self.rest(target.path()))
    }

    fn of_host(&self, host: &Host) -> Option<&[usize]> {
        self.by_host.get(host.name()).or(self.elsewhere.as_ref()).map(Vec::as_slice)
    }

    fn lookup(&self, rules: &[usize], path: &str) -> Place {
        if self.prefix.matches_folded(path) {
            return Place::Prefix;
        }
        let matches = |rule: &&Rule| match self.ignore_case {
            true => rule.pattern.matches_folded(path),
            false => rule.pattern.matches(path),
        };
        match rules.iter().filter_map(|index| self.rules.get(*index)).find(matches) {
            Some(rule) if rule.open => Place::Open(rule.room),
            Some(rule) => Place::Room(rule.room),
            None => Place::Free,
        }
    }

    fn rest<'t>(&self, path: &'t str) -> &'t str {
        match path.match_indices('/').nth(self.prefix_segments) {
            Some((at, _)) => path.get(at..).unwrap_or_default(),
            None => "",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Prefix,
    Room(usize),
    Open(usize),
    Free,
}

fn rules(settings: &RoutesSettings, wrong: &mut Vec<BadRoutes>) -> Vec<Rule> {
    let mut rules = Vec::new();
    for (room, paths) in settings.rooms.iter().enumerate() {
        let hosts: BTreeSet<String> = read_hosts(&paths.hosts, wrong).into_iter().collect();
        let gated = paths.paths.iter().map(|pattern| (pattern, false));
        for (pattern, open) in gated.chain(paths.open_paths.iter().map(|pattern| (pattern, true))) {
            let pattern = if settings.ignore_case { pattern.clone().folded() } else { pattern.clone() };
            rules.push(Rule { pattern, room, open, hosts: hosts.clone() });
        }
    }
    rules
}

fn read_hosts(hosts: &[String], wrong: &mut Vec<BadRoutes>) -> Vec<String> {
    let read = |text: &String| match Host::read(text) {
        Ok(host) if host.authority() == host.name() => Ok(host.name().to_owned()),
        _ => Err(BadRoutes::Host(text.clone())),
    };
    let (good, bad): (Vec<_>, Vec<_>) = hosts.iter().map(read).partition(Result::is_ok);
    wrong.extend(bad.into_iter().filter_map(Result::err));
    good.into_iter().filter_map(Result::ok).collect()
}

/// Rules between which no order decides.
fn clashes(settings: &RoutesSettings, rules: &[Rule]) -> Vec<BadRoutes> {
    let id = |rule: &Rule| settings.rooms.get(rule.room).map(|room| room.id.clone()).unwrap_or_default();
    let meet = |a: &Rule, b: &Rule| match (a.hosts.is_empty(), b.hosts.is_empty()) {
        (true, true) => true,
        (false, false) => !a.hosts.is_disjoint(&b.hosts),
        _ => false,
    };
    let mut found = Vec::new();
    for (index, first) in rules.iter().enumerate() {
        for second in rules.iter().skip(index + 1) {
            let harmless = first.room == second.room && first.open == second.open;
            if !harmless && first.pattern.same_as(&second.pattern) && meet(first, second) {
                found.push(BadRoutes::Clash {
                    path: second.pattern.to_string(),
                    first: id(first),
                    second: id(second),
                });
            }
        }
    }
    found
}

/// The prefix and everything below it as a pattern, with its number of segments.
fn prefix(text: &str) -> Option<(Pattern, usize)> {
    let trimmed = text.strip_suffix('/').unwrap_or(text);
    if trimmed.len() < 2 || trimmed.contains('*') || trimmed.contains('%') {
        return None;
    }
    let pattern = Pattern::parse(&format!("{trimmed}/**")).ok()?;
    Some((pattern.folded(), trimmed.matches('/').count()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(texts: &[&str]) -> Vec<Pattern> {
        texts.iter().map(|text| Pattern::parse(text).unwrap()).collect()
    }

    fn room(id: &str, hosts: &[&str], paths: &[&str], open: &[&str]) -> RoomPaths {
        RoomPaths {
            id: id.to_owned(),
            hosts: hosts.iter().map(|h| (*h).to_owned()).collect(),
            paths: patterns(paths),
            open_paths: patterns(open),
        }
    }

    fn settings(rooms: Vec<RoomPaths>) -> RoutesSettings {
        RoutesSettings { rooms, hosts: Vec::new(), prefix: "/_ropeline".to_owned(), ignore_case: false }
    }

    fn find<'t>(routes: &Routes, host: &str, target: &'t Target) -> Found<'t> {
        routes.find(&Host::read(host).unwrap(), target)
    }

    fn check(routes: &Routes, host: &str, raw: &str, expected: Found<'_>) {
        assert_eq!(find(routes, host, &Target::read(raw).unwrap()), expected, "{host} {raw}");
    }

    #[test]
    fn the_most_specific_rule_of_all_rooms_wins() {
        let routes = Routes::new(&settings(vec![
            room("a", &[], &["/events/**"], &["/events/*/map"]),
            room("b", &[], &["/events/42/buy/**"], &["/events/42/buy/static/**"]),
        ]))
        .unwrap();
        for (raw, expected) in [
            ("/events/1/buy", Found::Room(0)),
            ("/events/1/map?x", Found::Open(0)),
            ("/events/42/buy/x", Found::Room(1)),
            ("/events/42/buy/static/a.css", Found::Open(1)),
            ("/about", Found::Free),
            ("/_ropeline", Found::Prefix("")),
            ("/_Ropeline/v1/jwks.json", Found::Prefix("/v1/jwks.json")),
            ("/_ropeliner", Found::Free),
        ] {
            check(&routes, "any.example", raw, expected);
        }
    }

    #[test]
    fn what_leads_to_two_places_is_ambiguous_and_what_does_not_passes() {
        let routes = Routes::new(&settings(vec![room("a", &[], &["/buy/**"], &["/buy/static/**"])])).unwrap();
        for raw in ["//buy", "/%2562uy", "/buy;x=1", "/;/buy", "/buy%3bx", "/buy%20", "/x%2fy//..a;/../b"] {
            if let Ok(target) = Target::read(raw) {
                assert_eq!(find(&routes, "h", &target), Found::Ambiguous, "{raw}");
            }
        }
        for raw in [
            "/buy//static/x",
            "/buy/static%2f",
            "/%5fropeline;x",
            "/%255fropeline/v1",
            "/a%2fb%5f;c//_ropeline",
        ] {
            let target = Target::read(raw).unwrap();
            assert!(!matches!(find(&routes, "h", &target), Found::Open(_)), "{raw}");
        }
        for raw in ["/open/a%2Fb?x=%20", "/img//a.png", "/open?a=1;b=2", "/open;v=1/x", "/wiki/C%252B%252B"] {
            check(&routes, "h", raw, Found::Free);
        }
        check(&routes, "h", "/buy/a%2Fb;c//d", Found::Room(0));
        check(&routes, "h", "/%62uy", Found::Room(0));
        check(&routes, "h", "/buy//", Found::Room(0));
    }

    #[test]
    fn case_is_a_setting() {
        let mut settings = settings(vec![room("a", &[], &["/buy/**"], &[])]);
        check(&Routes::new(&settings).unwrap(), "h", "/BUY", Found::Free);
        settings.ignore_case = true;
        check(&Routes::new(&settings).unwrap(), "h", "/BUY/x", Found::Room(0));
    }

    #[test]
    fn hosts_that_nobody_names_are_not_served_once_anybody_names_one() {
        let rooms = (0..150).map(|i| room(&format!("r{i}"), &[&format!("s{i}.example")], &["/buy/**"], &[]));
        let mut settings = settings(rooms.chain([room("any", &[], &["/buy/**"], &[])]).collect());
        settings.hosts = vec!["Www.example".to_owned()];
        let routes = Routes::new(&settings).unwrap();
        check(&routes, "S149.example.:80", "/buy", Found::Room(149));
        check(&routes, "www.example", "/buy", Found::Room(150));
        check(&routes, "other.example", "/buy", Found::Unserved);
        check(&routes, "other.example", "/_ropeline/v1", Found::Unserved);
        assert_eq!(routes.below_prefix(&Target::read("/_ropeline/v1").unwrap()), Some("/v1"));
        assert_eq!(routes.below_prefix(&Target::read("/buy").unwrap()), None);
    }

    #[test]
    fn everything_wrong_is_said_at_once() {
        let mut settings = settings(vec![
            room("a", &[], &["/buy", "/buy/"], &["/buy"]),
            room("b", &[], &["/buy"], &[]),
            room("c", &["shop.example"], &["/buy"], &[]),
        ]);
        settings.hosts = vec!["shop.example:80".to_owned()];
        settings.prefix = "/".to_owned();
        let wrong = Routes::new(&settings).unwrap_err();
        assert!(wrong.contains(&BadRoutes::Prefix));
        assert!(wrong.contains(&BadRoutes::Host("shop.example:80".to_owned())));
        let clash = |first: &str, second: &str| {
            wrong.iter().any(
                |w| matches!(w, BadRoutes::Clash { first: a, second: b, .. } if a == first && b == second),
            )
        };
        assert!(clash("a", "a") && clash("a", "b") && !clash("a", "c"));
    }
}
