//! Settings as data: from TOML, JSON and the environment.

mod duration;
pub(crate) mod files;
mod foreign;
mod raw;
mod read;
mod settings;
#[cfg(feature = "toml")]
mod toml;
mod value;

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _};
use serde::ser::{Serialize, SerializeMap, Serializer};

use self::raw::Raw;
use self::settings::SETTINGS;
use self::value::Value;
use crate::builder::AgentBuilder;
use crate::error::{Error, ErrorKind};

/// The settings of an agent as data: what a file or the environment says, for
/// [`AgentBuilder::config`].
///
/// ```
/// use warmwire_http::{Agent, AgentConfig};
///
/// # fn main() -> Result<(), warmwire_http::Error> {
/// let config = AgentConfig::from_json(
///     r#"{
///         "max_connections": 50,
///         "idle_timeout": "30s",
///         "origin": { "https://api.example.com": { "max_connections": 10 } }
///     }"#,
/// )?;
/// let agent = Agent::builder().config(config).build()?;
/// # drop(agent);
/// # Ok(())
/// # }
/// ```
///
/// A setting has the name of the builder's option. Times are text with a unit (`"30s"`, `"250ms"`,
/// `"1h30m"`), timers can be `"off"` and limits `"unlimited"`, and an option with two arguments is a
/// list of two. The names of agentkeepalive and undici are known too, and take their milliseconds.
/// Whatever cannot be understood is an error that says where it stands and what is allowed; nothing
/// is passed over.
///
/// It is serialised with the names of Warmwire, and what is serialised is read as the same: secrets
/// in it are part of that, and are not part of its `Debug`.
#[derive(Clone, Default, PartialEq)]
pub struct AgentConfig {
    values: Values,
    /// By the origin's name in its normal form.
    origins: BTreeMap<String, Values>,
}

/// By the setting's own name.
type Values = BTreeMap<&'static str, Value>;

impl AgentConfig {
    /// No setting: every option as it is by default.
    pub fn new() -> AgentConfig {
        AgentConfig::default()
    }

    /// The settings in a TOML document.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`], with line and column.
    #[cfg(feature = "toml")]
    pub fn from_toml(text: &str) -> Result<AgentConfig, Error> {
        toml::read(text).and_then(read::document).map_err(|why| invalid(&why))
    }

    /// The settings in a JSON document.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`].
    pub fn from_json(text: &str) -> Result<AgentConfig, Error> {
        let raw: Raw = serde_json::from_str(text)
            .map_err(|error| invalid(&error.to_string()).with_source(error))?;
        read::document(raw).map_err(|why| invalid(&why))
    }

    /// The settings in this process's environment: `WARMWIRE_MAX_CONNECTIONS=10`. See
    /// [`from_vars`](Self::from_vars).
    ///
    /// # Errors
    ///
    /// As [`from_vars`](Self::from_vars), and for a variable that is not UTF-8.
    pub fn from_env() -> Result<AgentConfig, Error> {
        let mut vars = Vec::new();
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            if !name.starts_with(read::PREFIX) {
                continue;
            }
            let value =
                value.into_string().map_err(|_| invalid(&format!("{name} is not UTF-8")))?;
            vars.push((name, value));
        }
        AgentConfig::from_vars(vars)
    }

    /// The settings among these variables: those that begin with `WARMWIRE_`, in upper case, with
    /// the names of Warmwire. They are for all origins; settings of one origin are for files, and
    /// so are `default_headers`. Lists are written with a comma, switches as `true`, `false`, `1`
    /// or `0`. An empty variable counts as not set.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidConfig`] for one that is none of these or has a value that is not
    /// allowed. `WARMWIRE_SERVICE_…` and `WARMWIRE_PORT…` are passed over: Kubernetes sets them in
    /// every container next to a service of the name `warmwire`.
    pub fn from_vars<N, V>(vars: impl IntoIterator<Item = (N, V)>) -> Result<AgentConfig, Error>
    where
        N: AsRef<str>,
        V: Into<String>,
    {
        let values = read::variables(vars).map_err(|why| invalid(&why))?;
        Ok(AgentConfig { values, origins: BTreeMap::new() })
    }

    /// Takes over every setting of `other`, in place of the own one of the same name.
    pub fn merge(&mut self, other: AgentConfig) {
        self.values.extend(other.values);
        for (origin, values) in other.origins {
            self.origins.entry(origin).or_default().extend(values);
        }
    }

    /// Whether it sets nothing.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty() && self.origins.is_empty()
    }
}

impl AgentBuilder {
    /// Sets what `config` sets; what was set before and is not in it stays. Bounds that depend on
    /// more than one setting are checked by [`build`](Self::build).
    pub fn config(self, config: AgentConfig) -> Self {
        let set = |builder, setting: &settings::Setting| match config.values.get(setting.name) {
            Some(value) => (setting.agent)(builder, value),
            None => builder,
        };
        let builder = SETTINGS.iter().fold(self, set);
        config.origins.into_iter().fold(builder, |builder, (url, values)| {
            builder.for_origin(url, |origin| {
                SETTINGS.iter().fold(origin, |origin, setting| {
                    match (values.get(setting.name), setting.origin) {
                        (Some(value), Some(set)) => set(origin, value),
                        _ => origin,
                    }
                })
            })
        })
    }
}

fn invalid(why: &str) -> Error {
    Error::request(ErrorKind::InvalidConfig, format!("configuration: {why}"))
}

/// Values in the order of the table of settings.
struct InOrder<'a>(&'a Values);

impl InOrder<'_> {
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let values = SETTINGS.iter().filter_map(|setting| self.0.get_key_value(setting.name));
        values.into_iter().try_for_each(|(name, value)| map.serialize_entry(name, value))
    }
}

impl Serialize for InOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.entries(&mut map)?;
        map.end()
    }
}

impl Serialize for AgentConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        InOrder(&self.values).entries(&mut map)?;
        if !self.origins.is_empty() {
            let origins: BTreeMap<_, _> =
                self.origins.iter().map(|(origin, values)| (origin, InOrder(values))).collect();
            map.serialize_entry(read::ORIGINS, &origins)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for AgentConfig {
    /// As a part of a program's own settings. Places are not known then, so that errors name the
    /// setting alone.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read::document(Raw::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl fmt::Debug for AgentConfig {
    /// Without the values of headers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_map();
        for (name, value) in &self.values {
            match value {
                Value::Map(headers) => shown.entry(name, &headers.keys()),
                value => shown.entry(name, value),
            };
        }
        shown.entries(&self.origins).finish()
    }
}
