//! What the instances of one installation share: a directory with keys and data, and the operators' tokens.

use std::path::{Path, PathBuf};

use aws_lc_rs::digest::{SHA256, digest};
use tempfile::TempDir;

use super::chance;

/// A directory of one installation, gone with it.
pub struct Home {
    dir: TempDir,
    /// The bearer tokens of an operator and a viewer.
    pub operator: String,
    pub viewer: String,
}

impl Home {
    /// An empty one.
    pub fn new() -> Self {
        let token = || format!("{:016x}{:016x}", chance::bits(), chance::bits());
        Self { dir: tempfile::tempdir().unwrap(), operator: token(), viewer: token() }
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// A file in it with this content.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    }

    /// The tokens as the configuration knows them: role and hash.
    pub fn token_hashes(&self) -> Vec<(&'static str, String)> {
        vec![("operator", sha256_hex(&self.operator)), ("viewer", sha256_hex(&self.viewer))]
    }
}

/// The SHA-256 of a text in hexadecimal.
pub fn sha256_hex(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|b| format!("{b:02x}")).collect()
}
