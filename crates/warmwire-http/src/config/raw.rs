//! A document before it is understood: names and values, with the places where they stand.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

/// A value of TOML, JSON or the environment.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Raw {
    Text(String),
    /// As it is written.
    Number(String),
    Flag(bool),
    List(Vec<Raw>),
    /// In the order of the document, with names that stand there twice.
    Table(Vec<Entry>),
    Null,
    #[cfg(feature = "toml")]
    Date,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) place: Option<Place>,
    pub(super) value: Raw,
}

/// Where a name stands, from 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

impl Entry {
    /// `why`, with the place in front.
    pub(super) fn fault(&self, why: impl fmt::Display) -> String {
        match self.place {
            Some(Place { line, column }) => format!("line {line}, column {column}: {why}"),
            None => why.to_string(),
        }
    }
}

impl fmt::Display for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Raw::Text(text) => write!(f, "{text:?}"),
            Raw::Number(number) => f.write_str(number),
            Raw::Flag(flag) => write!(f, "{flag}"),
            Raw::List(_) => f.write_str("a list"),
            Raw::Table(_) => f.write_str("a table"),
            Raw::Null => f.write_str("null"),
            #[cfg(feature = "toml")]
            Raw::Date => f.write_str("a date"),
        }
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings of an agent")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
        Ok(Raw::Flag(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Raw, E> {
        Ok(Raw::Number(value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Raw, E> {
        Ok(Raw::Text(value.to_owned()))
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Raw, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element()? {
            list.push(value);
        }
        Ok(Raw::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Raw, A::Error> {
        let mut table = Vec::new();
        while let Some((name, value)) = entries.next_entry()? {
            table.push(Entry { name, place: None, value });
        }
        Ok(Raw::Table(table))
    }
}
