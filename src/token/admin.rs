//! Who may use the admin API: bearer tokens, of which only digests are configured or kept.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::files::{in_dir, make_dir, read_or_make};
use super::hash::{same, sha256};
use super::{KeyError, random};

/// The file of the token that is made when none is configured.
pub const FILE: &str = "admin.token";
/// Longest bearer token that is looked at.
const BEARER_BYTES_MAX: usize = 512;
/// A token shorter than this could be guessed.
const BEARER_BYTES_MIN: usize = 24;

/// What a token allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Reads.
    Viewer,
    /// Reads and acts.
    Operator,
    /// The origin: may only end single passes.
    Origin,
}

impl Role {
    /// As it is written in the configuration.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Origin => "origin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Not a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected viewer, operator or origin")]
pub struct BadRole;

impl FromStr for Role {
    type Err = BadRole;

    fn from_str(text: &str) -> Result<Self, BadRole> {
        [Self::Viewer, Self::Operator, Self::Origin]
            .into_iter()
            .find(|role| role.as_str() == text)
            .ok_or(BadRole)
    }
}

/// The SHA-256 of a bearer token.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TokenDigest([u8; 32]);

impl TokenDigest {
    /// The digest of a token.
    #[must_use]
    pub fn of(bearer: &str) -> Self {
        Self(sha256(bearer.as_bytes()))
    }
}

impl From<[u8; 32]> for TokenDigest {
    fn from(digest: [u8; 32]) -> Self {
        Self(digest)
    }
}

/// Not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected the SHA-256 of the token as 64 hexadecimal digits")]
pub struct BadDigest;

impl FromStr for TokenDigest {
    type Err = BadDigest;

    fn from_str(text: &str) -> Result<Self, BadDigest> {
        if text.len() != 64 || !text.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(BadDigest);
        }
        let half = |text: &str| u128::from_str_radix(text, 16).map_err(|_| BadDigest);
        let (high, low) = text.split_at_checked(32).ok_or(BadDigest)?;
        let (high, low) = (half(high)?.to_be_bytes(), half(low)?.to_be_bytes());
        let mut digest = [0; 32];
        for (to, from) in digest.iter_mut().zip(high.into_iter().chain(low)) {
            *to = from;
        }
        Ok(Self(digest))
    }
}

impl fmt::Display for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenDigest(..)")
    }
}

/// One `[[admin.token]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminToken {
    /// Who it was given to; shown in the audit.
    pub name: String,
    /// What it allows.
    pub role: Role,
    /// Of the token itself, which only its holder has.
    pub sha256: TokenDigest,
}

/// All tokens that the admin API accepts.
#[derive(Debug, Clone, Default)]
pub struct AdminTokens(Vec<AdminToken>);

impl AdminTokens {
    /// These tokens.
    #[must_use]
    pub fn new(tokens: Vec<AdminToken>) -> Self {
        Self(tokens)
    }

