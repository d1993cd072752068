//! Roles that serve queues by patterns of their names.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jobbers_common::{
    engine::{DeleteRole, Deleted, Error, PutMode},
    limits::{MAX_BATCH, MAX_PATTERNS_PER_ROLE, MAX_QUEUES_PER_CLAIM},
    name::{QueueName, RoleName},
    queue::{Config, QueueConfig, QueueOrder, RoleConfig, pattern::QueuePattern},
};

use crate::conformance::{DONE, Fixture, ids, queue, seconds, task_in, worker};

fn role(queues: &[&str]) -> RoleConfig {
    let queues = queues.iter().map(|text| text.parse::<QueuePattern>().unwrap());
    RoleConfig::new(RoleName::new("tenants").unwrap(), queues)
}

async fn put(f: &Fixture, queues: &[&str]) -> Arc<Config> {
    f.engine.put_role(role(queues), PutMode::Upsert).await.unwrap()
}

async fn create(f: &Fixture, names: &[&str]) {
    let names: Vec<QueueName> = names.iter().map(|name| queue(name)).collect();
    f.engine.create_queues(&names).await.unwrap();
}

/// What the role serves by a configuration.
fn served(config: &Config) -> Vec<String> {
    let served = config.served_by(&config.roles[&RoleName::new("tenants").unwrap()]);
    assert!(!served.is_cut);
    served.queues.iter().map(ToString::to_string).collect()
}

async fn serves(f: &Fixture) -> Vec<String> {
    served(&f.engine.config().await.unwrap())
}

pub async fn a_role_serves_what_its_patterns_match_and_what_is_created_later(f: Fixture) {
    create(&f, &["tenant-2", "tenant-1", "other", "a-eu"]).await;
    let before = put(&f, &["default", "tenant-*", "*-eu"]).await;
    assert_eq!(served(&before), ["default", "tenant-1", "tenant-2", "a-eu"]);
    assert_eq!(*f.engine.config().await.unwrap(), *before);
    let config = f.engine.put_queue(QueueConfig::new(queue("tenant-17")), PutMode::Create).await.unwrap();
    assert!(config.version > before.version);
    assert_eq!(served(&config), ["default", "tenant-1", "tenant-17", "tenant-2", "a-eu"]);
    assert_eq!(*f.engine.config().await.unwrap(), *config);
    create(&f, &["tenant-3-eu"]).await;
    let config = f.engine.config().await.unwrap();
    assert_eq!(served(&config)[1..], ["tenant-1", "tenant-17", "tenant-2", "tenant-3-eu", "a-eu"]);
    let seen = f.cycle_as("w1", &["default"], 1, Vec::new()).await.config_version;
    assert_eq!(seen, config.version, "a worker reads it again");
    f.submit(vec![task_in("a", "tenant-3-eu")]).await;
    let claimed = f.claim_from(&served(&config).iter().map(String::as_str).collect::<Vec<_>>(), 1).await;
    assert_eq!(ids(&claimed), ["a"]);
    f.settle(&claimed[0], DONE).await;
    assert_eq!(served(&*put(&f, &["tenant-1*"]).await), ["tenant-1", "tenant-17"], "another list");
}

pub async fn a_created_queue_that_a_pattern_matches_wakes_the_workers_once(f: Fixture) {
    put(&f, &["tenant-*"]).await;
    assert!(f.claim(1).await.is_empty());
    // A wake-up left over from before may end one wait early.
    f.engine.wait(&worker("w1"), Duration::from_millis(50)).await;
    assert!(f.claim(1).await.is_empty());
    let engine = Arc::clone(&f.engine);
    let waiting = tokio::spawn(async move { engine.wait(&worker("w1"), seconds(30)).await });
    let before = f.engine.config().await.unwrap();
    create(&f, &["elsewhere"]).await;
    assert_eq!(f.engine.config().await.unwrap(), before, "no pattern matches it");
    create(&f, &["tenant-1", "elsewhere", "other", "tenant-2"]).await;
    tokio::time::timeout(seconds(20), waiting).await.expect("it is woken").unwrap();
    let after = f.engine.config().await.unwrap();
    assert_eq!((after.version, after.queues.len()), (before.version + 1, before.queues.len()));
    assert_eq!(served(&after), ["tenant-1", "tenant-2"]);
    let names: Vec<QueueName> = f.all_stats().await.into_iter().map(|stats| stats.queue).collect();
    assert_eq!(names, ["default", "elsewhere", "other", "tenant-1", "tenant-2"].map(queue));
    create(&f, &["tenant-1", "tenant-2"]).await;
    assert_eq!(f.engine.config().await.unwrap(), after, "they exist already");
}

pub async fn a_pattern_keeps_no_queue_from_being_deleted(f: Fixture) {
    create(&f, &["tenant-1", "tenant-2"]).await;
    let before = put(&f, &["tenant-2", "tenant-*"]).await;
    let refused = f.engine.delete_queue(&queue("tenant-2"), None).await;
    assert!(matches!(refused, Err(Error::InUse { .. })), "the role names it");
    assert_eq!(f.engine.delete_queue(&queue("tenant-1"), None).await, Ok(Deleted::Done));
    let after = f.engine.config().await.unwrap();
    assert!(after.version > before.version);
    assert_eq!(served(&after), ["tenant-2"]);
    create(&f, &["tenant-1"]).await;
    assert_eq!(serves(&f).await, ["tenant-2", "tenant-1"], "it is served again");
    put(&f, &["tenant-*"]).await;
    assert_eq!(f.engine.delete_queue(&queue("tenant-2"), None).await, Ok(Deleted::Done));
    assert_eq!(serves(&f).await, ["tenant-1"]);
    let name = RoleName::new("tenants").unwrap();
    let config = f.engine.delete_role(&name, DeleteRole::default()).await.unwrap();
    assert!(config.matched.is_empty(), "no role has a pattern any more");
}

