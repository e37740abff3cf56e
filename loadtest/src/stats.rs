//! The few figures that every table is made of. Medians, because one disturbed round must not decide.

/// The middle value; of an even count the mean of the two in the middle. 0 of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let middle = sorted.len() / 2;
    match (sorted.get(middle.wrapping_sub(1)), sorted.get(middle)) {
        (Some(below), Some(above)) if sorted.len().is_multiple_of(2) => f64::midpoint(*below, *above),
        (_, Some(value)) => *value,
        _ => 0.0,
    }
}

/// The value that `percent` of all values do not exceed (nearest rank). 0 of nothing.
pub(crate) fn percentile(values: &[f64], percent: f64) -> f64 {
    let sorted = sorted(values);
    #[expect(clippy::cast_precision_loss, reason = "counts of samples")]
    let rank = (percent / 100.0 * sorted.len() as f64).ceil();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank within the samples")]
    let index = (rank.max(1.0) as usize - 1).min(sorted.len().saturating_sub(1));
    sorted.get(index).copied().unwrap_or_default()
}

/// How far the rounds lie apart: (largest - smallest) / median, in percent.
pub(crate) fn spread(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let (Some(least), Some(most)) = (sorted.first(), sorted.last()) else { return 0.0 };
    100.0 * ratio(most - least, median(values))
}

/// `value` in units of `base`; 0 if there is no base.
pub(crate) fn ratio(value: f64, base: f64) -> f64 {
    if base == 0.0 { 0.0 } else { value / base }
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), 0.0);
        assert_eq!(median(&[7.0]), 7.0);
        assert_eq!(median(&[9.0, 1.0, 5.0]), 5.0);
        assert_eq!(median(&[9.0, 1.0, 5.0, 7.0]), 6.0);
        assert_eq!(median(&[1.0, 1.0, 1.0, 1e9]), 1.0, "one bad round does not decide");
    }

    #[test]
    fn percentiles_are_values_that_were_seen() {
        let hundred: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        assert_eq!(percentile(&hundred, 50.0), 50.0);
        assert_eq!(percentile(&hundred, 99.0), 99.0);
        assert_eq!(percentile(&hundred, 100.0), 100.0);
        assert_eq!(percentile(&hundred, 0.0), 1.0);
        assert_eq!(percentile(&[3.0], 99.0), 3.0);
        assert_eq!(percentile(&[], 99.0), 0.0);
    }

    #[test]
    fn ratios_and_spreads_survive_nothing() {
        assert_eq!(ratio(30.0, 20.0), 1.5);
        assert_eq!(ratio(1.0, 0.0), 0.0);
        assert_eq!(spread(&[90.0, 100.0, 110.0]), 20.0);
        assert_eq!(spread(&[5.0]), 0.0);
        assert_eq!(spread(&[]), 0.0);
    }
}
