//! `docs/runbook.md` as a dashboard, so that the operator finds it one click from the panels, without another server.

use serde_json::{Value, json};

use crate::grafana::{Grid, frame};

/// Of one section: a line of prose takes about this many rows of the grid.
const LINES_PER_ROW: usize = 2;

/// The runbook's sections (its `## ` headings) as text panels.
#[must_use]
pub fn model(markdown: &str) -> Value {
    let mut grid = Grid::default();
    let panels = sections(markdown).into_iter().enumerate().map(|(index, (title, text))| {
        let lines = text.lines().map(|line| 1 + line.len() / 140).sum::<usize>();
        let height = u32::try_from(3 + lines / LINES_PER_ROW).unwrap_or(u32::MAX);
        json!({
            "id": index + 1,
            "type": "text",
            "title": title,
            "description": "A section of docs/runbook.md",
            "gridPos": grid.full_line(height),
            "options": {"mode": "markdown", "content": text.trim()},
        })
    });
    let about = "What each alert means, where to look, and what to do: docs/runbook.md";
    frame("runbook", "Runbook", about, &[], &panels.collect::<Vec<_>>())
}

/// Each `## ` heading and the text below it; the text above the first one is the preface.
#[must_use]
pub fn sections(markdown: &str) -> Vec<(String, String)> {
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in markdown.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push((title.to_owned(), String::new()));
        } else if let Some((_, text)) = sections.last_mut() {
            text.push_str(line);
            text.push('\n');
        }
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_runs_to_the_next_heading_of_its_depth() {
        let found = sections("# Top\n\nintro\n\n## One\na\n### deeper\nb\n## Two\nc\n");
        let expected = [("One", "a\n### deeper\nb\n"), ("Two", "c\n")];
        assert_eq!(found, expected.map(|(title, text)| (title.to_owned(), text.to_owned())));
    }
}
