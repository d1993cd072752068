//! The client of a task that submits others: they get labels of their parent.

use jobbers_common::task::label::Labels;

use super::connection::Client;
use crate::payload::codec::Codecs;

/// What a worker's attempts submit by.
#[derive(Debug)]
pub(crate) struct ParentClient {
    client: Client,
    /// The names of the labels that are handed on.
    carried: Vec<String>,
}

impl ParentClient {
    pub(crate) const fn new(client: Client, carried: Vec<String>) -> Self {
        Self { client, carried }
    }

    /// The codecs of its client.
    pub(crate) const fn codecs(&self) -> &Codecs {
        self.client.codecs()
    }

    /// The client of any task, if no label is handed on.
    pub(crate) fn plain(&self) -> Option<&Client> {
        self.carried.is_empty().then_some(&self.client)
    }

    /// Those of a task's labels that are handed on.
    pub(crate) fn handed_on<'a>(&'a self, labels: &'a Labels) -> impl Iterator<Item = (&'a str, &'a str)> {
        let is_carried = |name: &str| self.carried.iter().any(|carried| carried == name);
        let labels = labels.iter().map(|(name, value)| (name.as_str(), value));
        labels.filter(move |(name, _)| is_carried(name))
    }

    /// The client of a task with these labels.
    pub(crate) fn of(&self, labels: &Labels) -> Client {
        let handed_on = self.handed_on(labels).map(|(name, value)| (name.to_owned(), value.to_owned()));
        let handed_on: Vec<(String, String)> = handed_on.collect();
        self.client.layer(move |submission| {
            handed_on.iter().fold(submission, |submission, (name, value)| match submission.label_value(name) {
                Some(_) => submission,
                None => submission.label(name.clone(), value.clone()),
            })
        })
    }
}
