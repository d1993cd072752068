//! Draws panels as SVG.

use std::{collections::BTreeMap, error::Error, path::Path};

use jobbers_test_support::prometheus::Series;
use plotters::{
    coord::Shift,
    prelude::*,
    style::text_anchor::{HPos, Pos, VPos},
};

use super::{Shown, name, number, table};

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn Error>>;

/// Pixels of a column and of a row of the grid.
const COLUMN: u32 = 58;
const ROW: u32 = 34;
/// Pixels around a panel.
const GAP: u32 = 4;
const BACK: RGBColor = RGBColor(244, 245, 245);
const INK: RGBColor = RGBColor(36, 41, 46);
const PALE: RGBColor = RGBColor(110, 118, 126);
const GRID: RGBColor = RGBColor(228, 231, 235);
/// Distinct on white, also for most of those who see few colours.
const LINES: [RGBColor; 9] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
    RGBColor(120, 94, 240),
    RGBColor(170, 68, 85),
    RGBColor(102, 102, 102),
];
/// Series that are named below a panel; more would not be readable.
const NAMED: usize = 6;

/// Draws a dashboard.
pub(super) fn dashboard(path: &Path, shown: &[Shown]) -> Drawn {
    let rows = shown.iter().map(|panel| panel.place[1] + panel.place[3]).max().unwrap_or(1);
    let area = SVGBackend::new(path, (24 * COLUMN, rows * ROW)).into_drawing_area();
    area.fill(&BACK)?;
    for panel in shown {
        let [x, y, w, h] = panel.place;
        let left = i32::try_from(x * COLUMN)?;
        let top = i32::try_from(y * ROW)?;
        one(panel, &area.clone().shrink((left, top), (w * COLUMN, h * ROW)))?;
    }
    area.present()?;
    Ok(())
}

fn words(size: u32, colour: RGBColor) -> TextStyle<'static> {
    ("sans-serif", size).into_font().color(&colour)
}

/// The size, at most `most`, in which a text is no wider than this.
fn size_within(width: u32, text: &str, most: u32, area: &Area<'_>) -> Result<u32, Box<dyn Error>> {
    let (needed, _) = area.estimate_text_size(text, &words(most, INK))?;
    Ok(if needed > width { most * width / needed } else { most })
}

fn one(panel: &Shown, area: &Area<'_>) -> Drawn {
    if panel.kind == "row" {
        area.draw_text(&panel.title, &words(17, INK), (8, 9))?;
        return Ok(());
    }
    let inner = area.margin(GAP, GAP, GAP, GAP);
    inner.fill(&WHITE)?;
    inner.draw_text(&panel.title, &words(14, INK), (10, 8))?;
    let body = inner.margin(30, 6, 10, 10);
    match panel.kind.as_str() {
        "stat" => stat(panel, &body),
        "table" => table(panel, &body),
        "heatmap" => heatmap(panel, &body),
        _ => lines(panel, &body),
    }
}

/// All series of a panel with their names.
fn named(panel: &Shown) -> impl Iterator<Item = (String, &Series)> {
    panel.queries.iter().flat_map(|query| query.series.iter().map(|series| (name(&query.legend, series), series)))
}

/// The colour of the last step that `value` has reached.
fn colour(steps: &[(f64, String)], value: f64) -> Option<RGBColor> {
    let reached = steps.iter().rfind(|(from, _)| value >= *from)?;
    Some(match reached.1.as_str() {
        "green" => RGBColor(38, 127, 64),
        "orange" => RGBColor(201, 96, 0),
        "red" => RGBColor(196, 22, 42),
        _ => RGBColor(0, 114, 178),
    })
}

