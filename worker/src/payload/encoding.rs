//! How parameters and results become bytes and back: JSON by serde, or raw bytes.

use bytes::Bytes;
use jobbers_common::payload::Payload;
use serde::{Serialize, de::DeserializeOwned};

/// A type that a task function can take as parameters, or that a caller can await as a result: every type that
/// implements `DeserializeOwned`, [`Raw`] and [`NoParameters`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be read from JSON",
    label = "parameters, and results that are awaited, are read from JSON",
    note = "add `#[derive(serde::Deserialize)]` to the type; one of another crate may have it by a feature called `serde`"
)]
pub trait Decode: Sized {
    /// Reads parameters, or a result.
    ///
    /// # Errors
    /// A sentence that names the field that is wrong.
    fn decode(payload: &Payload) -> Result<Self, String>;
}

/// A type a task function can return, or that can be submitted: every type that implements `Serialize`, [`Raw`] and
/// [`NoParameters`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be written as JSON",
    label = "results, and parameters that are submitted, are written as JSON",
    note = "add `#[derive(serde::Serialize)]` to the type; one of another crate may have it by a feature called `serde`"
)]
pub trait Encode {
    /// Writes the bytes; `None` for a value without content, such as `()`.
    ///
    /// # Errors
    /// A sentence if the value can't be written as JSON.
    fn encode(&self) -> Result<Option<Payload>, String>;
}

/// Raw parameters or results: bytes with their content type, never decoded.
///
/// ```standalone_crate
/// use jobbers_worker::{Payload, prelude::*, testing::TestBench};
///
/// /// Turns a picture upside down, whatever its format.
/// #[task]
/// async fn flip(picture: Raw) -> Result<Raw, TaskError> {
///     let bytes: Vec<u8> = picture.0.bytes.iter().rev().copied().collect();
///     Ok(Raw(Payload { bytes: bytes.into(), ..picture.0 }))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let bench = TestBench::new().await?;
/// let picture = Payload { content_type: Some("image/png".into()), bytes: b"gnp"[..].into() };
/// let flipped = flip.delay(bench.client(), Raw(picture)).await?;
/// bench.drain().await?;
/// assert_eq!(&flipped.result(Duration::ZERO).await?.0.bytes[..], b"png");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raw(pub Payload);

/// The parameters of a task that takes none. It accepts and ignores any submitted parameters.
///
/// ```no_run
/// use jobbers_worker::prelude::*;
///
/// #[task]
/// async fn clean_up() -> Result<(), TaskError> { Ok(()) }
///
/// # async fn example(client: &Client) -> Result<(), Box<dyn std::error::Error>> {
/// clean_up.delay(client, NoParameters).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct NoParameters;

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned> Decode for T {
    fn decode(payload: &Payload) -> Result<Self, String> {
        if !payload.is_json() {
            return Err(format!("{} is no JSON", payload.content_type()));
        }
        // The path is computed only for failures, because tracking it costs more than the decoding.
        payload.decode().or_else(|plain| if is_unit::<Self>() { decode_unit(plain) } else { Err(plain) }).map_err(
            |plain| {
                let mut reader = serde_json::Deserializer::from_slice(&payload.bytes);
                match serde_path_to_error::deserialize::<_, T>(&mut reader) {
                    Err(error) if error.path().iter().next().is_some() => {
                        format!("{}: {}", error.path(), error.inner())
                    }
                    _ => plain.to_string(),
                }
            },
        )
    }
}

/// Whether a type is `()`, which a task without parameters may name.
pub(crate) fn is_unit<T>() -> bool {
    size_of::<T>() == 0 && std::any::type_name::<T>() == std::any::type_name::<()>()
}

/// A `()` from whatever was submitted: no parameters are no parameters.
fn decode_unit<T: DeserializeOwned, E>(otherwise: E) -> Result<T, E> {
    T::deserialize(serde_json::Value::Null).map_err(|_| otherwise)
}

#[diagnostic::do_not_recommend]
impl<T: Serialize> Encode for T {
    fn encode(&self) -> Result<Option<Payload>, String> {
        let payload = Payload::encode(self).map_err(|error| format!("it can't be written as JSON: {error}"))?;
        let says_nothing = size_of::<T>() == 0 && *payload.bytes == *b"null";
        Ok((!says_nothing).then_some(payload))
    }
}

impl Decode for Raw {
    fn decode(payload: &Payload) -> Result<Self, String> {
        Ok(Self(payload.clone()))
    }
}

impl Encode for Raw {
    fn encode(&self) -> Result<Option<Payload>, String> {
        Ok(Some(self.0.clone()))
    }
}

impl Decode for NoParameters {
    fn decode(_: &Payload) -> Result<Self, String> {
        Ok(Self)
    }
}

impl Encode for NoParameters {
    fn encode(&self) -> Result<Option<Payload>, String> {
        Ok(Some(Payload::json(Bytes::from_static(b"{}"))))
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Size {
        width: u32,
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Resize {
        to: Vec<Size>,
    }

    #[test]
    fn what_does_not_fit_is_told_with_its_path() {
        let error = Resize::decode(&Payload::json(&br#"{"to":[{"width":1},{"width":"wide"}]}"#[..])).unwrap_err();
        assert!(error.contains("to[1].width: invalid type: string \"wide\", expected u32"), "{error}");
        let error = Resize::decode(&Payload::json(&b"{"[..])).unwrap_err();
        assert!(error.contains("EOF"), "{error}");
    }

    #[test]
    fn bytes_that_are_not_json_are_not_guessed_at() {
        let payload = Payload { content_type: Some("text/csv".into()), bytes: Bytes::from_static(b"1") };
        assert!(u8::decode(&payload).unwrap_err().contains("text/csv"));
        assert_eq!(Raw::decode(&payload).unwrap().encode(), Ok(Some(payload)));
    }

    #[test]
    fn a_unit_takes_what_a_task_without_parameters_takes() {
        for text in ["null", "{}", "[]", "{\"a\": 1}"] {
            assert_eq!(<()>::decode(&Payload::json(text)), Ok(()), "{text}");
        }
        assert!(<[u8; 0]>::decode(&Payload::json("{}")).is_err(), "only a unit");
    }

    #[test]
    fn a_unit_has_no_result_and_null_is_one() {
        assert_eq!(().encode(), Ok(None));
        assert_eq!(None::<u8>.encode(), Ok(Some(Payload::json(&b"null"[..]))));
    }
}
