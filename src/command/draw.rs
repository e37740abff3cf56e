//! `ropeline draw verify FILE`: recomputes a draw from what `room.draw` shows after it.

use std::io::{self, Read, Write};

use serde::Deserialize;
use serde_json::Value;

use crate::room::{Draw, DrawStage, Micros, Number, Seat, Seed};

/// Longest document that is read.
const INPUT_BYTES_MAX: u64 = 1024 * 1024;

/// What to verify.
#[derive(Debug, Clone, Copy)]
pub struct Verify<'a> {
    /// A file with `room.draw`, or with a whole room or position document; `-` reads the input.
    pub file: &'a str,
    /// The commitment that was written down before the opening.
    pub commitment: Option<&'a str>,
    /// Lobby indices whose numbers are wanted; none: only the commitment is checked.
    pub indices: &'a [u64],
    /// Print the numbers of all indices.
    pub all: bool,
}

#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot read {0}: {1}")]
    Unread(String, io::Error),
    #[error("{0} is no JSON document: {1}")]
    NoJson(String, serde_json::Error),
    #[error("there is no draw in it; give the object `room.draw`, or the whole document")]
    NoDraw,
    #[error("the draw is not made yet, or not all of it is there: {0} is missing")]
    NotMade(&'static str),
    #[error("`seed`: {0}")]
    Seed(#[from] crate::room::draw::BadSeed),
    #[error("{0} is no index of this draw: they are 1 to {1}")]
    Index(u64, u64),
    #[error("cannot write: {0}")]
    Io(#[from] io::Error),
}

/// `room.draw`, as far as it is needed.
#[derive(Debug, Deserialize)]
struct Told {
    commitment: String,
    size: Option<u64>,
    first_number: Option<u64>,
    seed: Option<String>,
    public_name: Option<String>,
    public_value: Option<String>,
}

/// Verifies. Ends with 0 if everything matches, 1 if it does not, 64 if there is nothing to verify.
pub fn verify(what: Verify<'_>, input: &mut dyn Read, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    match try_verify(what, input, out) {
        Ok(good) => u8::from(!good),
        Err(failure) => {
            // Nobody is left to tell when even this cannot be written.
            let _ = writeln!(err, "ropeline: {failure}");
            if matches!(failure, Failure::Io(_)) { super::exit::FAILURE } else { super::exit::USAGE }
        }
    }
}

fn try_verify(what: Verify<'_>, input: &mut dyn Read, out: &mut dyn Write) -> Result<bool, Failure> {
    let told = told(&read(what.file, input)?)?;
    let seed = Seed::parse(told.seed.as_deref().ok_or(Failure::NotMade("`seed`"))?)?;
    let size = told.size.ok_or(Failure::NotMade("`size`"))?;
    let first = told.first_number.ok_or(Failure::NotMade("`first_number`"))?;
    if told.public_name.is_some() && told.public_value.is_none() {
        return Err(Failure::NotMade("`public_value`"));
    }
    let committed = seed.commitment();
    let mut good = same(out, "the commitment in the document", &told.commitment, &committed)?;
    if let Some(before) = what.commitment {
        good &= same(out, "the commitment from before the opening", before, &committed)?;
    }
    if !good {
        return Ok(false);
    }
    writeln!(
        out,
        "{size} places were drawn, numbers {first} to {}",
        first.saturating_add(size).saturating_sub(1)
    )?;
    match (&told.public_name, &told.public_value) {
        (Some(name), Some(value)) => writeln!(out, "public value ({name}): {value}")?,
        _ => writeln!(out, "no public value: who could read the store knew the order beforehand")?,
    }
    let base = Number(first.saturating_sub(1));
    let value = told.public_value;
    let draw = Draw { stage: DrawStage::Drawn, base, size, at: Micros(0), seed: Some(seed), value };
    numbers(&draw, what, out)?;
    Ok(true)
}

/// The numbers that were asked for, one line each: index and number.
fn numbers(draw: &Draw, what: Verify<'_>, out: &mut dyn Write) -> Result<(), Failure> {
    let all = if what.all { draw.size } else { 0 };
    for index in what.indices.iter().copied().chain(1..=all) {
        let place = draw.base.0.checked_add(index).filter(|_| (1..=draw.size).contains(&index));
        let seat = place.map(|place| draw.seat(Number(place)));
        let Some(Seat::Number(number)) = seat else { return Err(Failure::Index(index, draw.size)) };
        writeln!(out, "{index} {number}")?;
    }
    Ok(())
}

fn same(out: &mut dyn Write, what: &str, told: &str, computed: &str) -> io::Result<bool> {
    let good = told.trim().eq_ignore_ascii_case(computed);
    let says = if good { "matches the seed" } else { "DOES NOT match the seed" };
    writeln!(out, "{what} {says}: {}", told.trim())?;
    if !good {
        writeln!(out, "the seed's own is {computed}")?;
    }
    Ok(good)
}

fn read(file: &str, input: &mut dyn Read) -> Result<Value, Failure> {
    let mut text = String::new();
    let unread = |error| Failure::Unread(file.to_owned(), error);
    if file == "-" {
        input.take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(unread)?;
    } else {
        let opened = std::fs::File::open(file).map_err(unread)?;
        opened.take(INPUT_BYTES_MAX).read_to_string(&mut text).map_err(unread)?;
    }
    serde_json::from_str(&text).map_err(|error| Failure::NoJson(file.to_owned(), error))
}

/// The draw in a document: the object itself, below `draw`, or below `room.draw`.
fn told(document: &Value) -> Result<Told, Failure> {
    let places = [document.pointer("/room/draw"), document.get("draw"), Some(document)];
    let found = places.into_iter().flatten().find(|place| place.get("commitment").is_some());
    let found = found.ok_or(Failure::NoDraw)?;
    serde_json::from_value(found.clone()).map_err(|error| Failure::NoJson("the draw".to_owned(), error))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draw(value: Option<&str>) -> Value {
        let seed = Seed([9; 32]);
        json!({"state": "drawn", "commitment": seed.commitment(), "size": 1000, "first_number": 41,
               "seed": seed.reveal(), "public_name": value.map(|_| "the dice"), "public_value": value})
    }

    fn said(document: &Value, commitment: Option<&str>, indices: &[u64], all: bool) -> (u8, String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let what = Verify { file: "-", commitment, indices, all };
        let text = document.to_string();
        let code = verify(what, &mut text.as_bytes(), &mut out, &mut err);
        (code, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_draw_that_was_kept_to_is_good_wherever_it_stands() {
        for document in [draw(None), json!({"draw": draw(None)}), json!({"room": {"draw": draw(None)}})] {
            let (code, out, err) = said(&document, None, &[1, 1000], false);
            assert_eq!((code, err.as_str()), (0, ""), "{out}");
            assert!(out.contains("1000 places were drawn, numbers 41 to 1040"), "{out}");
        }
    }

    #[test]
    fn all_numbers_are_given_once() {
        let (code, out, _) = said(&draw(Some("4 2")), None, &[], true);
        assert_eq!(code, 0);
        let pairs = out.lines().filter_map(|line| line.split_once(' '));
        let numbers = pairs.filter_map(|(index, number)| {
            let index: u64 = index.parse().ok()?;
            (1..=1000).contains(&index).then(|| number.parse::<u64>().ok())?
        });
        let numbers: std::collections::BTreeSet<_> = numbers.collect();
        assert_eq!(numbers, (41..=1040).collect());
    }

    #[test]
    fn another_seed_or_value_does_not_pass_for_it() {
        let mut tampered = draw(Some("4 2"));
        tampered["seed"] = Seed([8; 32]).reveal().into();
        let (code, out, _) = said(&tampered, None, &[], false);
        assert!(code == 1 && out.contains("DOES NOT match"), "{out}");
        let (code, out, _) = said(&draw(None), Some(&Seed([8; 32]).commitment()), &[], false);
        assert!(code == 1 && out.contains("before the opening DOES NOT"), "{out}");
        let number =
            |value| said(&draw(Some(value)), None, &[17], false).1.lines().last().unwrap().to_owned();
        assert_ne!(number("4 2"), number("4 3"), "another value, another order");
    }

    #[test]
    fn what_is_no_draw_is_said() {
        let mut early = draw(None);
        early["seed"] = Value::Null;
        let cases = [
            (json!({"room": {"draw": null}}), "no draw in it"),
            (json!([1]), "no draw in it"),
            (early, "`seed` is missing"),
            (json!({"commitment": 5}), "no JSON document"),
        ];
        for (document, says) in cases {
            let (code, _, err) = said(&document, None, &[], false);
            assert!(code == 64 && err.contains(says), "{err}");
        }
        let mut endless = draw(None);
        (endless["size"], endless["first_number"]) = (u64::MAX.into(), u64::MAX.into());
        assert_eq!(said(&endless, None, &[], false).0, 0, "nothing is computed that nobody asked for");
        assert_eq!(said(&endless, None, &[7], false).0, 64);
        let (code, _, err) = said(&draw(None), None, &[1001], false);
        assert!(code == 64 && err.contains("1 to 1000"), "{err}");
    }
}