fn stat(panel: &Shown, area: &Area<'_>) -> Drawn {
    let values: Vec<(String, f64)> =
        named(panel).filter_map(|(name, series)| Some((name, series.points.last()?.1))).collect();
    if values.is_empty() {
        return nothing(area);
    }
    let (width, height) = area.dim_in_pixel();
    let share = i32::try_from(height)? / i32::try_from(values.len())?;
    let size = if values.len() == 1 { 30 } else { 16 };
    for (index, (name, value)) in values.iter().enumerate() {
        let word = panel.words.iter().find(|(of, _)| of == value);
        let text = word.map_or_else(|| number::text(*value, &panel.unit), |(_, word)| word.clone());
        let ink = colour(&panel.colours, *value).unwrap_or(RGBColor(0, 114, 178));
        let text = format!("{name}  {text}");
        let size = size_within(width, text.trim(), size, area)?;
        let middle = words(size, ink).pos(Pos::new(HPos::Center, VPos::Center));
        let y = share * i32::try_from(index)? + share / 2;
        area.draw_text(text.trim(), &middle, (i32::try_from(width)? / 2, y))?;
    }
    Ok(())
}

/// A line per label set, a column per query.
fn table(panel: &Shown, area: &Area<'_>) -> Drawn {
    let rows = table::rows(panel);
    let labels = table::labels(panel);
    let (width, height) = area.dim_in_pixel();
    let width = i32::try_from(width)?;
    // A label that is a sentence needs most of the room.
    let weight = |label: &String| if label == "why" { 8 } else { 3 };
    let columns: Vec<i32> = labels.iter().map(weight).chain(panel.queries.iter().map(|_| 2)).collect();
    let all: i32 = columns.iter().sum();
    let edge = |index: usize| width * columns[..index].iter().sum::<i32>() / all;
    let headings = labels.iter().cloned().chain(panel.queries.iter().map(|query| query.legend.clone()));
    for (index, heading) in headings.enumerate() {
        let size = size_within(u32::try_from(edge(index + 1) - edge(index) - 6)?, &heading, 12, area)?;
        area.draw_text(&heading, &words(size, PALE), (edge(index), 0))?;
    }
    let room = usize::try_from(height)?.saturating_sub(20) / 18;
    if rows.is_empty() {
        return nothing(area);
    }
    for (line, (key, values)) in rows.iter().enumerate().take(room) {
        let y = 20 + 18 * i32::try_from(line)?;
        if line + 1 == room && rows.len() > room {
            area.draw_text(&format!("and {} more", rows.len() - line), &words(12, PALE), (0, y))?;
            break;
        }
        for (index, cell) in key.iter().enumerate() {
            area.draw_text(cell, &words(12, INK), (edge(index), y))?;
        }
        for (index, (value, query)) in values.iter().zip(&panel.queries).enumerate() {
            let Some(value) = value else { continue };
            let ink = colour(&query.colours, *value).unwrap_or(INK);
            area.draw_text(&number::text(*value, &query.unit), &words(12, ink), (edge(key.len() + index), y))?;
        }
    }
    Ok(())
}

/// The span of time of all points, from 0, and the greatest value.
fn bounds(panel: &Shown) -> Option<(f64, f64, f64)> {
    let points = || panel.queries.iter().flat_map(|query| &query.series).flat_map(|series| &series.points);
    let first = points().map(|point| point.0).min_by(f64::total_cmp)?;
    let last = points().map(|point| point.0).max_by(f64::total_cmp)?;
    let top = points().map(|point| point.1).max_by(f64::total_cmp)?;
    Some((first, (last - first).max(1.0), if top > 0.0 { top * 1.08 } else { 1.0 }))
}

fn nothing(area: &Area<'_>) -> Drawn {
    area.draw_text("no data", &words(13, PALE), (10, 10))?;
    Ok(())
}

