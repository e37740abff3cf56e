//! Whose request it is where a room tells accounts apart, and what those meet who show none.
//!
//! | a ticket or pass | with its own account | with another | with none |
//! | --- | --- | --- | --- |
//! | of an account | good | not there: they have their own place | at the gate as if not there; may still poll and leave |
//! | of a browser (`missing = "browser"`) | good: who logs in keeps the place | good | good |

use http::{HeaderValue, StatusCode, header};

use super::desk::Desk;
use super::gated::enter_url;
use super::intent::Intent;
use super::problem::problem_with;
use super::room::RoomDesk;
use super::{Accounts, Answer, Problem, Request, query, reply};
use crate::identity::{Account, Identity, Shown};
use crate::room::{IdentityHash, Micros};
use crate::token::Binding;

const NEEDED: Problem =
    Problem::new("identity-required", StatusCode::UNAUTHORIZED, "An account is needed here; please log in");
const UNSURE: Problem = Problem::new(
    "identity-unavailable",
    StatusCode::SERVICE_UNAVAILABLE,
    "Accounts cannot be checked right now",
);

/// Seconds after which a visitor whose account cannot be checked may try again.
const RETRY_AFTER: u64 = 5;

/// Tells accounts for one room.
pub(super) struct Teller {
    identity: Identity,
    browsers_too: bool,
}

impl Teller {
    pub(super) fn start(accounts: &Accounts) -> Self {
        Self { identity: Identity::start(accounts.identity.clone()), browsers_too: accounts.browsers_too }
    }
}

/// Whose request it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Who {
    /// The room does not ask.
    Anyone,
    /// A browser without an account, which is all right here.
    Browser,
    /// An account. `browsers_too`: the room gives browsers places of their own.
    Known { identity: IdentityHash, binding: Binding, browsers_too: bool },
    /// Nobody that could have a place here.
    Nobody,
    /// It cannot be told right now.
    Unsure,
}

impl Who {
    /// Whether a genuine ticket or pass with this binding is theirs.
    pub(super) fn holds(&self, bound: Option<Binding>) -> bool {
        match self {
            Self::Anyone => true,
            Self::Browser => bound.is_none(),
            Self::Known { binding, browsers_too, .. } => {
                bound.map_or(*browsers_too, |bound| bound == *binding)
            }
            Self::Nobody | Self::Unsure => false,
        }
    }

    /// Whether they may ask about a place: nobody else's account may be shown along with its ticket. Without one,
    /// as at another host or where the ticket takes the account's place in a header, the ticket alone will do; what
    /// it brings opens nothing without the account.
    pub(super) fn may_ask(&self, bound: Option<Binding>) -> bool {
        match self {
            Self::Known { .. } => self.holds(bound),
            Self::Anyone | Self::Browser | Self::Nobody | Self::Unsure => true,
        }
    }

    /// What the line knows the account by.
    pub(super) fn identity(&self) -> Option<IdentityHash> {
        match self {
            Self::Known { identity, .. } => Some(*identity),
            _ => None,
        }
    }

    /// What ties tokens to the account.
    pub(super) fn binding(&self) -> Option<Binding> {
        match self {
            Self::Known { binding, .. } => Some(*binding),
            _ => None,
        }
    }
}

impl RoomDesk {
    /// Whose request it is.
    pub(super) async fn who(&self, request: &Request<'_>, now: Micros) -> Who {
        let Some(teller) = &self.teller else { return Who::Anyone };
        match teller.identity.of(request.headers, request.peer_trusted, now).await {
            Shown::Account(account) => self.known(teller, &account),
            Shown::Missing if teller.browsers_too => Who::Browser,
            Shown::Missing => Who::Nobody,
            Shown::Unsure => Who::Unsure,
        }
    }

    fn known(&self, teller: &Teller, account: &Account) -> Who {
        let identity = self.keyring.identity_hash(account.kind, &account.value);
        let binding = self.keyring.binding(self.line.room(), &identity);
        Who::Known { identity, binding, browsers_too: teller.browsers_too }
    }
}

impl Desk {
    /// The answer for somebody who cannot have a place as long as no account is shown, if this is such a one.
    pub(super) fn without_account(
        &self,
        room: &RoomDesk,
        request: &Request<'_>,
        who: &Who,
    ) -> Option<Answer> {
        match who {
            Who::Unsure => {
                let detail = "Places that were taken are kept. Please try again.";
                Some(problem_with(UNSURE, detail, Some(RETRY_AFTER), None))
            }
            Who::Nobody => Some(self.account_needed(room, request)),
            Who::Anyone | Who::Browser | Who::Known { .. } => None,
        }
    }

    fn account_needed(&self, room: &RoomDesk, request: &Request<'_>) -> Answer {
        let below_prefix = self.is_reserved(request.target.path());
        let back = match query::return_to(request.target.raw()).filter(|_| below_prefix) {
            Some(target) => target,
            None if below_prefix => "/".to_owned(),
            None => enter_url(request).to_owned(),
        };
        let url = room.settings.accounts.as_ref().and_then(|accounts| accounts.login_url.as_deref());
        let url = url.map(|url| url.replace("{return}", &query::escape(&back)));
        let mut answer = if Intent::of(request.method, request.headers) == Intent::Navigation {
            reply::login(room, request, &back, url.as_deref())
        } else {
            let member = url.map(|url| ("login_url", url));
            problem_with(NEEDED, "One account has one place in line, on all its devices.", None, member)
        };
        if room.teller.as_ref().is_some_and(|teller| teller.identity.is_bearer()) {
            answer.headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::room::RoomId;
    use crate::token::Keyring;

    #[test]
    fn a_token_is_held_by_its_account_alone() {
        let dir = tempfile::tempdir().unwrap();
        let settings = crate::token::Settings::at(dir.path().join("keys"));
        let ring = Keyring::create_missing(settings, Micros(1_798_110_000_000_000)).unwrap();
        let room = RoomId::new("spring").unwrap();
        let known = |name: &[u8], browsers_too| {
            let identity = ring.identity_hash("cookie", name);
            Who::Known { identity, binding: ring.binding(&room, &identity), browsers_too }
        };
        let (anna, bert) = (known(b"anna", false), known(b"bert", false));
        let annas = anna.binding();
        assert!(anna.holds(annas) && anna.may_ask(annas));
        assert!(!bert.holds(annas) && !bert.may_ask(annas));
        assert!(!anna.holds(None), "a place of no account's opens nothing where accounts are asked for");
        let logged_in = known(b"anna", true);
        assert!(logged_in.holds(None) && logged_in.holds(annas) && !known(b"bert", true).holds(annas));
        for who in [Who::Browser, Who::Nobody, Who::Unsure] {
            assert!(!who.holds(annas) && who.may_ask(annas), "{who:?}");
        }
        assert!(Who::Browser.holds(None) && !Who::Nobody.holds(None) && Who::Anyone.holds(annas));
    }
}
