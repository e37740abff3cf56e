//! What can go wrong in a benchmark: anything, and always in words for the person who runs it.

/// An error as a sentence.
pub(crate) type Fault = Box<dyn std::error::Error + Send + Sync>;

/// A result of this crate.
pub(crate) type Result<T> = std::result::Result<T, Fault>;

/// A fault out of a sentence.
pub(crate) fn fault<T>(sentence: impl Into<String>) -> Result<T> {
    Err(sentence.into().into())
}
