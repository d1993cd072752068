//! JSON Schemas of parameters, for tasks whose parameter type derives one, and for no others.
//!
//! `#[task]` knows the type but not what it implements. So it asks in a way that the compiler resolves: a method of
//! [`SchemaOf`] itself is preferred to one of a reference to it, and only types with a schema have the former.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde_json::Value;

use crate::payload::encoding::is_unit;

/// Requests the schema of `T`.
#[derive(Debug)]
pub struct SchemaOf<T>(PhantomData<fn() -> T>);

impl<T> SchemaOf<T> {
    /// The only value; it holds no data.
    pub const NEW: Self = Self(PhantomData);
}

/// Returns the schema of types that derive [`JsonSchema`].
pub trait DerivedSchema {
    /// The schema.
    fn schema(&self) -> Option<Value>;
}

impl<T: JsonSchema> DerivedSchema for SchemaOf<T> {
    fn schema(&self) -> Option<Value> {
        // A unit takes anything, as a task without parameters does.
        (!is_unit::<T>()).then(|| schemars::schema_for!(T).to_value())
    }
}

/// The fallback for all types.
pub trait AnySchema {
    /// Returns none.
    fn schema(&self) -> Option<Value>;
}

impl<T> AnySchema for &SchemaOf<T> {
    fn schema(&self) -> Option<Value> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Plain;

    #[test]
    #[expect(clippy::needless_borrow, reason = "the borrow is what lets the type without a schema be found second")]
    fn only_types_that_derive_one_have_a_schema() {
        assert_eq!((&SchemaOf::<u8>::NEW).schema().unwrap()["type"], "integer");
        assert_eq!((&SchemaOf::<Plain>::NEW).schema(), None);
        assert_eq!((&SchemaOf::<()>::NEW).schema(), None, "a unit takes anything");
    }
}
