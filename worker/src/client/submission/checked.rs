//! A submission as it is sent: after the layers of its client, and checked.

use jobbers_common::{
    dependency::{Dependency, signal::AwaitedSignal},
    limits::{DEFAULT_MAX_PAYLOAD_BYTES, HIGHEST_MAX_PAYLOAD_BYTES, MAX_DELAY},
    name::{QueueName, SignalName, TaskId, TaskName},
    queue::gate::ConcurrencyKey,
    submission::draft::TaskDraft,
    task::{
        Priority, Start,
        label::{Label, Labels},
        metadata::Metadata,
    },
};

use super::{Submission, WantedUniqueness};
use crate::{
    client::{
        connection::{Client, ClientTransport},
        error::SubmitError,
    },
    payload::{codec::ContentKind, encoding::Raw},
};

impl<R> Submission<R> {
    pub(crate) fn check(self, client: &Client) -> Result<TaskDraft, SubmitError> {
        client.stamp(self).check_stamped(client, "")
    }

    /// The same for a node of a workflow, whose task's id begins with this.
    pub(crate) fn check_node(self, client: &Client, prefix: &str) -> Result<TaskDraft, SubmitError> {
        client.stamp(self).check_stamped(client, prefix)
    }
}

impl Submission<Raw> {
    fn check_stamped(self, client: &Client, prefix: &str) -> Result<TaskDraft, SubmitError> {
        let id_is_chosen = self.id.is_some();
        let id = TaskId::new(self.id.unwrap_or_else(|| client.next_id()))?;
        let invalid = |problem: &dyn std::fmt::Display| SubmitError::Invalid(format!("the parameters: {problem}"));
        let parameters = self.parameters.map_err(|problem| invalid(&problem))?;
        let encoded = client.codecs().encode(parameters, ContentKind::Parameters, &format!("{prefix}{id}"));
        let parameters = encoded.map_err(|error| invalid(&error))?;
        // A manager has its own setting and decides by that.
        let most = match client.transport() {
            ClientTransport::Store(_) => DEFAULT_MAX_PAYLOAD_BYTES,
            ClientTransport::Http(_) => HIGHEST_MAX_PAYLOAD_BYTES,
        };
        if parameters.len() > most {
            let bytes = parameters.len();
            let problem = format!("the parameters are {bytes} bytes; at most {most}");
            return Err(SubmitError::Invalid(problem));
        }
        self.overrides.validate()?;
        let unique = self.unique.map(WantedUniqueness::check).transpose()?;
        let concurrency_key = self.concurrency_key.transpose().map_err(SubmitError::Invalid)?;
        let concurrency_key = concurrency_key.map(ConcurrencyKey::new).transpose();
        if let Start::After(delay) = self.start
            && delay > MAX_DELAY
        {
            return Err(SubmitError::Invalid("a delay is at most 366d".to_owned()));
        }
        let edge = |(on, policy)| Ok(Dependency { on: TaskId::new(on)?, policy });
        let depends_on = self.depends_on.into_iter().map(edge).collect::<Result<_, SubmitError>>()?;
        let signal =
            |(name, timeout, on_timeout)| Ok(AwaitedSignal { name: SignalName::new(name)?, timeout, on_timeout });
        let signals = self.signals.into_iter().map(signal).collect::<Result<_, SubmitError>>()?;
        let mut labels = Labels::default();
        let is_said = |name: &str| self.labels.iter().any(|(said, _)| said == name);
        let defaults = self.default_labels.iter().filter(|(name, _)| !is_said(name));
        let defaults: Vec<_> = defaults.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        for (name, value) in self.labels.into_iter().chain(defaults) {
            let added = Label::new(&name, value).and_then(|label| labels.add(label));
            added.map_err(|error| SubmitError::Invalid(error.to_string()))?;
        }
        let priority = self.priority.unwrap_or(Priority::DEFAULT.get());
        Ok(TaskDraft {
            id_is_chosen,
            version: self.version,
            queue: self.queue.map(QueueName::new).transpose()?,
            default_queue: self.default_queue.map(QueueName::new).transpose()?,
            priority: Priority::new(priority).ok_or_else(|| SubmitError::Invalid("a priority is 0 to 9".to_owned()))?,
            start: self.start,
            overrides: self.overrides,
            on_crash: self.on_crash,
            unique: unique.map(Box::new),
            concurrency_key: concurrency_key.map_err(|error| SubmitError::Invalid(error.to_string()))?,
            metadata: Metadata { sensitive: self.is_sensitive, ..labels.into() },
            depends_on,
            signals,
            is_spontaneous: self.is_spontaneous,
            ..TaskDraft::new(id, TaskName::new(self.name)?, parameters)
        })
    }
}
