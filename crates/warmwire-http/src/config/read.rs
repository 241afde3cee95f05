//! From names and values to settings, with errors that say what was meant.

use std::collections::BTreeMap;

use super::foreign::{self, FOREIGN, Foreign};
use super::raw::{Entry, Raw};
use super::settings::{self, SETTINGS, Setting};
use super::value::{Kind, Value};
use super::{AgentConfig, Values};
use crate::key::Address;
use crate::url;

/// The table that has a table for each origin.
pub(super) const ORIGINS: &str = "origin";

/// What the variables of the environment begin with.
pub(super) const PREFIX: &str = "WARMWIRE_";

pub(super) fn document(raw: Raw) -> Result<AgentConfig, String> {
    let Raw::Table(entries) = raw else {
        return Err(format!("{raw} is no table of settings"));
    };
    let (origins, settings): (Vec<_>, Vec<_>) =
        entries.into_iter().partition(|entry| entry.name == ORIGINS);
    let mut config = AgentConfig { values: table(settings, None)?, origins: BTreeMap::new() };
    for entry in origins {
        let Raw::Table(tables) = entry.value else {
            return Err(entry.fault(format_args!(
                "{ORIGINS} = {}: allowed is a table with a table for each origin",
                entry.value
            )));
        };
        for entry in tables {
            let name = origin_name(&entry.name).map_err(|why| entry.fault(why))?;
            let Raw::Table(settings) = entry.value else {
                return Err(entry.fault(format_args!(
                    "{:?} = {}: allowed is a table of settings",
                    entry.name, entry.value
                )));
            };
            let values = table(settings, Some(&entry.name))?;
            if config.origins.insert(name.clone(), values).is_some() {
                return Err(format!("the origin {name} is there twice"));
            }
        }
    }
    Ok(config)
}

pub(super) fn variables<N, V>(vars: impl IntoIterator<Item = (N, V)>) -> Result<Values, String>
where
    N: AsRef<str>,
    V: Into<String>,
{
    let mut values = Values::new();
    for (variable, text) in vars {
        let (variable, text) = (variable.as_ref(), text.into());
        let Some(name) = variable.strip_prefix(PREFIX) else { continue };
        let kubernetes =
            name.starts_with("SERVICE_") || name == "PORT" || name.starts_with("PORT_");
        if kubernetes || text.is_empty() {
            continue;
        }
        let in_environment = |setting: &&Setting| !matches!(setting.kind, Kind::Map);
        let known = SETTINGS.iter().filter(in_environment);
        let of_variable = |setting: &Setting| setting.name.to_ascii_uppercase();
        let Some(setting) = known.clone().find(|setting| of_variable(setting) == name) else {
            let names = known.map(|setting| format!("{PREFIX}{}", of_variable(setting)));
            return Err(format!("{variable} is no setting{}", nearest(variable, names)));
        };
        let raw = setting.kind.interpret(text);
        let value = setting
            .kind
            .read(&raw)
            .ok_or_else(|| format!("{variable} = {raw}: allowed is {}", setting.kind.allowed()))?;
        values.insert(setting.name, value);
    }
    Ok(values)
}

/// The origin's name in its normal form.
fn origin_name(text: &str) -> Result<String, String> {
    let name = || {
        let (uri, unix) = url::origin(text)?;
        Ok(Address::of(&uri, unix)?.name())
    };
    name().map_err(|error: crate::Error| error.to_string())
}

