//! TOML, with the places of names.

use ::toml::Spanned;
use ::toml::de::{DeTable, DeValue};

use super::raw::{Entry, Place, Raw};

/// The document as a table, or the parser's complaint.
pub(super) fn read(text: &str) -> Result<Raw, String> {
    match DeTable::parse(text) {
        Ok(table) => Ok(Raw::Table(entries(text, table.get_ref()))),
        Err(error) => {
            let at = error.span().map(|span| place(text, span.start));
            let why = error.message();
            let entry = Entry { name: String::new(), place: at, value: Raw::Null };
            Err(entry.fault(why))
        }
    }
}

fn entries(text: &str, table: &DeTable<'_>) -> Vec<Entry> {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by_key(|(name, _)| name.span().start);
    let entry = |(name, value): (&Spanned<_>, &Spanned<_>)| Entry {
        name: AsRef::<str>::as_ref(name.get_ref()).to_owned(),
        place: Some(place(text, name.span().start)),
        value: raw(text, value.get_ref()),
    };
    entries.into_iter().map(entry).collect()
}

fn raw(text: &str, value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(value) => Raw::Text(value.to_string()),
        // With an underscore, or not decimal: as others would write it.
        DeValue::Integer(value) => {
            let number = i128::from_str_radix(value.as_str(), value.radix());
            Raw::Number(number.map_or_else(|_| value.to_string(), |number| number.to_string()))
        }
        DeValue::Float(value) => Raw::Number(value.to_string()),
        DeValue::Boolean(value) => Raw::Flag(*value),
        DeValue::Datetime(_) => Raw::Date,
        DeValue::Array(values) => {
            Raw::List(values.iter().map(|value| raw(text, value.get_ref())).collect())
        }
        DeValue::Table(table) => Raw::Table(entries(text, table)),
    }
}

fn place(text: &str, offset: usize) -> Place {
    let before = text.get(..offset).unwrap_or(text);
    let begin = before.rfind('\n').map_or(0, |at| at + 1);
    Place { line: before.matches('\n').count() + 1, column: before[begin..].chars().count() + 1 }
}
