//! Duties: who holds them, and until when.

use jobbers_common::{
    engine::{Duty, DutyClaim, Error, Result},
    name::{DutyName, HolderId},
};
use redis::{Cmd, Value};

use crate::redis::{
    kernel::{
        layout::DUTY,
        reply::{array, digits, text},
        script,
        values::{micros, time},
    },
    server::store::Store,
};

/// Takes or renews a duty.
pub(crate) async fn claim(store: &Store, claim: &DutyClaim) -> Result<Duty> {
    claim.validate()?;
    let DutyClaim { duty, holder, note, ttl } = claim;
    let add = |command: &mut Cmd| {
        command.arg(duty.as_str()).arg(holder.as_str()).arg(micros(*ttl)).arg(note);
    };
    let mut answer = array(store.run(&store.leases, &script::CLAIM_DUTY, add).await?)?.into_iter();
    let had = read(&text(answer.next().unwrap_or(Value::Nil))?)?;
    Ok(Duty { taken_from: answer.next().map(text).transpose()?, ..had })
}

/// The holder of a duty.
pub(crate) async fn look(store: &Store, duty: &DutyName) -> Result<Option<Duty>> {
    let add = |command: &mut Cmd| {
        command.arg(duty.as_str());
    };
    match store.run(&store.leases, &script::DUTY, add).await? {
        Value::Nil => Ok(None),
        found => read(&text(found)?).map(Some),
    }
}

/// Gives a duty back.
pub(crate) async fn release(store: &Store, duty: &DutyName, holder: &HolderId) -> Result<()> {
    let add = |command: &mut Cmd| {
        command.arg(duty.as_str()).arg(holder.as_str());
    };
    store.run(&store.leases, &script::RELEASE_DUTY, add).await.map(drop)
}

fn read(stored: &str) -> Result<Duty> {
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
