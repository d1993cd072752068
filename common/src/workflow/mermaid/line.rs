//! The marks that an arrow is drawn with, and the policy that they stand for.

use crate::dependency::DependencyPolicy;

/// How an arrow is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineStyle {
    /// `-->`
    Solid,
    /// `-.->`
    Dotted,
    /// `==>`
    Thick,
    /// `~~~`
    Invisible,
}

impl LineStyle {
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
pub(super) enum ArrowPart {
    /// All of it.
    Whole(LineStyle, usize),
    /// What comes before a text within it.
    Opening(LineStyle, usize),
}

/// Whether an arrow begins a text, perhaps with a head on its left.
pub(super) fn begins(text: &str) -> bool {
    part(text.strip_prefix(['x', 'o', '<']).unwrap_or(text)).is_some() || part(text).is_some()
}

/// The part of an arrow that a text without a head on the left begins with, and its bytes.
pub(super) fn part(text: &str) -> Option<ArrowPart> {
    let run = |from: usize, mark: u8| text.as_bytes()[from..].iter().take_while(|byte| **byte == mark).count();
    let headed = |end: usize| text[end..].starts_with(['x', 'o', '>']);
    for (mark, line) in [(b'-', LineStyle::Solid), (b'=', LineStyle::Thick)] {
        match run(0, mark) {
            0 | 1 => {}
            marks if headed(marks) => return Some(ArrowPart::Whole(line, marks + 1)),
            2 => return Some(ArrowPart::Opening(line, 2)),
            marks => return Some(ArrowPart::Whole(line, marks)),
        }
    }
    let dash = usize::from(text.starts_with('-'));
    let dots = run(dash, b'.');
    let end = dash + dots + 1;
    if dots > 0 && text[dash + dots..].starts_with('-') {
        return Some(ArrowPart::Whole(LineStyle::Dotted, end + usize::from(headed(end))));
    }
    if dash == 1 && dots > 0 {
        return Some(ArrowPart::Opening(LineStyle::Dotted, 2));
    }
    let waves = run(0, b'~');
    (waves >= 3).then_some(ArrowPart::Whole(LineStyle::Invisible, waves))
}
