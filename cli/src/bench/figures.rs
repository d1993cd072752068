//! The arithmetic of a benchmark: rates, percentiles, the middle of several rounds.

use std::{future::Future, time::Instant};

use anyhow::Result;
use serde::Serialize;

/// What several rounds came to: the middle one, and the extremes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The middle one.
    pub median: f64,
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// Of a figure's rounds, to so many decimal places.
    pub(super) fn of(mut rounds: Vec<f64>, digits: i32) -> Self {
        rounds.sort_by(f64::total_cmp);
        let at = |share| rounded(percentile(&rounds, share), digits);
        Self { median: at(0.5), min: at(0.0), max: at(1.0) }
    }
}

/// A rate beside another of the same run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Rate {
    /// Tasks per second; the middle of the rounds.
    pub tasks_per_s: f64,
    /// What it is set against; the middle of the rounds.
    pub limit_per_s: f64,
    /// The first by the second, taken within each round; the middle of the rounds.
    pub ratio: f64,
    /// The smallest of these.
    pub ratio_min: f64,
    /// The largest of these.
    pub ratio_max: f64,
}

impl Rate {
    /// Of the rounds' rates and what each is set against.
    pub(super) fn of(rounds: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (rates, limits): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
        let ratios = Spread::of(rates.iter().zip(&limits).map(|(rate, limit)| rate / limit).collect(), 3);
        Self {
            tasks_per_s: Spread::of(rates, 0).median,
            limit_per_s: Spread::of(limits, 0).median,
            ratio: ratios.median,
            ratio_min: ratios.min,
            ratio_max: ratios.max,
        }
    }
}

/// A span of time beside another of the same run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Span {
    /// In milliseconds; the middle of the rounds.
    pub ms: f64,
    /// What it is set against; the middle of the rounds.
    pub limit_ms: f64,
    /// The first by the second, taken within each round; the middle of the rounds.
    pub ratio: f64,
    /// The smallest of these.
    pub ratio_min: f64,
    /// The largest of these.
    pub ratio_max: f64,
}

impl Span {
    /// Of the rounds' spans and what each is set against.
    pub(super) fn of(rounds: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (spans, limits): (Vec<f64>, Vec<f64>) = rounds.into_iter().unzip();
        let ratios = Spread::of(spans.iter().zip(&limits).map(|(span, limit)| span / limit).collect(), 3);
        Self {
            ms: Spread::of(spans, 4).median,
            limit_ms: Spread::of(limits, 4).median,
            ratio: ratios.median,
            ratio_min: ratios.min,
            ratio_max: ratios.max,
        }
    }
}

/// `value` to `digits` decimal places.
pub(super) fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

/// The value below which `share` of the sorted samples lie.
pub(super) fn percentile(sorted: &[f64], share: f64) -> f64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index of a short list"
    )]
    let at = ((sorted.len() as f64 * share).ceil() as usize).clamp(1, sorted.len().max(1)) - 1;
    sorted.get(at).copied().unwrap_or(f64::NAN)
}

/// `count` by the time since `start`.
pub(super) fn per_second(count: usize, start: Instant) -> f64 {
    as_f64(count) / start.elapsed().as_secs_f64()
}

/// A number of tasks, as a divisor.
#[expect(clippy::cast_precision_loss, reason = "a count far below 2^52")]
pub(super) const fn as_f64(count: usize) -> f64 {
    count as f64
}

/// Runs `work`, which does `count` things, and says how many a second.
pub(super) async fn rate_of(count: usize, work: impl Future<Output = Result<()>>) -> Result<f64> {
    let start = Instant::now();
    work.await?;
    Ok(per_second(count, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_samples() {
        let sorted: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(
            (percentile(&sorted, 0.5), percentile(&sorted, 0.99), percentile(&sorted, 1.0)),
            (50.0, 99.0, 100.0)
        );
        assert!(percentile(&[], 0.5).is_nan());
    }

    #[test]
    fn a_ratio_is_taken_within_its_round() {
        let rate = Rate::of([(10.0, 20.0), (300.0, 400.0), (20.0, 100.0)]);
        assert_eq!((rate.tasks_per_s, rate.limit_per_s), (20.0, 100.0));
        assert_eq!((rate.ratio, rate.ratio_min, rate.ratio_max), (0.5, 0.2, 0.75));
    }
}
