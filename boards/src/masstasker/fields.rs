//! What the fields of a message take in memory, counted as its bytes arrive: two bytes may be a task, which takes a hundred
//! times as much. The shapes are those of `proto/masstasker.proto`; whether a message makes sense is seen when it is decoded.

use jobbers_common::engine::boards::validate::validate_changes;
use tonic::Status;

use super::proto::{Task, TaskRef};

/// Bytes before a message: whether it is compressed, and its length.
const PREFIX: u64 = 5;
/// Most bytes of a number.
const VARINT: u8 = 10;

/// What a field takes, and what is within it.
struct FieldShape {
    /// For each time that it occurs.
    bytes: usize,
    /// For each byte within it: numbers of a list need not have tags of their own.
    bytes_per_byte: usize,
    /// Its own fields that take memory, by number.
    within: &'static [(u64, Self)],
}

const fn shape(bytes: usize, within: &'static [(u64, FieldShape)]) -> FieldShape {
    FieldShape { bytes, bytes_per_byte: 0, within }
}

/// A label: two texts with their allocations, and its room in a map.
const LABEL: FieldShape = shape(192, &[]);
const TASK: FieldShape = shape(2 * size_of::<Task>(), &[(4, LABEL)]);
const SELECTOR: FieldShape = shape(64, &[(1, LABEL)]);
const REFERENCE: FieldShape = shape(2 * size_of::<TaskRef>(), &[(2, SELECTOR)]);
const REVISIONS: FieldShape = FieldShape { bytes: 16, bytes_per_byte: 16, within: &[] };
static UPDATE: FieldShape = shape(0, &[(1, TASK), (2, REFERENCE), (3, REVISIONS)]);
static BULK_SET: FieldShape = shape(0, &[(1, REFERENCE), (2, TASK)]);
static OTHER: FieldShape = shape(0, &[]);

/// Reads the tags of a message, in pieces of any length.
pub(super) struct Fields {
    at: u64,
    /// The messages that are open: where each ends, the outermost first.
    open: Vec<(u64, &'static FieldShape)>,
    next: NextToken,
    number: u64,
    digits: u8,
    changes: usize,
}

/// What comes next.
#[derive(Clone, Copy)]
enum NextToken {
    Tag,
    /// A number that is a value, and not looked at.
    Value,
    /// The length of this field.
    Length(u64),
    /// Bytes up to here, which are passed over.
    Skipped(u64),
}

impl Fields {
    /// Of the message of a call.
    pub(super) fn of(path: &str) -> Self {
        let shape = match path.rsplit('/').next() {
            Some("Update") => &UPDATE,
            Some("BulkSet") => &BULK_SET,
            _ => &OTHER,
        };
        Self {
            at: 0,
            open: vec![(u64::MAX, shape)],
            next: NextToken::Skipped(PREFIX),
            number: 0,
            digits: 0,
            changes: 0,
        }
    }

    /// What the fields of the next bytes take.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` when more tasks are named than a step may change.
    pub(super) fn count(&mut self, mut bytes: &[u8]) -> Result<usize, Status> {
        let mut sum = 0_usize;
        while let Some((first, rest)) = bytes.split_first() {
            if let NextToken::Skipped(end) = self.next {
                let skipped = usize::try_from(end - self.at).map_or(bytes.len(), |left| left.min(bytes.len()));
                bytes = &bytes[skipped..];
                self.at += skipped as u64;
            } else {
                bytes = rest;
                self.at += 1;
                sum = sum.saturating_add(self.digit(*first)?);
            }
            self.close();
        }
        Ok(sum)
    }

    /// Takes the next seven bits of a number.
    fn digit(&mut self, byte: u8) -> Result<usize, Status> {
        self.number |= u64::from(byte & 0x7f).checked_shl(u32::from(self.digits) * 7).unwrap_or(0);
        self.digits += 1;
        if byte & 0x80 != 0 && self.digits < VARINT {
            return Ok(0);
        }
        let number = std::mem::take(&mut self.number);
        self.digits = 0;
        let (field, kind) = (number >> 3, number & 7);
        let (next, bytes) = match (self.next, kind) {
            (NextToken::Length(field), _) => return self.begin(field, number),
            (NextToken::Value, _) => (NextToken::Tag, 0),
            (_, 0) => (NextToken::Value, self.within(field).map_or(0, |shape| shape.bytes)),
            (_, 1) => (NextToken::Skipped(self.at.saturating_add(8)), 0),
            (_, 2) => (NextToken::Length(field), 0),
            (_, 5) => (NextToken::Skipped(self.at.saturating_add(4)), 0),
            // This is no message, and is refused when it is decoded.
            _ => (NextToken::Skipped(u64::MAX), 0),
        };
        self.next = next;
        Ok(bytes)
    }