    /// Whose token this is and what it allows. Takes as long for any token, known or not.
    #[must_use]
    pub fn find(&self, bearer: &str) -> Option<(&str, Role)> {
        if bearer.len() > BEARER_BYTES_MAX {
            return None;
        }
        let shown = TokenDigest::of(bearer);
        let mut found = None;
        for token in &self.0 {
            // No early end: the time must not tell how far down the list a token is.
            if same(&token.sha256.0, &shown.0) {
                found = Some(token);
            }
        }
        found.map(|token| (token.name.as_str(), token.role))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A bearer token out of 32 random bytes: `rlt_` and 43 characters.
#[must_use]
pub fn bearer(random: [u8; 32]) -> String {
    format!("rlt_{}", URL_SAFE_NO_PAD.encode(random))
}

/// The lines that make a token known to the configuration.
#[must_use]
pub fn toml_entry(token: &AdminToken) -> String {
    let name = toml::Value::String(token.name.clone());
    format!("[[admin.token]]\nname = {name}\nrole = \"{}\"\nsha256 = \"{}\"\n", token.role, token.sha256)
}

/// The operator's token of an installation that configured none: read from `admin.token` beside the keys, or
/// made there (rights 0600) at the first start. Also where it is, to tell the operator.
///
/// # Errors
/// When the file cannot be made or read, others may read it, or what it holds could be guessed.
pub fn make_admin_token_file(dir: &Path) -> Result<(AdminToken, PathBuf), KeyError> {
    make_dir(dir)?;
    let path = in_dir(dir, FILE);
    let text = read_or_make(&path, &(bearer(random::bytes()?) + "\n"))?;
    let token = text.trim();
    if token.len() < BEARER_BYTES_MIN || token.len() > BEARER_BYTES_MAX || token.contains(char::is_whitespace)
    {
        let why = "not one token of 24 to 512 characters; remove the file and a new one is made";
        return Err(KeyError::Bad { path, why });
    }
    let token = AdminToken { name: "admin".to_owned(), role: Role::Operator, sha256: TokenDigest::of(token) };
    Ok((token, path))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn token(name: &str, role: Role, bearer: &str) -> AdminToken {
        AdminToken { name: name.into(), role, sha256: TokenDigest::of(bearer) }
    }

    #[test]
    fn a_token_is_found_by_its_whole_text_only() {
        let tokens = AdminTokens::new(vec![
            token("desk", Role::Operator, "rlt_desk"),
            token("wall", Role::Viewer, "rlt_wall"),
        ]);
        assert_eq!(tokens.find("rlt_desk"), Some(("desk", Role::Operator)));
        assert_eq!(tokens.find("rlt_wall"), Some(("wall", Role::Viewer)));
        for bad in ["", "rlt_", "rlt_des", "rlt_desk ", "RLT_DESK", &"x".repeat(100_000)] {
            assert_eq!(tokens.find(bad), None);
        }
        assert_eq!(AdminTokens::default().find(""), None);
    }

    #[test]
    fn roles_and_digests_are_read_as_they_are_written() {
        for role in [Role::Viewer, Role::Operator, Role::Origin] {
            assert_eq!(role.to_string().parse(), Ok(role));
        }
        assert_eq!("Operator".parse::<Role>(), Err(BadRole));
        // The digest of the empty text, as sha256sum prints it.
        let known = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(TokenDigest::of("").to_string(), known);
        assert_eq!(known.parse(), Ok(TokenDigest::of("")));
        assert_eq!(known.to_uppercase().parse(), Ok(TokenDigest::of("")));
        for bad in ["", "e3", &known[1..], &format!("+{}", &known[1..]), &"é".repeat(32)] {
            assert_eq!(bad.parse::<TokenDigest>(), Err(BadDigest), "{bad}");
        }
        assert!(!format!("{:?}", TokenDigest::of("")).contains("e3b0"));
    }

    #[test]
    fn the_toml_entry_is_toml_whatever_the_name() {
        let bearer = bearer([7; 32]);
        assert_eq!(bearer.len(), 47);
        for name in ["box-office", "a \"quoted\"\nname \\"] {
            let entry = toml_entry(&token(name, Role::Origin, &bearer));
            let read: toml::Table = entry.parse().unwrap();
            let read = &read["admin"]["token"][0];
            assert_eq!(read["name"].as_str(), Some(name));
            assert_eq!(read["role"].as_str(), Some("origin"));
            assert_eq!(read["sha256"].as_str().unwrap().parse(), Ok(TokenDigest::of(&bearer)));
        }
    }

    #[test]
    fn the_first_token_is_made_once_and_kept() {
        let dir = tempfile::tempdir().unwrap();
        let keys = dir.path().join("keys");
        let (made, path) = make_admin_token_file(&keys).unwrap();
        assert_eq!(make_admin_token_file(&keys).unwrap(), (made.clone(), path.clone()));
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(AdminTokens::new(vec![made]).find(text.trim()), Some(("admin", Role::Operator)));

        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(make_admin_token_file(&keys), Err(KeyError::Exposed { .. })));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(&path, "short\n").unwrap();
        assert!(matches!(make_admin_token_file(&keys), Err(KeyError::Bad { .. })));
    }
}
