//! What a task is given, as people type it and as programs pipe it.
//!
//! Values stay the text they came as: a number of any size arrives at the task as it was written.

use std::{
    collections::BTreeMap,
    io::{self, BufReader, Read},
};

use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::failure::Failure;

/// Documents read ahead of the batch that is being sent.
const READ_AHEAD: usize = 2_000;

/// Where the parameters come from.
#[derive(Debug)]
pub(in crate::commands) enum Given {
    /// One task's parameters, if it has any.
    One(Option<Box<RawValue>>),
    /// Standard input.
    Standard(Documents),
}

/// Documents on their way.
pub(in crate::commands) type Documents = mpsc::Receiver<Result<Box<RawValue>, Failure>>;

/// Reads the command line's parameters.
///
/// # Errors
/// [`Failure::Usage`] for what is neither a JSON document nor pairs.
pub(in crate::commands) fn read(words: &[String]) -> Result<Given, Failure> {
    match words {
        [word] if word == "-" => Ok(Given::Standard(read_documents(io::stdin()))),
        words => read_one(words).map(Given::One),
    }
}

/// Reads the command line's parameters of one task.
///
/// # Errors
/// [`Failure::Usage`] for what is neither a JSON document nor pairs.
pub(in crate::commands) fn read_one(words: &[String]) -> Result<Option<Box<RawValue>>, Failure> {
    match words {
        [] => Ok(None),
        [word] => match RawValue::from_string(word.trim().to_owned()) {
            Ok(document) => Ok(Some(document)),
            Err(error) if word.trim_start().starts_with(['{', '[', '"']) => {
                Err(Failure::Usage(format!("the parameters are not JSON: {error}")))
            }
            Err(_) => read_pairs(words).map(Some),
        },
        pairs => read_pairs(pairs).map(Some),
    }
}

fn read_pairs(pairs: &[String]) -> Result<Box<RawValue>, Failure> {
    let mut object: BTreeMap<&str, Box<RawValue>> = BTreeMap::new();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
            return Err(Failure::Usage(format!(
                "{pair:?} is no parameter: write key=value pairs, or one JSON document"
            )));
        };
        if object.insert(key, read_value(value)?).is_some() {
            return Err(Failure::Usage(format!("the parameter {key} is given twice")));
        }
    }
    serde_json::value::to_raw_value(&object).map_err(|error| Failure::Usage(error.to_string()))
}

/// `3` is a number and `three` a text; `"3"` is a text too.
fn read_value(text: &str) -> Result<Box<RawValue>, Failure> {
    RawValue::from_string(text.to_owned())
        .or_else(|_| serde_json::value::to_raw_value(text))
        .map_err(|error| Failure::Usage(error.to_string()))
}

/// Reads JSON documents, one after the other however they are separated, on a thread of its own.
fn read_documents(input: impl Read + Send + 'static) -> Documents {
    let (sender, receiver) = mpsc::channel(READ_AHEAD);
    tokio::task::spawn_blocking(move || {
        let documents = serde_json::Deserializer::from_reader(BufReader::new(input)).into_iter::<Box<RawValue>>();
        for (index, document) in documents.enumerate() {
            let document = document.map_err(|error| broken(index, &error));
            let is_last = document.is_err();
            // If the receiver is gone, the command has failed already.
            if sender.blocking_send(document).is_err() || is_last {
                return;
            }
        }
    });
    receiver
}

fn broken(index: usize, error: &serde_json::Error) -> Failure {
    let number = index + 1;
    if error.is_io() {
        return Failure::Unavailable(format!("can't read standard input at document {number}: {error}"));
    }
    Failure::Usage(format!("document {number} of standard input is not JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(words: &[&str]) -> Result<String, String> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        match read(&words) {
            Ok(Given::One(document)) => Ok(document.map(|document| document.get().to_owned()).unwrap_or_default()),
            Ok(Given::Standard(_)) => Err("standard input".to_owned()),
            Err(failure) => Err(failure.to_string()),
        }
    }

    #[test]
    fn pairs_become_an_object_whose_values_are_json_where_they_can_be() {
        let pairs = ["text=hello world", "number=3", "quoted=\"3\"", "list=[1,2]", "empty=", "equals=a=b", "flag=true"];
        assert_eq!(
            one(&pairs).unwrap(),
            r#"{"empty":"","equals":"a=b","flag":true,"list":[1,2],"number":3,"quoted":"3","text":"hello world"}"#
        );
    }

    #[test]
    fn numbers_keep_every_digit() {
        assert_eq!(one(&["n=12345678901234567890123.10"]).unwrap(), r#"{"n":12345678901234567890123.10}"#);
        assert_eq!(one(&["[9007199254740993]"]).unwrap(), "[9007199254740993]");
    }

    #[test]
    fn one_document_is_taken_as_it_is() {
        assert_eq!(one(&[r#" {"a":"b=c"} "#]).unwrap(), r#"{"a":"b=c"}"#);
        assert_eq!(one(&["null"]).unwrap(), "null");
        assert_eq!(one(&[]).unwrap(), "");
    }

    #[test]
    fn what_is_neither_is_refused() {
        for words in [&["hello"][..], &["=3"], &["a=1", "-"], &["a=1", "a=2"], &["{\"a\":"], &["{\"a\":1", "b=2"]] {
            assert!(one(words).is_err(), "{words:?}");
        }
    }

    #[tokio::test]
    async fn documents_are_read_one_by_one_up_to_the_first_that_is_none() {
        let mut documents = read_documents(&b"{\"a\": 1}\n[2]\n 3 4\n{\"b\": \n1}\n{oops}\n5"[..]);
        for expected in ["{\"a\": 1}", "[2]", "3", "4", "{\"b\": \n1}"] {
            assert_eq!(documents.recv().await.unwrap().unwrap().get(), expected);
        }
        let failure = documents.recv().await.unwrap().unwrap_err();
        assert!(failure.to_string().starts_with("document 6 of standard input is not JSON"), "{failure}");
        assert!(documents.recv().await.is_none());
    }
}