/// The settings in a table: of an origin, or of the agent.
fn table(entries: Vec<Entry>, origin: Option<&str>) -> Result<Values, String> {
    let mut values = Values::new();
    // By which name each setting was given.
    let mut given = BTreeMap::new();
    let mut of_keepalive = None;
    for entry in entries.into_iter().flat_map(flatten) {
        let known = Known::find(&entry.name).ok_or_else(|| {
            let names = SETTINGS.iter().map(|setting| setting.name.to_owned());
            let names = names.chain(FOREIGN.iter().map(|foreign| foreign.name.to_owned()));
            entry.fault(format_args!(
                "{:?} is no setting{}",
                entry.name,
                nearest(&entry.name, names)
            ))
        })?;
        if let Known::Foreign(Foreign { client: foreign::KEEPALIVE, name, .. }) = known {
            of_keepalive = Some(*name);
        }
        let Some(value) = known.read(&entry)? else { continue };
        let own = known.own();
        if let Some(origin) = origin
            && settings::find(own).is_some_and(|setting| setting.origin.is_none())
        {
            return Err(entry.fault(format_args!(
                "{} is one for all origins and cannot be set for {origin:?}",
                entry.name
            )));
        }
        if let Some(other) = given.insert(own, entry.name.clone()) {
            let name = &entry.name;
            return Err(entry.fault(match *name == other {
                true => format!("{name} is there twice"),
                false => format!("{name} and {other} are the same setting, {own}"),
            }));
        }
        values.insert(own, value);
    }
    match (of_keepalive, values.contains_key("timeout")) {
        (Some(name), true) => Err(format!("timeout stands next to {name}: {TWO_TIMEOUTS}")),
        _ => Ok(values),
    }
}

const TWO_TIMEOUTS: &str = "agentkeepalive's timeout is read_timeout here, and timeout is for the \
                            whole exchange";

/// undici has some options in a table `connect`.
fn flatten(entry: Entry) -> Vec<Entry> {
    match (entry.name.as_str(), entry.value) {
        ("connect", Raw::Table(inner)) => {
            let name = |inner: Entry| Entry { name: format!("connect.{}", inner.name), ..inner };
            inner.into_iter().map(name).collect()
        }
        (_, value) => vec![Entry { value, ..entry }],
    }
}

/// A setting by one of its names.
enum Known {
    Own(&'static Setting),
    Foreign(&'static Foreign),
}

impl Known {
    fn find(name: &str) -> Option<Known> {
        settings::find(name).map(Known::Own).or_else(|| foreign::find(name).map(Known::Foreign))
    }

    fn own(&self) -> &'static str {
        match self {
            Known::Own(setting) => setting.name,
            Known::Foreign(foreign) => foreign.own,
        }
    }

    /// `None` for what JavaScript would pass as not set.
    fn read(&self, entry: &Entry) -> Result<Option<Value>, String> {
        let Entry { name, value: raw, .. } = entry;
        match self {
            Known::Foreign(_) if *raw == Raw::Null => Ok(None),
            Known::Foreign(foreign) => foreign.read(raw).map(Some).map_err(|allowed| {
                entry.fault(format_args!(
                    "{name} = {raw}: allowed for this name of {} is {allowed}",
                    foreign.client
                ))
            }),
            Known::Own(setting) => setting.kind.read(raw).map(Some).ok_or_else(|| {
                let about = match raw {
                    Raw::Number(_) if *name == "timeout" => format!(" ({TWO_TIMEOUTS})"),
                    _ => String::new(),
                };
                let (raw, allowed) = (setting.kind.show(raw), setting.kind.allowed());
                entry.fault(format_args!("{name} = {raw}: allowed is {allowed}{about}"))
            }),
        }
    }
}

/// `; did you mean …?` with the nearest of `names`, if one is near.
fn nearest(name: &str, names: impl Iterator<Item = String>) -> String {
    let plain = |name: &str| name.replace(['_', '.', '-'], "").to_ascii_lowercase();
    let wanted = plain(name);
    let near = |known: &String| strsim::normalized_damerau_levenshtein(&wanted, &plain(known));
    let best =
        names.map(|known| (near(&known), known)).max_by(|one, other| one.0.total_cmp(&other.0));
    match best {
        Some((near, known)) if near > 0.5 => format!("; did you mean {known}?"),
        _ => String::new(),
    }
}
