//! Writes the end of a task as the script would, which takes it as it is (`scripts/lib/verbs/end_batches.lua`).

use jobbers_common::{payload::Payload, task::Fence, time::Timestamp};

use super::{
    layout::{CORE, ENDING, FRESH},
    record::{self, NOT_LINKED, SMALL, write_remains, write_stamp},
};

/// Where an ending begins that is written here: the script writes what comes before.
const WRITTEN_FROM: usize = ENDING.range("completed_at").end;

/// The record of a task that waits since its submission, and runs in a batch of leases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FreshRecord<'a> {
    bytes: &'a [u8],
    open_ends: usize,
}

impl<'a> FreshRecord<'a> {
    /// Reads a record. `None` unless it is a fresh one whose parameters are in it, and no other task waits for its end.
    pub(crate) fn new(bytes: &'a [u8]) -> Option<Self> {
        let core = bytes.get(FRESH.len()..FRESH.len() + CORE.len())?;
        let is_fresh = bytes[0] == record::FRESH_STATE;
        let is_plain =
            core[const { CORE.place("size") }] == SMALL && core[const { CORE.place("linked") }] == NOT_LINKED;
        let open = core[const { CORE.range("open_length") }].try_into().map(u16::from_be_bytes).ok()?;
        let open_ends = FRESH.len() + CORE.len() + usize::from(open);
        (is_fresh && is_plain && open_ends <= bytes.len()).then_some(Self { bytes, open_ends })
    }

    /// Its parameters.
    pub(crate) fn parameters(&self) -> &'a [u8] {
        &self.bytes[self.open_ends..]
    }

    /// Its record when it is completed, from `dead_letter` on, if `worker` ran it under `fence` since `started_at`. It keeps
    /// these of its parameters.
    pub(crate) fn completed(
        &self,
        worker: &str,
        fence: Fence,
        started_at: Timestamp,
        result: Option<&Payload>,
        parameters: &[u8],
    ) -> Vec<u8> {
        let submitted_at = &self.bytes[const { FRESH.len()..FRESH.len() + CORE.range("submitted_at").end }];
        let mut into = Vec::with_capacity(self.bytes.len() + ENDING.len() + worker.len() + 16);
        // No dead letter, ended by its worker.
        into.extend_from_slice(b"0S");
        into.extend_from_slice(format!("{:015}", fence.0).as_bytes());
        into.extend_from_slice(submitted_at);
        write_stamp(started_at, &mut into);
        into.extend_from_slice(&record::FIRST_ATTEMPT);
        into.push(u8::try_from(worker.len()).unwrap_or(u8::MAX));
        debug_assert_eq!(into.len(), ENDING.len() - WRITTEN_FROM, "the fields of an ending");
        into.extend_from_slice(&self.bytes[FRESH.len()..self.open_ends]);
        write_remains(result, parameters, &mut into);
        into.extend_from_slice(worker.as_bytes());
        into
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::{
        lifecycle::Status,
        name::{QueueName, TaskId, TaskName},
        task::NewTask,
    };

    use super::*;
    use crate::redis::kernel::record::{Record, encode};

    #[test]
    fn an_ending_reads_back() {
        let new = NewTask::new(
            TaskId::new("a").unwrap(),
            TaskName::new("resize").unwrap(),
            QueueName::new("images").unwrap(),
            Payload::json(&b"{\"n\":1}"[..]),
        );
        let submitted_at = Timestamp::from_micros(1_700_000_000_000_001);
        let started_at = Timestamp::from_micros(1_700_000_000_000_007);
        let mut bytes = b"N000000000000017".to_vec();
        write_stamp(submitted_at, &mut bytes);
        encode(&new, &mut bytes).unwrap();
        let fresh = FreshRecord::new(&bytes).unwrap();
        assert_eq!(fresh.parameters(), b"{\"n\":1}");
        for kept in [&b""[..], fresh.parameters()] {
            for result in [None, Some(Payload::json(&b"[2]"[..]))] {
                let mut ending = b"4000000000000042".to_vec();
                write_stamp(Timestamp::from_micros(1_700_000_000_000_009), &mut ending);
                ending.extend(fresh.completed("w1", Fence(23), started_at, result.as_ref(), kept));
                let read = Record::decode(ending).unwrap();
                assert_eq!(
                    (read.submitted_at, read.name, read.queue),
                    (submitted_at, new.name.clone(), new.queue.clone())
                );
                assert_eq!((&read.parameters.bytes[..], read.result), (kept, result));
                let standing = read.standing;
                assert_eq!((standing.status, standing.revision, standing.attempt), (Status::Completed, 42, 1));
                assert_eq!((standing.ready_at, standing.started_at), (submitted_at, Some(started_at)));
                assert_eq!(standing.worker.unwrap().as_str(), "w1");
            }
        }
    }

    #[test]
    fn only_a_plain_fresh_record_is_taken() {
        let new = NewTask::new(
            TaskId::new("a").unwrap(),
            TaskName::new("resize").unwrap(),
            QueueName::new("images").unwrap(),
            Payload::json(&b"{}"[..]),
        );
        let mut bytes = b"N000000000000017".to_vec();
        write_stamp(Timestamp::from_micros(1), &mut bytes);
        encode(&new, &mut bytes).unwrap();
        let with = |at: usize, byte: u8| {
            let mut other = bytes.clone();
            other[at] = byte;
            FreshRecord::new(&other).is_some()
        };
        assert!(with(0, b'N'), "as it is");
        assert!(!with(0, b'3'), "one that has a lease of its own");
        assert!(!with(FRESH.len() + CORE.place("size"), b'L'), "its parameters are elsewhere");
        assert!(!with(FRESH.len() + CORE.place("linked"), b'1'), "another waits for it");
        for length in 0..bytes.len() - 2 {
            assert!(FreshRecord::new(&bytes[..length]).is_none(), "cut at {length}");
        }
    }
}
