//! The marks that an arrow is drawn with, and the policy that they stand for.

use crate::dependency::DependencyPolicy;

/// How an arrow is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line {
    /// `-->`
    Solid,
    /// `-.->`
    Dotted,
    /// `==>`
    Thick,
    /// `~~~`
    Invisible,
}

impl Line {
    /// What it means for the task after it; `None` if it only places a node.
    pub(super) const fn policy(self) -> Option<DependencyPolicy> {
        match self {
            Self::Solid => Some(DependencyPolicy::AbortSuccessors),
            Self::Dotted => Some(DependencyPolicy::RunOnError),
            Self::Thick => Some(DependencyPolicy::RunWithFailures),
            Self::Invisible => None,
        }
    }
}

/// A part of an arrow.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// All of it.
    Whole(Line, usize),
    /// What comes before a text within it.
    Opening(Line, usize),
}

/// Whether an arrow begins a text, perhaps with a head on its left.
pub(super) fn begins(text: &str) -> bool {
    part(text.strip_prefix(['x', 'o', '<']).unwrap_or(text)).is_some() || part(text).is_some()
}

/// The part of an arrow that a text without a head on the left begins with, and its bytes.
pub(super) fn part(text: &str) -> Option<Part> {
    let run = |from: usize, mark: u8| text.as_bytes()[from..].iter().take_while(|byte| **byte == mark).count();
    let headed = |end: usize| text[end..].starts_with(['x', 'o', '>']);
    for (mark, line) in [(b'-', Line::Solid), (b'=', Line::Thick)] {
        match run(0, mark) {
            0 | 1 => {}
            marks if headed(marks) => return Some(Part::Whole(line, marks + 1)),
            2 => return Some(Part::Opening(line, 2)),
            marks => return Some(Part::Whole(line, marks)),
        }
    }
    let dash = usize::from(text.starts_with('-'));
    let dots = run(dash, b'.');
    let end = dash + dots + 1;
    if dots > 0 && text[dash + dots..].starts_with('-') {
        return Some(Part::Whole(Line::Dotted, end + usize::from(headed(end))));
    }
    if dash == 1 && dots > 0 {
        return Some(Part::Opening(Line::Dotted, 2));
    }
    let waves = run(0, b'~');
    (waves >= 3).then_some(Part::Whole(Line::Invisible, waves))
}
