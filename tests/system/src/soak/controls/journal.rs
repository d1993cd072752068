//! A line taken out of a journal.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{Broken, Kind, Trial, boards, letters, tasks, workflows};
use crate::soak::journal;

on_both_engines!(a_journal_without_a_line_is_noticed);

/// The journal without its first line of this kind that has these words: as it is then, and with a last line that fits what
/// is left.
fn without(journal: &str, kind: &str, words: &str) -> (String, String) {
    let is_meant = |line: &&str| line.contains(&format!("\"kind\":\"{kind}\"")) && line.contains(words);
    let removed = journal.lines().find(is_meant).unwrap_or_else(|| panic!("no {kind} with {words} in\n{journal}"));
    let cut = journal.replacen(&format!("{removed}\n"), "", 1);
    let (body, last) = cut.trim_end().rsplit_once('\n').unwrap();
    let body = format!("{body}\n");
    let mut last: Value = serde_json::from_str(last).unwrap();
    last["counts"][kind] = json!(last["counts"][kind].as_u64().unwrap() - 1);
    let digest = Sha256::digest(body.as_bytes());
    last["digest"] = digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into();
    (cut, format!("{body}{last}\n"))
}

async fn a_journal_without_a_line_is_noticed(kind: Kind) {
    let trial = Trial::on(kind).await;
    tasks::batch(&trial.world, 0, &["quick", "nap", "panicky", "letter"]).await;
    workflows::one(&trial.world, 0, "run", 2).await;
    for n in 0..2 {
        boards::post(&trial.world, 0, 1, boards::GROUP, &format!("data-{n}")).await.unwrap();
    }
    trial.has_no_complaint().await;
    letters::send_all_again(&trial.world, 0, &mut std::collections::BTreeSet::new()).await;
    trial.has_no_complaint().await;
    let path = journal::export(&trial.fleet).await;
    let imported = async || journal::complaints_of_its_import(&path, &trial.world, &trial.fleet).await;
    assert_eq!(imported().await, Ok(Vec::new()));

    let whole = std::fs::read_to_string(&path).unwrap();
    for (kind, words) in [("task", "\"quick.0.0\""), ("dead_letter", "panicky.0.2"), ("board_task", "")] {
        let (cut, sealed) = without(&whole, kind, words);
        std::fs::write(&path, cut).unwrap();
        assert!(imported().await.is_err(), "a journal that was cut is refused");
        // With a last line that fits, only the ledger can know.
        std::fs::write(&path, sealed).unwrap();
        let complaints = imported().await.unwrap();
        assert!(complaints.iter().any(|complaint| complaint.broken == Broken::Lost), "{kind}: {complaints:#?}");
    }
}