pub async fn a_pattern_may_match_no_queue_and_a_name_must_exist(f: Fixture) {
    let unknown = f.engine.put_role(role(&["tenant-*", "nowhere"]), PutMode::Create).await;
    assert_eq!(unknown, Err(Error::UnknownQueue(queue("nowhere"))));
    assert!(served(&*put(&f, &["tenant-*"]).await).is_empty());
    assert_eq!(f.engine.put_role(role(&["tenant-*"]), PutMode::Upsert).await, f.engine.config().await);
    let many = |kind: &str, count: usize| (0..count).map(|n| format!("{kind}{n}")).collect::<Vec<_>>();
    let bad = [
        many("*", MAX_PATTERNS_PER_ROLE + 1),
        many("q", MAX_QUEUES_PER_CLAIM + 1),
        vec!["tenant-*".to_owned(), "tenant-*".to_owned()],
        Vec::new(),
    ];
    for bad in bad {
        let bad = role(&bad.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(matches!(f.engine.put_role(bad, PutMode::Upsert).await, Err(Error::Invalid(_))));
    }
}

pub async fn a_weight_of_a_pattern_is_that_of_each_queue_at_its_place(f: Fixture) {
    create(&f, &["mail", "tenant-1", "tenant-2", "tenant-3"]).await;
    let weights = |all: &[(&str, u32)]| -> BTreeMap<QueuePattern, u32> {
        all.iter().map(|(entry, weight)| (entry.parse().unwrap(), *weight)).collect()
    };
    let weighted = RoleConfig {
        order: QueueOrder::Weighted,
        weights: weights(&[("tenant-*", 5), ("tenant-2", 9), ("*", 2)]),
        ..role(&["tenant-3", "tenant-*", "*"])
    };
    let config = f.engine.put_role(weighted.clone(), PutMode::Create).await.unwrap();
    assert_eq!(f.engine.config().await.unwrap().roles.get(&weighted.name), Some(&weighted));
    let weighed: Vec<(String, u32)> =
        served(&config).into_iter().map(|name| (name.clone(), weighted.weight(&queue(&name)))).collect();
    let expected = [("tenant-3", 1), ("tenant-1", 5), ("tenant-2", 9), ("default", 2), ("mail", 2)];
    assert_eq!(weighed, expected.map(|(name, weight)| (name.to_owned(), weight)));
    for stranger in ["elsewhere", "mail-*"] {
        let bad = RoleConfig { weights: weights(&[(stranger, 1)]), ..weighted.clone() };
        let bad = RoleConfig { queues: role(&["tenant-*"]).queues, ..bad };
        assert!(matches!(f.engine.put_role(bad, PutMode::Upsert).await, Err(Error::Invalid(_))), "{stranger}");
    }
}

pub async fn of_more_queues_than_a_role_serves_the_first_are_served(f: Fixture) {
    let names: Vec<QueueName> = (0..2 * MAX_BATCH).map(|n| queue(&format!("many-{n:04}"))).collect();
    for some in names.chunks(MAX_BATCH) {
        f.engine.create_queues(some).await.unwrap();
    }
    let config = put(&f, &["many-*", "default"]).await;
    let of = |config: &Config| config.served_by(&role(&["many-*", "default"]));
    let served = of(&config);
    assert_eq!((served.queues.len(), served.is_cut), (MAX_QUEUES_PER_CLAIM, true));
    assert_eq!(served.queues[MAX_QUEUES_PER_CLAIM - 2..], [names[MAX_QUEUES_PER_CLAIM - 2].clone(), queue("default")]);
    assert_eq!(f.engine.delete_queue(&names[0], None).await, Ok(Deleted::Done));
    let served = of(&f.engine.config().await.unwrap());
    assert_eq!((served.queues.len(), served.is_cut), (MAX_QUEUES_PER_CLAIM, true));
    assert_eq!(served.queues[MAX_QUEUES_PER_CLAIM - 2..], [names[MAX_QUEUES_PER_CLAIM - 1].clone(), queue("default")]);
    let asked: Vec<&str> = served.queues.iter().map(QueueName::as_str).collect();
    f.submit(vec![task_in("a", asked[MAX_QUEUES_PER_CLAIM - 2])]).await;
    assert_eq!(ids(&f.claim_from(&asked, 1).await), ["a"], "one claim asks them all");
}

pub async fn no_queue_is_missed_that_is_created_while_a_role_gets_its_pattern(f: Fixture) {
    for round in 0..32 {
        let name = move |n: usize| queue(&format!("round-{round:02}-{n}"));
        // Creations without settings raise the version only for a pattern, so they are alone in every second round.
        let has_settings = round % 2 == 1;
        let count = 1 + round % 4;
        let creators: Vec<_> = (0..count)
            .map(|n| {
                let engine = Arc::clone(&f.engine);
                tokio::spawn(async move {
                    match has_settings {
                        false => engine.create_queues(&[name(n)]).await,
                        true => engine.put_queue(QueueConfig::new(name(n)), PutMode::Create).await.map(drop),
                    }
                })
            })
            .collect();
        put(&f, &[&format!("round-{round:02}-*")]).await;
        for creator in creators {
            creator.await.unwrap().unwrap();
        }
        assert_eq!(serves(&f).await, (0..count).map(|n| name(n).to_string()).collect::<Vec<_>>());
    }
}
