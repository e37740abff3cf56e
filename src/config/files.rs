//! Small files that the settings consist of or point to, read within a bound.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Longest settings file, in bytes.
pub(super) const DOCUMENT_MAX: u64 = 1 << 20;
/// Longest secret, in bytes.
pub(super) const SECRET_MAX: u64 = 4096;
/// Largest logo, in bytes: it is part of every waiting page.
pub(super) const LOGO_MAX: u64 = 8192;

/// The file's bytes, or one line that says what to do.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let opened = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    match opened {
        Err(error) => Err(format!("cannot be read ({error}); {}", remedy(&error))),
        Ok(count) if count as u64 > most => Err(format!("is larger than {most} bytes")),
        Ok(_) => Ok(bytes),
    }
}

fn remedy(error: &std::io::Error) -> &'static str {
    match error.kind() {
        std::io::ErrorKind::NotFound => "check the path: relative ones start at the working directory",
        std::io::ErrorKind::PermissionDenied => "let the user who runs ropeline read it",
        std::io::ErrorKind::IsADirectory => "name a file in it",
        _ => "check the file and its rights",
    }
}

/// A secret from a file, without the line end.
pub(super) fn secret(path: &Path) -> Result<String, String> {
    let shown = path.display();
    let bytes = read(path, SECRET_MAX).map_err(|why| format!("{shown} {why}"))?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{shown} is not text"))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.trim().is_empty() {
        return Err(format!("{shown} is empty; put the secret into it"));
    }
    Ok(text.to_owned())
}
