//! Objects that keep the order of their entries.

use indexmap::IndexMap;

use super::Value;

/// An object: entries in the order of their first insertion, each key once.
///
/// Two objects are equal if they have equal entries, in whatever order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Object(IndexMap<String, Value>);

impl Object {
    /// An object without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets an entry and returns what it was. A key that was there keeps its place, as in
    /// JavaScript.
    pub fn insert(&mut self, key: impl Into<String>, value: impl Into<Value>) -> Option<Value> {
        self.0.insert(key.into(), value.into())
    }

    /// The entry `key`.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(key)
    }

    /// Whether there is an entry `key`.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Takes the entry `key` out; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(key)
    }

    /// The entries in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &Value)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl IntoIterator for Object {
    type Item = (String, Value);
    type IntoIter = indexmap::map::IntoIter<String, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let entries = entries.into_iter();
        Self(entries.map(|(key, value)| (key.into(), value.into())).collect())
    }
}