fn lines(panel: &Shown, area: &Area<'_>) -> Drawn {
    let Some((first, span, top)) = bounds(panel) else { return nothing(area) };
    let all: Vec<(String, &Series)> = named(panel).filter(|(_, series)| !series.points.is_empty()).collect();
    let legend = i32::try_from(all.len().min(NAMED).div_ceil(2) * 16 + 4)?;
    let (width, height) = area.dim_in_pixel();
    let (plot, below) = area.split_vertically(i32::try_from(height)? - legend);
    let mut chart =
        ChartBuilder::on(&plot).x_label_area_size(18).y_label_area_size(66).build_cartesian_2d(0.0..span, 0.0..top)?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(GRID)
        .x_labels(6)
        .y_labels(4)
        .x_label_formatter(&|x| format!("{x:.0} s"))
        .y_label_formatter(&|y| number::text(*y, &panel.unit))
        .label_style(words(11, PALE))
        .draw()?;
    for (index, (name, series)) in all.iter().enumerate() {
        let colour = LINES[index % LINES.len()];
        // A gap in the points is a gap in the line.
        for run in series.points.chunk_by(|a, b| b.0 - a.0 < 1.5) {
            let points: Vec<(f64, f64)> = run.iter().map(|(at, value)| (at - first, *value)).collect();
            if let [alone] = points.as_slice() {
                chart.draw_series([Circle::new(*alone, 1, colour.filled())])?;
            }
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        }
        if index < NAMED {
            let x = i32::try_from(width)? / 2 * i32::try_from(index % 2)? + 8;
            let y = i32::try_from(index / 2)? * 16 + 4;
            below.draw(&Rectangle::new([(x, y + 3), (x + 10, y + 7)], colour.filled()))?;
            let most = usize::try_from(width)? / 2 / 7;
            let name: String = if name.is_empty() { panel.title.clone() } else { name.chars().take(most).collect() };
            below.draw_text(&name, &words(11, INK), (x + 15, y))?;
        }
    }
    Ok(())
}

/// Buckets from below upwards, a cell per second, the darker the more.
fn heatmap(panel: &Shown, area: &Area<'_>) -> Drawn {
    let mut buckets: Vec<(f64, &Series)> = panel
        .queries
        .iter()
        .flat_map(|query| &query.series)
        .filter_map(|series| Some((series.label("le").replace("+Inf", "inf").parse().ok()?, series)))
        .collect();
    buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
    let Some((first, span, _)) = bounds(panel) else { return nothing(area) };
    let mut counts: BTreeMap<(i64, usize), f64> = BTreeMap::new();
    for (row, (_, series)) in buckets.iter().enumerate() {
        for (at, value) in &series.points {
            #[expect(clippy::cast_possible_truncation, reason = "seconds of a run")]
            let second = (at - first) as i64;
            // Buckets are cumulative.
            let below = row.checked_sub(1).and_then(|row| buckets[row].1.points.iter().find(|point| point.0 == *at));
            counts.insert((second, row), value - below.map_or(0.0, |point| point.1));
        }
    }
    let most = counts.values().copied().fold(0.0, f64::max).max(1e-9);
    let rows = f64::from(u32::try_from(buckets.len())?);
    let mut chart =
        ChartBuilder::on(area).x_label_area_size(18).y_label_area_size(66).build_cartesian_2d(0.0..span, 0.0..rows)?;
    let label = |y: &f64| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the number of a bucket")]
        let bound = buckets.get(*y as usize).map_or(f64::INFINITY, |bucket| bucket.0);
        if bound.is_finite() { number::text(bound, &panel.unit) } else { "more".to_owned() }
    };
    chart
        .configure_mesh()
        .disable_mesh()
        .axis_style(GRID)
        .x_labels(6)
        .y_labels(8)
        .x_label_formatter(&|x| format!("{x:.0} s"))
        .y_label_formatter(&label)
        .label_style(words(11, PALE))
        .draw()?;
    let cells = counts.iter().filter(|(_, count)| **count > 1e-6).map(|((second, row), count)| {
        #[expect(clippy::cast_precision_loss, reason = "seconds of a run")]
        let x = *second as f64;
        let y = f64::from(u32::try_from(*row).unwrap_or_default());
        Rectangle::new(
            [(x, y), (x + 1.0, y + 1.0)],
            RGBColor(213, 94, 0).mix(0.15 + 0.85 * (count / most).sqrt()).filled(),
        )
    });
    chart.draw_series(cells)?;
    Ok(())
}
