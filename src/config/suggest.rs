//! Which key was meant by one that does not exist: a slip of the fingers, or the right key in the wrong table.

use std::collections::BTreeSet;

/// A hint for `name` in `table` (paths without indices), if one is close. `known` are all keys there are.
pub(super) fn meant(table: &str, name: &str, known: &BTreeSet<String>) -> Option<String> {
    let split = |path: &'_ String| -> (String, String) {
        path.rsplit_once('.').map_or((String::new(), path.clone()), |(t, k)| (t.to_owned(), k.to_owned()))
    };
    let all: Vec<(String, String)> = known.iter().map(split).collect();
    let near = |key: &str| -> Option<usize> {
        let slips = distance(&name.to_lowercase(), key);
        (slips <= (name.chars().count() / 3).clamp(1, 2)).then_some(slips)
    };
    let here = all.iter().filter(|(t, _)| t == table).filter_map(|(_, k)| Some((near(k)?, k)));
    if let Some((_, key)) = here.min() {
        return Some(format!("did you mean `{key}`?"));
    }
    let elsewhere: Vec<String> =
        all.iter().filter(|(t, k)| k == name && t != table).map(|(t, _)| heading(t)).collect();
    match elsewhere.as_slice() {
        [] => None,
        homes => Some(format!("`{name}` belongs in {}", homes.join(" or "))),
    }
}

fn heading(table: &str) -> String {
    match table {
        "" => "the top of the file".to_owned(),
        "room" | "cache" | "admin.token" => format!("[[{table}]]"),
        _ => format!("[{table}]"),
    }
}

/// Insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let get = |cells: &[usize], at: usize| cells.get(at).copied().unwrap_or(usize::MAX / 2);
            let replaced = get(&last, j) + usize::from(x != y);
            let mut best = replaced.min(get(&last, j + 1) + 1).min(get(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(y) && b.get(j - 1) == Some(x);
            if swapped {
                best = best.min(get(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known() -> BTreeSet<String> {
        ["server", "server.listen", "room", "room.paths", "room.release.rate", "room.pass.ttl", "cache.ttl"]
            .map(str::to_owned)
            .into()
    }

    #[test]
    fn slips_and_wrong_tables_are_recognised() {
        let hint = |table: &str, name: &str| meant(table, name, &known()).unwrap_or_default();
        assert_eq!(hint("", "sever"), "did you mean `server`?");
        assert_eq!(hint("server", "lisetn"), "did you mean `listen`?");
        assert_eq!(hint("room", "Paths"), "did you mean `paths`?");
        assert_eq!(hint("room", "rate"), "`rate` belongs in [room.release]");
        assert_eq!(hint("room", "ttl"), "`ttl` belongs in [[cache]] or [room.pass]");
        assert_eq!(hint("room", "colour_of_the_sky"), "");
    }

    #[test]
    fn distances() {
        for (a, b, expected) in
            [("", "", 0), ("rate", "rate", 0), ("rate", "raet", 1), ("rate", "rates", 1), ("abc", "xyz", 3)]
        {
            assert_eq!(distance(a, b), expected, "{a} {b}");
        }
    }
}
