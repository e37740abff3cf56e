//! Unguessable bytes, for those who own the chance of a start: lineages, instance ids, keys, nonces.

use super::KeyError;

/// `N` bytes that nobody can guess.
///
/// # Errors
/// [`KeyError::NoRandom`] when the system has none to give.
pub fn bytes<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut out = [0; N];
    aws_lc_rs::rand::fill(&mut out).map_err(|_| KeyError::NoRandom)?;
    Ok(out)
}

/// A number that nobody can guess.
///
/// # Errors
/// As [`bytes()`].
pub fn number() -> Result<u64, KeyError> {
    bytes().map(u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_draws_differ() {
        assert_ne!(super::bytes::<16>().unwrap(), super::bytes::<16>().unwrap());
        assert_ne!(super::number().unwrap(), super::number().unwrap());
    }
}
