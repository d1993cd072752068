//! Duties: who holds them, and until when. A holder that renews its duty unchanged writes nothing (`heartbeats.rs`).

use jobbers_common::{
    engine::{Duty, DutyClaim, Error, Result},
    name::{DutyName, HolderId},
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        layout::DUTY,
        reply::{digits, text, tuple},
        script,
        values::{micros, time},
    },
    server::store::Store,
};

/// Takes or renews a duty.
pub(crate) async fn claim(store: &Store, claim: &DutyClaim) -> Result<Duty> {
    claim.validate()?;
    let DutyClaim { duty, holder, note, ttl } = claim;
    let record = record(duty, holder);
    let beating = store.beating(&record);
    let add = |command: &mut Cmd| {
        command.arg(duty.as_str()).arg(holder.as_str()).arg(micros(*ttl)).arg(note).arg(beating);
    };
    let [had, taken_from, channel] = tuple(store.run(&store.leases, &script::CLAIM_DUTY, add).await?)?;
    store.beat(record, channel).await?;
    let taken_from = if taken_from == Value::Nil { None } else { Some(text(taken_from)?) };
    Ok(Duty { taken_from, ..decode(&text(had)?)? })
}

/// The name of a duty in the hands of a holder, as scripts build it.
fn record(duty: &DutyName, holder: &HolderId) -> String {
    format!("duty:{duty}:{holder}")
}

/// The holder of a duty.
pub(crate) async fn read(store: &Store, duty: &DutyName) -> Result<Option<Duty>> {
    let add = |command: &mut Cmd| {
        command.arg(duty.as_str());
    };
    match store.run(&store.leases, &script::DUTY, add).await? {
        Value::Nil => Ok(None),
        found => decode(&text(found)?).map(Some),
    }
}

/// Gives a duty back.
pub(crate) async fn release(store: &Store, duty: &DutyName, holder: &HolderId) -> Result<()> {
    let add = |command: &mut Cmd| {
        command.arg(duty.as_str()).arg(holder.as_str());
    };
    store.run(&store.leases, &script::RELEASE_DUTY, add).await?;
    store.beat(record(duty, holder), Value::Nil).await
}

fn decode(stored: &str) -> Result<Duty> {
    let corrupt = || Error::Corrupt("a duty can't be read".to_owned());
    let (fixed, rest) = stored.split_at_checked(DUTY.len()).ok_or_else(corrupt)?;
    let (holder, note) = rest.split_once(';').ok_or_else(corrupt)?;
    Ok(Duty {
        holder: HolderId::new(holder).map_err(|_| corrupt())?,
        note: note.to_owned(),
        term: digits(&fixed.as_bytes()[const { DUTY.range("term") }])?,
        expires_at: time(&fixed.as_bytes()[const { DUTY.range("expires_at") }])?,
        taken_from: None,
    })
}
