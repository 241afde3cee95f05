//! The configuration file of `--config`.

use std::path::Path;

use clap::{Args, Command};
use toml::Table;

use super::{AgentFlags, BenchFlags};
use crate::failure::Failure;

/// Names that other agents have for the same options.
const OTHER_NAMES: [(&str, &str); 8] = [
    ("maxSockets", "max_connections"),
    ("connections", "max_connections"),
    ("maxTotalSockets", "max_total_connections"),
    ("maxFreeSockets", "max_idle"),
    ("freeSocketTimeout", "idle_timeout"),
    ("keepAliveTimeout", "idle_timeout"),
    ("keepAliveMaxTimeout", "max_idle_timeout"),
    ("socketActiveTTL", "max_lifetime"),
];

/// Reads the file that `flags` names, if any, and completes them from it.
///
/// # Errors
/// A sentence that names the file, and the key that is wrong.
pub(super) fn complete(flags: &mut BenchFlags) -> Result<(), Failure> {
    let Some(path) = flags.agent.config.clone() else { return Ok(()) };
    let text = std::fs::read_to_string(&path).map_err(|error| {
        Failure::usage(format!("cannot read --config {}: {error}", path.display()))
    })?;
    flags.agent.complete_from(read(&path, &text)?);
    Ok(())
}

fn read(path: &Path, text: &str) -> Result<AgentFlags, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::usage(format!("{}: {error}", path.display()));
    let table: Table = text.parse().map_err(|error: toml::de::Error| wrong(&error))?;
    let mut options = Table::new();
    for (key, value) in table {
        let name = known_name(&key).map_err(|sentence| wrong(&sentence))?;
        let checked: Table = [(name.clone(), value.clone())].into_iter().collect();
        if let Err(error) = checked.try_into::<AgentFlags>() {
            return Err(wrong(&format!("`{key}`: {}", error.message())));
        }
        if options.insert(name.clone(), value).is_some() {
            return Err(wrong(&format!("`{name}` is given twice, once as `{key}`")));
        }
    }
    options.try_into().map_err(|error: toml::de::Error| wrong(&error.message()))
}

/// The option that `key` names, or a sentence with the nearest.
fn known_name(key: &str) -> Result<String, String> {
    let own = key.replace('-', "_");
    let options: Vec<String> = option_names();
    if options.contains(&own) {
        return Ok(own);
    }
    if let Some((_, option)) = OTHER_NAMES.iter().find(|(other, _)| *other == key) {
        return Ok((*option).to_owned());
    }
    let nearest = options
        .iter()
        .map(|option| (strsim::jaro_winkler(&own, option), option))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match nearest {
        Some((likeness, option)) if likeness > 0.75 => {
            Err(format!("unknown option `{key}`, did you mean `{option}`?"))
        }
        _ => Err(format!("unknown option `{key}`; known are {}", options.join(", "))),
    }
}

fn option_names() -> Vec<String> {
    AgentFlags::augment_args(Command::new("options"))
        .get_arguments()
        .map(|arg| arg.get_id().to_string())
        .filter(|name| name != "config")
        .collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn read_text(text: &str) -> Result<AgentFlags, String> {
        read(Path::new("agent.toml"), text).map_err(|failure| failure.to_string())
    }

    #[test]
    fn options_are_read_by_every_name_they_have() {
        let text = r#"
            max_connections = 7
            idle-timeout = "30s"
            maxFreeSockets = 3
            scheduling = "fifo"
        "#;
        let flags = read_text(text).unwrap();
        assert_eq!(flags.max_connections, Some(7));
        assert_eq!(flags.idle_timeout.map(|span| span.0), Some(Duration::from_secs(30)));
        assert_eq!(flags.max_idle, Some(3));
        assert_eq!(flags.scheduling, Some(crate::flags::Order::Fifo));
    }

    #[test]
    fn every_option_can_be_completed_from_the_file() {
        for name in option_names() {
            let values = ["7", "\"30s\"", "\"64KiB\"", "true", "\"lifo\"", "\"127.0.0.1\""];
            let file = values.iter().find_map(|value| read_text(&format!("{name} = {value}")).ok());
            let mut flags = AgentFlags::default();
            flags.complete_from(file.unwrap_or_else(|| panic!("{name} takes none of {values:?}")));
            let set = serde_json::to_value(&flags).unwrap();
            assert!(!set[&name].is_null(), "{name} was not taken over");
        }
    }

    #[test]
    fn mistakes_name_the_file_the_key_and_the_nearest_option() {
        let error = read_text("max_conections = 7").unwrap_err();
        assert_eq!(
            error,
            "agent.toml: unknown option `max_conections`, did you mean `max_connections`?"
        );
        let error = read_text("zzz = 7").unwrap_err();
        assert!(error.contains("known are max_connections,"), "{error}");
        let error = read_text("idle_timeout = \"5\"").unwrap_err();
        assert!(error.contains("`idle_timeout`") && error.contains("30s"), "{error}");
        let error = read_text("maxSockets = 1\nmax_connections = 2").unwrap_err();
        assert!(error.contains("given twice"), "{error}");
        assert!(read_text("max_connections = ").unwrap_err().contains("agent.toml"));
    }
}
