//! What an error of the client library means for the caller, and for the connection.
//!
//! The library knows only some of the server's codes by name: OOM, MISCONF, BUSY, NOAUTH and NOREPLICAS come as
//! extensions, so everything is matched by its code. It also reconnects for almost none of them, which is
//! why [`Fate`] exists: `link` acts on it.

use redis::{ErrorKind, RedisError};

use crate::queue::StoreError;

/// What should become of the connection that an error came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It works; the server answered.
    Keep,
    /// It works, but what was asked for lives elsewhere: look at the map of the cluster again.
    Elsewhere,
    /// It is of no use any more: dial anew.
    Drop,
}

/// Sorts an error by what the caller and the supervisor should do about it.
pub(super) fn judge(error: &RedisError) -> (StoreError, Fate) {
    if let Some(code) = error.code() {
        return by_code(code, error.detail().unwrap_or_default());
    }
    match error.kind() {
        ErrorKind::AuthenticationFailed => {
            (StoreError::Refused("user name or password is wrong; correct store.url".to_owned()), Fate::Drop)
        }
        ErrorKind::InvalidClientConfig => {
            (StoreError::Refused("store.url cannot be used as a Redis address".to_owned()), Fate::Drop)
        }
        ErrorKind::UnexpectedReturnType => {
            (StoreError::Garbled("the answer has another shape".to_owned()), Fate::Keep)
        }
        ErrorKind::Parse => {
            (StoreError::Unreachable("what answers there does not speak Redis".to_owned()), Fate::Drop)
        }
        _ if error.is_timeout() => (StoreError::TimedOut, Fate::Keep),
        _ => (broken(error.to_string()), Fate::Drop),
    }
}

/// Why a connection broke. A server that wants a certificate of ours says so only after the greeting by TLS.
fn broken(why: String) -> StoreError {
    if why.contains("CertificateRequired") {
        let remedy = "it wants a certificate of ours, and there is none; set tls-auth-clients no or optional";
        return StoreError::Refused(remedy.to_owned());
    }
    StoreError::Unreachable(why)
}

fn by_code(code: &str, detail: &str) -> (StoreError, Fate) {
    let refused = |why: &str| StoreError::Refused(why.to_owned());
    match code {
        "READONLY" | "MASTERDOWN" => (refused("the server is a replica now"), Fate::Drop),
        "LOADING" => (refused("the server is still loading its data"), Fate::Keep),
        "OOM" => (refused("the server has reached its maxmemory"), Fate::Keep),
        "MISCONF" => (refused("the server cannot write to its disk"), Fate::Keep),
        "BUSY" => (refused("a script of someone else keeps the server busy"), Fate::Keep),
        "NOREPLICAS" => (refused("too few replicas are connected"), Fate::Keep),
        "NOAUTH" | "WRONGPASS" => {
            (refused("user name or password is missing or wrong; correct store.url"), Fate::Drop)
        }
        "NOPERM" => (
            refused("the user may not do this; it needs scripts, and keys that begin with \"rl:\""),
            Fate::Keep,
        ),
        "MOVED" => (
            refused("the room lives on another node; a cluster must be named as redis+cluster://"),
            Fate::Elsewhere,
        ),
        "CLUSTERDOWN" => (refused("the cluster does not serve the room now"), Fate::Elsewhere),
        // While its slot is moved: nothing is done by halves, for a script's one key exists on neither side.
        "TRYAGAIN" | "ASK" => (refused("the room is being moved to another node of the cluster"), Fate::Keep),
        _ => (StoreError::Garbled(format!("{code} {detail}")), Fate::Keep),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn io(kind: std::io::ErrorKind) -> RedisError {
        RedisError::from(std::io::Error::from(kind))
    }

    #[test]
    fn a_timeout_keeps_the_connection_and_a_break_does_not() {
        assert_eq!(judge(&io(std::io::ErrorKind::TimedOut)), (StoreError::TimedOut, Fate::Keep));
        for kind in [std::io::ErrorKind::BrokenPipe, std::io::ErrorKind::ConnectionRefused] {
            let (error, fate) = judge(&io(kind));
            assert!(matches!(error, StoreError::Unreachable(_)));
            assert_eq!(fate, Fate::Drop);
        }
    }

    #[test]
    fn codes_that_the_library_does_not_know_are_told_apart() {
        for code in ["OOM", "MISCONF", "BUSY", "NOREPLICAS", "LOADING"] {
            let (error, fate) = by_code(code, "");
            assert!(matches!(error, StoreError::Refused(_)), "{code}");
            assert_eq!(fate, Fate::Keep, "{code}");
        }
        assert_eq!(by_code("READONLY", "").1, Fate::Drop);
        assert_eq!(by_code("MOVED", "").1, Fate::Elsewhere);
        assert_eq!(by_code("ASK", "").1, Fate::Keep);
        assert!(matches!(by_code("ERR", "wrong type").0, StoreError::Garbled(_)));
    }
}
