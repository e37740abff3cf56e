//! Our two cookies of a room: the ticket and the pass.
//!
//! Over TLS their names carry `__Host-`, and only those are read, so that a sibling host or a plain-text
//! intruder cannot plant one. Of duplicates the first valid one counts, and few are tried.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, header};

use super::SameSite;
use crate::room::RoomId;

/// How many cookies of one name are tried.
const TRIED_MAX: usize = 4;

/// Added to the time until a room closes.
pub(super) const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long a browser keeps a ticket of a room that never closes.
pub(super) const TICKET_MAX_AGE: Duration = Duration::from_secs(7 * 24 * 3600);

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Ticket,
    Pass,
}

/// How the cookies of a room are named and written.
#[derive(Debug, Clone)]
pub(super) struct Cookies {
    plain: [String; 2],
    secure: [String; 2],
    same_site: SameSite,
}

impl Cookies {
    pub(super) fn new(room: &RoomId, same_site: SameSite) -> Self {
        let plain = [format!("rl_t_{room}"), format!("rl_p_{room}")];
        let secure = plain.clone().map(|name| format!("__Host-{name}"));
        Self { plain, secure, same_site }
    }

    fn name(&self, kind: Kind, https: bool) -> &str {
        let names = if https { &self.secure } else { &self.plain };
        &names[usize::from(kind == Kind::Pass)]
    }

    /// The values of a cookie that are worth trying, in order.
    pub(super) fn values<'h>(
        &'h self,
        kind: Kind,
        https: bool,
        headers: &'h HeaderMap,
    ) -> impl Iterator<Item = &'h str> {
        let name = self.name(kind, https);
        headers
            .get_all(header::COOKIE)
            .iter()
            .filter_map(|line| line.to_str().ok())
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(move |(key, _)| *key == name)
            .map(|(_, value)| value)
            .take(TRIED_MAX)
    }

    /// `Set-Cookie` for a token.
    pub(super) fn set(&self, kind: Kind, https: bool, value: &str, max_age: Duration) -> Option<HeaderValue> {
        let name = self.name(kind, https);
        let attributes = self.attributes(https);
        HeaderValue::from_str(&format!("{name}={value}; Max-Age={}{attributes}", max_age.as_secs())).ok()
    }

    /// `Set-Cookie` that removes a cookie.
    pub(super) fn clear(&self, kind: Kind, https: bool) -> Option<HeaderValue> {
        let name = self.name(kind, https);
        HeaderValue::from_str(&format!("{name}=; Max-Age=0{}", self.attributes(https))).ok()
    }

    fn attributes(&self, https: bool) -> String {
        let same_site = match self.same_site {
            SameSite::Lax => "; SameSite=Lax",
            SameSite::Strict => "; SameSite=Strict",
            // Without TLS a browser refuses SameSite=None; then the shop is at least usable outside frames.
            SameSite::None if https => "; SameSite=None; Partitioned",
            SameSite::None => "; SameSite=Lax",
        };
        let secure = if https { "; Secure" } else { "" };
        format!("; Path=/; HttpOnly{secure}{same_site}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookies() -> Cookies {
        Cookies::new(&RoomId::new("spring").unwrap(), SameSite::Lax)
    }

    fn read(kind: Kind, https: bool, line: &str) -> Vec<String> {
        let headers = HeaderMap::from_iter([(header::COOKIE, line.parse().unwrap())]);
        cookies().values(kind, https, &headers).map(str::to_owned).collect()
    }

    #[test]
    fn over_tls_only_host_cookies_are_read() {
        let line = "a=1; rl_t_spring=plain; __Host-rl_t_spring=host;rl_t_spring2=x; rl_p_spring=p";
        assert_eq!(read(Kind::Ticket, false, line), ["plain"]);
        assert_eq!(read(Kind::Ticket, true, line), ["host"]);
        assert_eq!(read(Kind::Pass, true, line), Vec::<String>::new());
    }

    #[test]
    fn at_most_four_of_one_name_are_tried() {
        assert_eq!(read(Kind::Ticket, false, &"rl_t_spring=x; ".repeat(9)).len(), 4);
    }

    #[test]
    fn attributes_follow_the_connection() {
        let day = Duration::from_secs(86400);
        assert_eq!(
            cookies().set(Kind::Pass, true, "v", day).unwrap(),
            "__Host-rl_p_spring=v; Max-Age=86400; Path=/; HttpOnly; Secure; SameSite=Lax"
        );
        assert_eq!(
            cookies().clear(Kind::Ticket, false).unwrap(),
            "rl_t_spring=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax"
        );
    }
}
