//! The only code here that touches the file system. Secrets are read only when nobody but their owner can,
//! and appear all at once or not at all: a reader never sees half a key, a writer never replaces one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{KeyError, random};

/// No key file of ours comes near this.
const FILE_BYTES_MAX: u64 = 4096;

pub(super) fn io_error(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> KeyError {
    let path = path.to_owned();
    move |source| KeyError::Io { path, doing, source }
}

/// The text of a secret file.
pub(super) fn read_secret(path: &Path) -> Result<String, KeyError> {
    let file = File::open(path).map_err(io_error(path, "read it"))?;
    let meta = file.metadata().map_err(io_error(path, "read its rights"))?;
    if !meta.is_file() {
        return Err(KeyError::Bad { path: path.to_owned(), why: "not a regular file; remove it" });
    }
    if meta.permissions().mode() & 0o077 != 0 {
        return Err(KeyError::Exposed { path: path.to_owned() });
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(io_error(path, "read it"))?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(KeyError::Bad {
            path: path.to_owned(),
            why: "too long for a key; restore the right file",
        });
    }
    Ok(text)
}

/// Writes a secret that was not there before, rights 0600. False, and nothing is changed, if there is a file
/// of that name already.
pub(super) fn write_new(path: &Path, text: &str) -> Result<bool, KeyError> {
    let dir = path.parent().unwrap_or(Path::new("."));
    let scratch = dir.join(format!(".new-{:016x}", random::number()?));
    let made = write_scratch(&scratch, text)
        // A hard link, unlike a rename, never replaces what somebody else made in the meantime.
        .and_then(|()| match fs::hard_link(&scratch, path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            result => result.map(|()| true),
        })
        .map_err(io_error(path, "write it"));
    // Left behind only by a crash; such names are never read.
    let _ = fs::remove_file(&scratch);
    if made? {
        File::open(dir).and_then(|d| d.sync_all()).map_err(io_error(dir, "make it durable"))?;
        return Ok(true);
    }
    Ok(false)
}

fn write_scratch(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    // The umask may only have taken rights away; say exactly what they are.
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Makes a directory that only its owner can enter, unless there is one.
pub(super) fn make_dir(path: &Path) -> Result<(), KeyError> {
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(io_error(path, "make the directory"))
}

/// The names in a key directory, if nobody else may add to them.
pub(super) fn list_dir(path: &Path) -> Result<Vec<String>, KeyError> {
    let meta = match fs::metadata(path) {
        Ok(meta) => meta,
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(KeyError::Missing { path: path.to_owned(), what: "keys" });
        }
        Err(e) => return Err(io_error(path, "read it")(e)),
    };
    if !meta.is_dir() {
        return Err(KeyError::Bad { path: path.to_owned(), why: "not a directory; name one for the keys" });
    }
    if meta.permissions().mode() & 0o022 != 0 {
        return Err(KeyError::OpenDirectory { path: path.to_owned() });
    }
    let entries = fs::read_dir(path).map_err(io_error(path, "list it"))?;
    let names = entries.map(|entry| entry.map(|e| e.file_name().into_string().unwrap_or_default()));
    names.collect::<Result<_, _>>().map_err(io_error(path, "list it"))
}

/// A secret that is made when it is first asked for, and read from then on.
pub(super) fn read_or_make(path: &Path, text: &str) -> Result<String, KeyError> {
    write_new(path, text)?;
    read_secret(path)
}

/// Where a file of a key directory is.
pub(super) fn in_dir(dir: &Path, name: &str) -> PathBuf {
    dir.join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_written_once_with_rights_for_its_owner_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("k");
        assert!(write_new(&path, "one").unwrap());
        assert!(!write_new(&path, "two").unwrap());
        assert_eq!(read_secret(&path).unwrap(), "one");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no scratch file stays");
    }

    #[test]
    fn a_secret_that_others_may_read_is_refused_with_the_remedy() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("k");
        write_new(&path, "one").unwrap();
        for mode in [0o640, 0o604, 0o660, 0o644] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let told = read_secret(&path).unwrap_err().to_string();
            assert!(told.contains(&format!("chmod 600 {}", path.display())), "{told}");
            assert_eq!(told.lines().count(), 1);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read_secret(&path).unwrap(), "one");
    }

    #[test]
    fn odd_files_are_refused_without_reading_them_whole() {
        let dir = tempfile::tempdir().unwrap();
        let long = dir.path().join("long");
        write_new(&long, &"x".repeat(5000)).unwrap();
        assert!(matches!(read_secret(&long), Err(KeyError::Bad { .. })));
        assert!(matches!(read_secret(dir.path()), Err(KeyError::Bad { .. })));
        assert!(matches!(read_secret(&dir.path().join("none")), Err(KeyError::Io { .. })));
    }

    #[test]
    fn a_directory_that_others_may_write_to_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o775)).unwrap();
        let told = list_dir(dir.path()).unwrap_err().to_string();
        assert!(told.contains("chmod 700"), "{told}");
    }
}
