//! The queue of the mails, which a new store does not have. In production: `jobbers queues set mail --max-concurrent-per-key 1`, and
//! `jobbers roles set default default mail`.

use jobbers_worker::{
    Engine, QueueName,
    queues::{PutMode, QueueConfig, RoleConfig},
};

/// Makes the queue, and lets the workers serve it after the default one. What is there already is not changed.
pub(crate) async fn set_up(engine: &dyn Engine) -> Result<(), Box<dyn std::error::Error>> {
    let config = engine.config().await?;
    let mail: QueueName = "mail".parse()?;
    if config.queues.contains_key(&mail) {
        return Ok(());
    }
    let one_mail_at_a_time = QueueConfig { max_concurrent_per_key: Some(1), ..QueueConfig::new(mail.clone()) };
    engine.put_queue(one_mail_at_a_time, PutMode::Upsert).await?;
    let role = RoleConfig::new("default".parse()?, vec!["default".parse()?, mail]);
    engine.put_role(role, PutMode::Upsert).await?;
    Ok(())
}
