//! The first key of an installation that starts by itself: its text comes from a file.

use std::{path::Path, time::SystemTime};

use jobbers_api::access::key::{KeyView, NewKeyRequest};
use jobbers_common::{
    access::AccessRole,
    audit_log::{ChangeOutcome, ChangeResult},
    engine::{Engine, Error, PutMode},
};
use jobbers_process::client_key;

use super::issued_with;
use crate::{
    audit::command::CommandChange,
    credentials::key_text::{KeyText, KeyTextError},
};

/// Who creates it, in the list of keys and in the audit log.
const BY: &str = "bootstrap";

/// Why the first key was not created.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// Its file can't be read.
    #[error("bootstrap_key_file: {0}")]
    File(String),
    /// Its file holds no key.
    #[error("bootstrap_key_file: {0}; `jobbers keys make` prints one")]
    Text(#[from] KeyTextError),
    /// The store did not take it.
    #[error("the first access key can't be created: {0}")]
    Store(#[from] Error),
}

/// The text of the first key, if a file of it is named. It is read before the store is opened, so that a mistake shows at once
/// even where the key is not needed.
///
/// # Errors
/// [`BootstrapError::File`], [`BootstrapError::Text`].
pub fn first_key(file: Option<&Path>) -> Result<Option<KeyText>, BootstrapError> {
    let Some(file) = file else { return Ok(None) };
    Ok(Some(client_key::of_file(file).map_err(BootstrapError::File)?.parse()?))
}

/// Creates the key with this text, with the role `admin`, unless the store has keys. Returns whether it did.
///
/// Of managers that start together one creates it; to the others it is there.
///
/// # Errors
/// [`BootstrapError::Store`].
pub async fn bootstrap(engine: &dyn Engine, text: KeyText) -> Result<bool, BootstrapError> {
    if !engine.config().await?.keys.is_empty() {
        return Ok(false);
    }
    let now = SystemTime::now().into();
    let role = Some(AccessRole::Admin.to_string());
    let request = NewKeyRequest { name: BY.to_owned(), role, ..NewKeyRequest::default() };
    let (_, key) = issued_with(text, request, BY, now);
    let change = CommandChange::begin(engine, BY, "create_key", Some(key.id.as_str())).await?;
    let put = engine.put_key(key.clone(), PutMode::Create).await.map(drop);
    let after = serde_json::to_value(KeyView::of(&key, now)).ok();
    let outcome = ChangeOutcome { after, ..ChangeOutcome::of(ChangeResult::Done) };
    change.end(put.as_ref().map(|()| outcome)).await?;
    match put {
        Ok(()) => {
            tracing::info!(key = %key.id, "the store had no access key: the one of bootstrap_key_file was created");
            Ok(true)
        }
        Err(Error::Exists(_)) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use jobbers_common::engine::Settings;
    use jobbers_law::model::ModelEngine;

    use super::*;

    #[tokio::test]
    async fn the_first_key_comes_from_a_file_and_no_second_one() {
        let (folder, engine) = (tempfile::tempdir().unwrap(), ModelEngine::with_system_clock());
        let (file, text) = (folder.path().join("key"), KeyText::generate());
        let read = || first_key(Some(&file));
        assert!(matches!(first_key(None), Ok(None)));
        assert!(matches!(read(), Err(BootstrapError::File(_))), "it does not exist");
        std::fs::write(&file, "jb_wrong\n").unwrap();
        assert!(matches!(read(), Err(BootstrapError::Text(_))));
        std::fs::write(&file, format!("{}\n", text.as_str())).unwrap();
        assert_eq!(read().unwrap().as_ref(), Some(&text));
        assert!(bootstrap(&engine, text.clone()).await.unwrap());
        let key = engine.config().await.unwrap().keys[text.id()].clone();
        assert_eq!((key.role.as_deref(), key.secrets[0].digest), (Some("admin"), text.digest()));
        assert!(!bootstrap(&engine, text).await.unwrap(), "it is there");
        assert!(!bootstrap(&engine, KeyText::generate()).await.unwrap(), "another one is there");
        assert_eq!(engine.config().await.unwrap().keys.len(), 1);
    }
}
