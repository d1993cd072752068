//! Access keys.

use jobbers_common::{
    access::{AccessKey, Digest, StoredSecret},
    engine::{Error, PutMode},
    name::KeyId,
    time::Timestamp,
};

use super::Fixture;

fn key(id: &str) -> AccessKey {
    let at = Timestamp::from_micros(1_000_000);
    AccessKey {
        id: KeyId::new(id).unwrap(),
        name: "ci".to_owned(),
        role: Some("viewer".to_owned()),
        scopes: vec!["tasks:submit".to_owned()],
        queues: vec![],
        tasks: vec![],
        boards: vec![],
        secrets: vec![StoredSecret { digest: Digest([0xa5; 32]), created_at: at, expires_at: None }],
        created_at: at,
        created_by: "tests".to_owned(),
        last_used_at: None,
        expires_at: None,
        revoked_at: None,
    }
}

const ID: &str = "0123456789";

pub async fn a_key_is_created_replaced_and_deleted(f: Fixture) {
    let first = key(ID);
    let unknown = Err(Error::UnknownKey(first.id.clone()));
    assert!(f.engine.config().await.unwrap().keys.is_empty(), "a new store is open");
    assert_eq!(f.engine.put_key(first.clone(), PutMode::Replace).await, unknown);
    assert_eq!(f.engine.delete_key(&first.id).await, unknown);
    f.engine.put_key(first.clone(), PutMode::Create).await.unwrap();
    assert!(matches!(f.engine.put_key(first.clone(), PutMode::Create).await, Err(Error::Exists(_))));
    let revoked = AccessKey { revoked_at: Some(first.created_at), secrets: vec![], ..first.clone() };
    let config = f.engine.put_key(revoked.clone(), PutMode::Replace).await.unwrap();
    assert_eq!(*config.keys[&first.id], revoked);
    f.engine.put_key(key("abcdefghjk"), PutMode::Create).await.unwrap();
    let config = f.engine.delete_key(&first.id).await.unwrap();
    assert_eq!(config.keys.keys().map(KeyId::as_str).collect::<Vec<_>>(), ["abcdefghjk"]);
    assert_eq!(*f.engine.config().await.unwrap(), *config);
    assert_eq!(f.engine.delete_key(&first.id).await, unknown);
}

pub async fn a_key_is_read_as_it_was_written(f: Fixture) {
    let at = Timestamp::from_micros(1_700_000_000_123_456);
    let secret = |digest, expires_at| StoredSecret { digest: Digest([digest; 32]), created_at: at, expires_at };
    let full = AccessKey {
        name: "deploy \u{1f511} \"a\" 'b'".to_owned(),
        secrets: vec![secret(0, None), secret(0xff, Some(at))],
        queues: vec!["mail".parse().unwrap(), "team-a.*".parse().unwrap()],
        tasks: vec!["*".parse().unwrap()],
        last_used_at: Some(at),
        expires_at: Some(at),
        revoked_at: Some(at),
        ..key(ID)
    };
    let plain = AccessKey { role: None, secrets: vec![], ..key("abcdefghjk") };
    for key in [&full, &plain] {
        f.engine.put_key(key.clone(), PutMode::Create).await.unwrap();
    }
    let config = f.engine.config().await.unwrap();
    assert_eq!([&*config.keys[&full.id], &*config.keys[&plain.id]], [&full, &plain]);
}

pub async fn a_key_that_changed_meanwhile_is_not_overwritten(f: Fixture) {
    let first = key(ID);
    f.engine.put_key(first.clone(), PutMode::Create).await.unwrap();
    let revoked = AccessKey { revoked_at: Some(first.created_at), ..first.clone() };
    f.engine.put_key(revoked.clone(), PutMode::Unchanged(first.clone())).await.unwrap();
    let rotated = AccessKey { name: "other".to_owned(), ..first.clone() };
    let late = f.engine.put_key(rotated, PutMode::Unchanged(first.clone())).await;
    assert!(matches!(late, Err(Error::Changed(_))), "{late:?}");
    assert_eq!(*f.engine.config().await.unwrap().keys[&first.id], revoked);
}

pub async fn a_key_that_is_not_valid_is_refused(f: Fixture) {
    for wrong in [
        AccessKey { role: Some("root".to_owned()), ..key(ID) },
        AccessKey { id: KeyId::new("queue:mail").unwrap(), name: String::new(), ..key(ID) },
    ] {
        let refused = f.engine.put_key(wrong, PutMode::Upsert).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
    }
    assert!(f.engine.config().await.unwrap().keys.is_empty());
}

pub async fn a_change_of_a_key_raises_the_version_and_one_of_nothing_does_not(f: Fixture) {
    let before = f.engine.config().await.unwrap().version;
    let created = f.engine.put_key(key(ID), PutMode::Create).await.unwrap().version;
    assert!(created > before);
    assert_eq!(f.engine.put_key(key(ID), PutMode::Upsert).await.unwrap().version, created);
    assert!(f.engine.delete_key(&key(ID).id).await.unwrap().version > created);
}
