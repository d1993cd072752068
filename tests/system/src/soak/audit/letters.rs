//! Whether each task that failed for good is one dead letter, and no other task is.

use super::{Books, Broken, Complaint, all};

pub(super) fn complaints(books: &Books) -> Vec<Complaint> {
    let letters = |id: &str| books.letters.get(id).copied().unwrap_or_default();
    let failed = |id: &String| books.tasks.get(id).is_some_and(|task| task.record.status == "failed");
    let lost = books.tasks.keys().filter(|id| failed(id) && letters(id) == 0);
    let lost = lost.map(|id| format!("{id} failed, and is no dead letter"));
    let doubled = books.letters.iter().filter(|(id, letters)| **letters > usize::from(failed(id)));
    let doubled = doubled.map(|(id, letters)| format!("{id} is {letters} dead letters: {:?}", books.tasks.get(id)));
    [all(Broken::Lost, lost), all(Broken::Doubled, doubled)].concat()
}
