//! The history of queues, as scripts count it (`scripts/lib/follow/history/history.lua`).

use std::collections::BTreeMap;

use jobbers_common::{
    engine::{Error, Result},
    history::{Counts, Grain, History, Slot, Times, validate_history},
    name::QueueName,
    time::Timestamp,
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        layout::history::{FIRST_SLOT, RAN, SLOT_WORDS, WAITED, WORD_BYTES},
        reply::{array, bytes},
        script,
        values::time,
    },
    server::{failure::malformed, store::Store},
};

/// Minutes in an hour.
const MINUTES: i64 = 60;

/// The history of queues, in the order given.
pub(crate) async fn read(store: &Store, queues: &[QueueName], by: Grain) -> Result<History> {
    validate_history(queues.len())?;
    let add = |command: &mut Cmd| {
        command.arg(u8::from(by == Grain::Hour));
        queues.iter().for_each(|queue| {
            command.arg(queue.as_str());
        });
    };
    let mut answer = array(store.run(&store.bulk, &script::HISTORY, add).await?)?.into_iter();
    let now = time(&bytes(answer.next().unwrap_or(Value::Nil))?)?;
    let queues = answer.map(|stored| slots_of(stored, by, now)).collect::<Result<_>>()?;
    Ok(History { now, queues })
}

/// The slots that are kept of one queue.
fn slots_of(stored: Value, by: Grain, now: Timestamp) -> Result<Vec<Slot>> {
    let mut stored = array(stored)?.into_iter();
    let words = words_of(&bytes(stored.next().ok_or_else(|| malformed("expected a history"))?)?);
    let mut slots = BTreeMap::new();
    let open_hour = words.first().copied().unwrap_or_default().cast_signed();
    for minute in words.get(FIRST_SLOT..).unwrap_or_default().chunks_exact(SLOT_WORDS) {
        let (number, counts) = (minute[0].cast_signed(), counts_of(&minute[1..]));
        match by {
            Grain::Minute => drop(slots.insert(number, (counts, [Times::default(); 2]))),
            Grain::Hour if number / MINUTES == open_hour => add(&mut slots, open_hour, counts, [Times::default(); 2]),
            Grain::Hour => {}
        }
    }
    if by == Grain::Hour && open_hour > 0 {
        add(&mut slots, open_hour, Counts::default(), [times_of(&words, WAITED), times_of(&words, RAN)]);
    }
    for record in stored {
        let record: Vec<u64> = rmp_serde::from_slice(&bytes(record)?)
            .map_err(|error| Error::Corrupt(format!("an hour of a queue's history can't be read: {error}")))?;
        // The hour, the counts, and the words of the header behind its hour.
        let times = record.get(SLOT_WORDS - 1..).unwrap_or_default();
        let counts = counts_of(record.get(1..).unwrap_or_default());
        add(
            &mut slots,
            record.first().copied().unwrap_or_default().cast_signed(),
            counts,
            [times_of(times, WAITED), times_of(times, RAN)],
        );
    }
    let kept = slots.range(by.first_kept(now)..=by.number_at(now));
    let slot = |(number, (counts, [waited, ran])): (&i64, &(Counts, [Times; 2]))| Slot {
        at: by.begin_of(*number),
        counts: *counts,
        waited: *waited,
        ran: *ran,
    };
    Ok(kept.map(slot).filter(|slot| *slot != Slot::empty(slot.at)).collect())
}

type Slots = BTreeMap<i64, (Counts, [Times; 2])>;

fn add(slots: &mut Slots, number: i64, counts: Counts, [waited, ran]: [Times; 2]) {
    let (sum, [all_waited, all_ran]) = slots.entry(number).or_default();
    sum.add(counts);
    all_waited.add(&waited);
    all_ran.add(&ran);
}

fn words_of(stored: &[u8]) -> Vec<u64> {
    let words = stored.chunks_exact(WORD_BYTES);
    words.map(|word| word.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))).collect()
}

fn counts_of(words: &[u64]) -> Counts {
    let mut counts = [0; Counts::LEN];
    counts.iter_mut().zip(words).for_each(|(count, word)| *count = *word);
    Counts::from_array(counts)
}

fn times_of(words: &[u64], first: usize) -> Times {
    let mut times = Times::default();
    times.0.iter_mut().zip(words.get(first..).unwrap_or_default()).for_each(|(tasks, word)| *tasks = *word);
    times
}
