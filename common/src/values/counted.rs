//! Counts values while they are read, so that a short text can't become much memory before any bound is checked: of a list
//! of a million names, each takes twenty times the bytes that it is written in.
//!
//! A [`Counter`] knows the bound of a document and asks its caller for memory; [`Counted`] is a deserializer that counts each
//! value which it hands on. Values that are passed over, such as the rest of a list that is too long, take no memory and do
//! not count, and neither do those within raw JSON.

use std::{cell::Cell, fmt, marker::PhantomData};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess, Visitor},
};

/// What a value takes in memory, in bytes: an entry of a list whose capacity has just doubled, and its own allocation.
pub const VALUE_BYTES: usize = 128;
/// Most values of a document: texts, numbers, lists and objects. The largest graph has half as many.
pub const MAX_VALUES: usize = 1_000_000;
/// For how many values memory is asked for at a time.
const VALUES_AT_ONCE: usize = 16;

/// Why a document was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It has more than [`MAX_VALUES`] values.
    TooMany,
    /// There was no memory for them.
    NoMemory,
}

/// The values of a document that were read so far.
pub struct Counter<'m> {
    left: Cell<usize>,
    paid: Cell<usize>,
    grow: &'m dyn Fn(usize) -> bool,
    refused: Cell<Option<Refused>>,
}

impl<'m> Counter<'m> {
    /// A counter that asks `grow` for bytes, and stops when that returns false.
    pub const fn new(grow: &'m dyn Fn(usize) -> bool) -> Self {
        Self { left: Cell::new(MAX_VALUES), paid: Cell::new(0), grow, refused: Cell::new(None) }
    }

    /// Why reading was stopped; `None` if it was not.
    #[must_use]
    pub const fn refused(&self) -> Option<Refused> {
        self.refused.get()
    }

    fn count<E: Error>(&self) -> Result<(), E> {
        if self.paid.get() == 0 {
            if !(self.grow)(VALUES_AT_ONCE * VALUE_BYTES) {
                return Err(self.refuse(Refused::NoMemory));
            }
            self.paid.set(VALUES_AT_ONCE);
        }
        let Some(left) = self.left.get().checked_sub(1) else { return Err(self.refuse(Refused::TooMany)) };
        self.left.set(left);
        self.paid.set(self.paid.get() - 1);
        Ok(())
    }

    #[cold]
    fn refuse<E: Error>(&self, why: Refused) -> E {
        self.refused.set(Some(why));
        E::custom("the document has too many values")
    }
}

/// Anything of serde that reads, with its counter: a deserializer, a visitor, and what they hand to each other.
pub struct Counted<'c, T> {
    inner: T,
    counter: &'c Counter<'c>,
}

impl<'c, T> Counted<'c, T> {
    /// Counts what is read through `inner`.
    pub const fn new(inner: T, counter: &'c Counter<'c>) -> Self {
        Self { inner, counter }
    }

    const fn with<U>(&self, inner: U) -> Counted<'c, U> {
        Counted { inner, counter: self.counter }
    }
}

/// Methods that read a single value, whose visitor is handed on as it is.
macro_rules! scalars {
    ($($method:ident)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.counter.count()?;
            self.inner.$method(visitor)
        }
    )*};
}

