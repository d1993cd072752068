//! The JSON that clients send. As in Go, keys are read in any case, unknown ones are passed over, the last of two equal ones
//! counts, and `null` is the same as leaving a field out.

use std::{fmt, marker::PhantomData};

use jobbers_common::{limits::MAX_BOARD_CHANGES, values::counted::Few};
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};

/// The body of `/update`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UpdateRequest {
    pub(super) client: i32,
    pub(super) adds: Vec<TaskInfo>,
    pub(super) updates: Vec<TaskInfo>,
    pub(super) deletes: Vec<i64>,
    pub(super) depends: Vec<i64>,
}

/// The body of `/claim`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ClaimBody {
    pub(super) client: i32,
    pub(super) group: String,
    pub(super) duration: i64,
    pub(super) depends: Vec<i64>,
}

/// A task in a request. An `ownerid` is passed over: the owner is who sends it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TaskInfo {
    pub(super) id: i64,
    pub(super) group: String,
    pub(super) data: String,
    pub(super) data_encoding: String,
    /// The document's name for the time.
    pub(super) timespec: Option<i64>,
    /// The code's name for the time.
    pub(super) duration: Option<i64>,
}

/// A JSON object whose fields are read by name.
trait JsonObject: Default {
    const WHAT: &'static str;

    /// Reads the value of a field; `name` is in lower case.
    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, fields: &mut A) -> Result<(), A::Error>;
}

impl JsonObject for UpdateRequest {
    const WHAT: &'static str = "an update: an object with clientid, adds, updates, deletes, depends";

    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, fields: &mut A) -> Result<(), A::Error> {
        match name {
            "clientid" => self.client = value(fields)?,
            "adds" => self.adds = tasks(fields)?,
            "updates" => self.updates = tasks(fields)?,
            "deletes" => self.deletes = value(fields)?,
            "depends" => self.depends = value(fields)?,
            _ => pass_over(fields)?,
        }
        Ok(())
    }
}

impl JsonObject for ClaimBody {
    const WHAT: &'static str = "a claim: an object with clientid, group, duration, depends";

    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, fields: &mut A) -> Result<(), A::Error> {
        match name {
            "clientid" => self.client = value(fields)?,
            "group" => self.group = value(fields)?,
            "duration" => self.duration = value(fields)?,
            "depends" => self.depends = value(fields)?,
            _ => pass_over(fields)?,
        }
        Ok(())
    }
}

impl JsonObject for TaskInfo {
    const WHAT: &'static str = "a task: an object with id, group, data, timespec or duration";

    fn read<'de, A: MapAccess<'de>>(&mut self, name: &str, fields: &mut A) -> Result<(), A::Error> {
        match name {
            "id" => self.id = value(fields)?,
            "group" => self.group = value(fields)?,
            "data" => self.data = value(fields)?,
            "data_encoding" => self.data_encoding = value(fields)?,
            "timespec" => self.timespec = value(fields)?,
            "duration" => self.duration = value(fields)?,
            _ => pass_over(fields)?,
        }
        Ok(())
    }
}

fn value<'de, T: Deserialize<'de> + Default, A: MapAccess<'de>>(fields: &mut A) -> Result<T, A::Error> {
    Ok(fields.next_value::<Option<T>>()?.unwrap_or_default())
}

/// As many tasks as may be changed, and one more where there are too many.
fn tasks<'de, A: MapAccess<'de>>(fields: &mut A) -> Result<Vec<TaskInfo>, A::Error> {
    let tasks = fields.next_value::<Option<Few<TaskInfo, MAX_BOARD_CHANGES>>>()?;
    Ok(tasks.map(|few| few.0).unwrap_or_default())
}

fn pass_over<'de, A: MapAccess<'de>>(fields: &mut A) -> Result<(), A::Error> {
    fields.next_value::<IgnoredAny>().map(drop)
}

/// Reads a [`JsonObject`]; `null` is an empty one.
struct ObjectFields<T>(PhantomData<T>);

impl<'de, T: JsonObject> Visitor<'de> for ObjectFields<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WHAT)
    }

    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<T, A::Error> {
        let mut object = T::default();
        while let Some(mut name) = fields.next_key::<String>()? {
            name.make_ascii_lowercase();
            object.read(&name, &mut fields)?;
        }
        Ok(object)
    }
}

impl<'de> Deserialize<'de> for UpdateRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectFields(PhantomData))
    }
}

impl<'de> Deserialize<'de> for ClaimBody {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectFields(PhantomData))
    }
}

impl<'de> Deserialize<'de> for TaskInfo {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ObjectFields(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(json: &str) -> Result<UpdateRequest, serde_json::Error> {
        serde_json::from_str(json)
    }

    #[test]
    fn keys_are_read_in_any_case_and_unknown_ones_passed_over() {
        let task = TaskInfo { group: "g".to_owned(), duration: Some(-5), ..TaskInfo::default() };
        let expected = UpdateRequest { client: 7, adds: vec![task], deletes: vec![1], ..UpdateRequest::default() };
        let capital = r#"{"ClientID":7,"Adds":[{"Group":"g","Duration":-5,"OwnerID":"x"}],"DELETES":[1],"Extra":{}}"#;
        assert_eq!(update(capital).unwrap(), expected);
        let lower = r#"{"clientid":7,"adds":[{"group":"g","duration":-5}],"deletes":[1]}"#;
        assert_eq!(update(lower).unwrap(), expected);
    }

    #[test]
    fn null_is_the_same_as_leaving_a_field_out() {
        let nulls = r#"{"clientid":null,"adds":null,"updates":[null],"deletes":null,"depends":null}"#;
        let expected = UpdateRequest { updates: vec![TaskInfo::default()], ..UpdateRequest::default() };
        assert_eq!(update(nulls).unwrap(), expected);
        assert_eq!(update("null").unwrap(), UpdateRequest::default());
    }

    #[test]
    fn the_last_of_two_equal_keys_counts() {
        assert_eq!(update(r#"{"clientid":1,"ClientId":2}"#).unwrap().client, 2);
    }

    #[test]
    fn values_of_a_wrong_kind_are_refused() {
        for json in [
            "[]",
            "1",
            r#""x""#,
            r#"{"clientid":4294967296}"#,
            r#"{"clientid":1.5}"#,
            r#"{"adds":{}}"#,
            r#"{"adds":["x"]}"#,
            r#"{"adds":[{"data":1}]}"#,
            r#"{"adds":[{"duration":"1s"}]}"#,
            r#"{"deletes":["1"]}"#,
            r#"{"deletes":[99999999999999999999]}"#,
        ] {
            assert!(update(json).is_err(), "{json}");
        }
    }
}
