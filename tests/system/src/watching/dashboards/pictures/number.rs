//! Numbers with their units, as short as they may be.

/// A value in one of Grafana's units.
pub(super) fn text(value: f64, unit: &str) -> String {
    match unit {
        "s" => seconds(value),
        "ms" => seconds(value / 1e3),
        "percentunit" => format!("{} %", short(value * 100.0)),
        "bytes" => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB"]),
        _ => match unit.strip_prefix("suffix: ") {
            Some(word) => format!("{} {word}", short(value)),
            None => short(value),
        },
    }
}

fn seconds(value: f64) -> String {
    match value.abs() {
        0.0 => "0 s".to_owned(),
        ..1e-3 => format!("{} µs", short(value * 1e6)),
        ..1.0 => format!("{} ms", short(value * 1e3)),
        ..120.0 => format!("{} s", short(value)),
        ..7_200.0 => format!("{} min", short(value / 60.0)),
        _ => format!("{} h", short(value / 3_600.0)),
    }
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut units = units.iter();
    let mut unit = units.next();
    while value >= step
        && let Some(next) = units.next()
    {
        value /= step;
        unit = Some(next);
    }
    format!("{} {}", short(value), unit.unwrap_or(&""))
}

fn short(value: f64) -> String {
    let rounded = match value.abs() {
        ..1.0 => format!("{value:.2}"),
        ..10.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    };
    if rounded.contains('.') { rounded.trim_end_matches('0').trim_end_matches('.').to_owned() } else { rounded }
}

#[test]
fn a_number_is_written_in_the_unit_a_person_would_take() {
    for (value, unit, words) in [
        (0.0, "s", "0 s"),
        (0.004, "s", "4 ms"),
        (90_000.0, "ms", "90 s"),
        (0.756, "percentunit", "76 %"),
        (3.0 * 1024.0 * 1024.0, "bytes", "3 MiB"),
        (12.34, "suffix: tasks/s", "12 tasks/s"),
        (1.25, "short", "1.2"),
    ] {
        assert_eq!(text(value, unit), words);
    }
}