/// Methods that may read values within a value.
macro_rules! containers {
    ($($method:ident($($argument:ident: $type:ty),*))*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $type,)* visitor: V) -> Result<V::Value, D::Error> {
            self.counter.count()?;
            let visitor = self.with(visitor);
            self.inner.$method($($argument,)* visitor)
        }
    )*};
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Counted<'_, D> {
    type Error = D::Error;

    scalars! {
        deserialize_bool deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128 deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf deserialize_unit
    }

    containers! {
        deserialize_any()
        deserialize_option()
        deserialize_unit_struct(name: &'static str)
        deserialize_newtype_struct(name: &'static str)
        deserialize_seq()
        deserialize_tuple(len: usize)
        deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_map()
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    /// The name of a field, which is not kept.
    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_identifier(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_ignored_any(visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Methods that take a value as it is.
macro_rules! values {
    ($($method:ident($type:ty))*) => {$(
        fn $method<E: Error>(self, value: $type) -> Result<V::Value, E> {
            self.inner.$method(value)
        }
    )*};
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Counted<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    values! {
        visit_bool(bool) visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128) visit_u8(u8)
        visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128) visit_f32(f32) visit_f64(f64) visit_char(char)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String) visit_bytes(&[u8])
        visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_some(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.visit_newtype_struct(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        let entries = self.with(entries);
        self.inner.visit_seq(entries)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<V::Value, A::Error> {
        let fields = self.with(fields);
        self.inner.visit_map(fields)
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<V::Value, A::Error> {
        let data = self.with(data);
        self.inner.visit_enum(data)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Counted<'_, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        let deserializer = self.with(deserializer);
        self.inner.deserialize(deserializer)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.with(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.with(seed);
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.next_value_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'c, A: EnumAccess<'de>> EnumAccess<'de> for Counted<'c, A> {
    type Error = A::Error;
    type Variant = Counted<'c, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let counter = self.counter;
        let (value, variant) = self.inner.variant_seed(seed)?;
        Ok((value, Counted::new(variant, counter)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Counted<'_, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.with(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = self.with(visitor);
        self.inner.tuple_variant(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = self.with(visitor);
        self.inner.struct_variant(fields, visitor)
    }
}

/// An array of which no more than `MOST` entries are allowed. One more is kept, so that its reader sees that there are too many,
/// and the rest is passed over: an entry of ten bytes may be a hundred times that in memory.
#[derive(Debug)]
pub struct Few<T, const MOST: usize>(pub Vec<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for Few<T, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(FewVisitor::<T, MOST>(PhantomData)).map(Self)
    }
}

struct FewVisitor<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for FewVisitor<T, MOST> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
        let mut kept = Vec::new();
        while kept.len() <= MOST {
            let Some(entry) = entries.next_element()? else { return Ok(kept) };
            kept.push(entry);
        }
        while entries.next_element::<IgnoredAny>()?.is_some() {}
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::value::RawValue;

    use super::*;

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    enum Shape {
        Point,
        Line(Vec<u8>),
        Box { sides: Vec<u8> },
    }

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    struct Whole {
        names: Option<Vec<String>>,
        shapes: Vec<Shape>,
        labels: BTreeMap<String, Option<String>>,
    }

    fn read<'de, T: Deserialize<'de>>(json: &'de str, counter: &Counter<'_>) -> serde_json::Result<T> {
        T::deserialize(Counted::new(&mut serde_json::Deserializer::from_str(json), counter))
    }

    #[test]
    fn what_is_counted_is_read_as_without() {
        let json =
            r#"{"names":["a"],"shapes":["Point",{"Line":[1,2]},{"Box":{"sides":[3]}}],"labels":{"x":"1","y":null}}"#;
        let counter = Counter::new(&|_| true);
        assert_eq!(read::<Whole>(json, &counter).unwrap(), serde_json::from_str(json).unwrap());
        assert_eq!(counter.refused(), None);
        let counter = Counter::new(&|_| true);
        assert_eq!(
            read::<serde_json::Value>(json, &counter).unwrap(),
            serde_json::from_str::<serde_json::Value>(json).unwrap()
        );
    }

    #[test]
    fn a_value_is_paid_for_wherever_it_is() {
        let hundred = |entry: &str| vec![entry; 100].join(",");
        let names: Vec<String> = (0..100).map(|n| format!("\"{n}\":null")).collect();
        for json in [
            format!(r#"{{"shapes":[{{"Line":[{}]}}],"labels":{{}}}}"#, hundred("1")),
            format!(r#"{{"shapes":[{{"Box":{{"sides":[{}]}}}}],"labels":{{}}}}"#, hundred("1")),
            format!(r#"{{"names":[{}],"shapes":[],"labels":{{}}}}"#, hundred("\"n\"")),
            format!(r#"{{"shapes":[],"labels":{{{}}}}}"#, names.join(",")),
        ] {
            let paid = Cell::new(0);
            let grow = |bytes| {
                paid.set(paid.get() + bytes);
                true
            };
            read::<Whole>(&json, &Counter::new(&grow)).unwrap();
            assert!(paid.get() >= 100 * VALUE_BYTES, "{json}: {}", paid.get());
        }
    }

    #[test]
    fn reading_stops_where_there_is_no_memory_and_at_the_bound() {
        let most = Cell::new(10_usize);
        let grow = |_| most.replace(most.get().saturating_sub(1)) > 0;
        let counter = Counter::new(&grow);
        assert!(read::<Vec<u8>>(&format!("[{}1]", "1,".repeat(1_000)), &counter).is_err());
        assert_eq!(counter.refused(), Some(Refused::NoMemory));
        let counter = Counter::new(&|_| true);
        assert!(read::<Vec<u8>>(&format!("[{}1]", "1,".repeat(MAX_VALUES)), &counter).is_err());
        assert_eq!(counter.refused(), Some(Refused::TooMany));
    }

    #[test]
    fn what_is_passed_over_or_kept_as_it_is_does_not_count() {
        let json = format!("[{}1]", "1,".repeat(MAX_VALUES));
        let counter = Counter::new(&|_| true);
        read::<IgnoredAny>(&json, &counter).unwrap();
        assert_eq!(read::<&RawValue>(&json, &counter).unwrap().get(), json);
        assert_eq!(counter.refused(), None);
    }
}
