//! A directory of the demo's own, readable by nobody else and gone when the demo is.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A temporary directory.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one under the system's place for temporary files.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn new() -> io::Result<Self> {
        let name = format!("ropeline-demo-{:016x}", rand::random::<u64>());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(Self(path))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(folder = %self.0.display(), %error, "the demo's folder could not be removed");
        }
    }
}