    fn within(&self, field: u64) -> Option<&'static FieldShape> {
        let (_, shape) = self.open.last()?;
        shape.within.iter().find(|(number, _)| *number == field).map(|(_, shape)| shape)
    }

    /// A field of this length begins.
    fn begin(&mut self, field: u64, length: u64) -> Result<usize, Status> {
        let end = self.at.saturating_add(length);
        self.next = NextToken::Skipped(end);
        let Some(shape) = self.within(field) else { return Ok(0) };
        if self.open.len() == 1 && shape.bytes_per_byte == 0 {
            self.changes += 1;
            validate_changes(self.changes).map_err(|error| Status::invalid_argument(error.to_string()))?;
        }
        if !shape.within.is_empty() {
            self.open.push((end, shape));
            self.next = NextToken::Tag;
        }
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        Ok(shape.bytes.saturating_add(shape.bytes_per_byte.saturating_mul(length)))
    }

    /// Closes what ends here.
    fn close(&mut self) {
        if matches!(self.next, NextToken::Skipped(end) if end <= self.at) {
            self.next = NextToken::Tag;
        }
        while self.open.len() > 1 && self.open.last().is_some_and(|(end, _)| *end <= self.at) {
            self.open.pop();
            self.next = NextToken::Tag;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use jobbers_common::limits::MAX_BOARD_CHANGES;
    use prost::Message;

    use super::*;
    use crate::masstasker::proto::{BulkSetRequest, LabelSelector, UpdateRequest, task_ref::Sel};

    fn framed(message: &impl Message) -> Vec<u8> {
        let body = message.encode_to_vec();
        let mut bytes = vec![0];
        bytes.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        bytes.extend(body);
        bytes
    }

    /// The sum over pieces of each length is that of the whole.
    fn counted(path: &str, message: &impl Message) -> usize {
        let bytes = framed(message);
        let whole = Fields::of(path).count(&bytes).unwrap();
        for length in 1..20 {
            let mut fields = Fields::of(path);
            let sum: usize = bytes.chunks(length).map(|piece| fields.count(piece).unwrap()).sum();
            assert_eq!(sum, whole, "in pieces of {length}");
        }
        whole
    }

    fn labels(count: usize) -> BTreeMap<String, String> {
        (0..count).map(|n| (n.to_string(), "1".repeat(n % 3))).collect()
    }

    #[test]
    fn every_task_reference_and_label_counts() {
        let task = Task { group: "g".to_owned(), labels: labels(5), id: 7, ..Task::default() };
        let selected = TaskRef { sel: Some(Sel::Selector(LabelSelector { labels: labels(3) })) };
        let named = TaskRef { sel: Some(Sel::Id(1 << 40)) };
        let update = UpdateRequest {
            created: vec![task.clone(), Task::default()],
            deleted: vec![selected.clone(), named.clone()],
            predicates: (0..100).collect(),
        };
        let (tasks, references) =
            (2 * TASK.bytes + 5 * LABEL.bytes, 2 * REFERENCE.bytes + SELECTOR.bytes + 3 * LABEL.bytes);
        assert_eq!(counted("/masstasker.MassTasker/Update", &update), tasks + references + 16 + 100 * 16);
        let bulk = BulkSetRequest { r#ref: vec![selected, named], prototype: Some(task) };
        assert_eq!(counted("/masstasker.MassTasker/BulkSet", &bulk), references + TASK.bytes + 5 * LABEL.bytes);
        assert_eq!(counted("/masstasker.MassTasker/Query", &update), 0);
    }

    #[test]
    fn more_changes_than_a_step_may_make_are_refused_as_they_arrive() {
        let update = |count| UpdateRequest { created: vec![Task::default(); count], ..UpdateRequest::default() };
        let path = "/masstasker.MassTasker/Update";
        assert!(Fields::of(path).count(&framed(&update(MAX_BOARD_CHANGES))).is_ok());
        let refused = Fields::of(path).count(&framed(&update(MAX_BOARD_CHANGES + 1))).unwrap_err();
        assert_eq!(refused.code(), tonic::Code::InvalidArgument);
    }

    #[test]
    fn a_field_counts_by_the_length_that_it_claims_however_long() {
        // A list of revisions of 2^63 bytes.
        let mut bytes = vec![0; 5];
        bytes.push(3 << 3 | 2);
        bytes.extend([0x80; 9]);
        bytes.push(1);
        assert_eq!(Fields::of("/masstasker.MassTasker/Update").count(&bytes).unwrap(), usize::MAX);
    }

    #[test]
    fn any_bytes_are_read_to_their_end() {
        let mut state = 1_u64;
        for _ in 0..2_000 {
            let bytes: Vec<u8> = (0..40)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    (state >> 33) as u8
                })
                .collect();
            let mut fields = Fields::of("/masstasker.MassTasker/Update");
            assert!(fields.count(&bytes).is_ok());
            assert_eq!(fields.at, 40);
        }
    }
}
