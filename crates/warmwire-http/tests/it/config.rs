//! Settings as data: what is read, what it does, and how what is wrong is told.

use std::time::Duration;

use warmwire_http::{Agent, AgentConfig, ErrorKind};
use warmwire_testkit::{Gate, Peer, Server};

use crate::support::{MEMORY, get, memory, spawn_get, until};

/// Every setting, with a value that is not its default.
const ALL: &str = r#"{
    "max_connections": 7,
    "max_total_connections": 70,
    "min_idle": 1,
    "max_idle": 5,
    "surplus_grace": "500ms",
    "max_waiting": 9,
    "idle_timeout": "1s500ms",
    "max_idle_timeout": "1m",
    "max_lifetime": "1h30m",
    "max_requests_per_connection": 1000,
    "scheduling": "fifo",
    "keep_alive": false,
    "acquire_timeout": "2s",
    "connect_timeout": "3s",
    "response_timeout": "off",
    "read_timeout": "4s",
    "timeout": "10s",
    "expect_continue_timeout": "250ms",
    "prefer_wait": "1ms",
    "dial_backoff": ["100ms", "5s"],
    "proxy": "http://me:secret@proxy.example:3128",
    "no_proxy": "localhost,10.0.0.0/8",
    "proxy_loopback": true,
    "http_version": "http1",
    "http2_max_streams": 100,
    "http2_stream_window": 65535,
    "http2_connection_window": 1000000,
    "http2_keep_alive_interval": "off",
    "http2_keep_alive_timeout": "5s",
    "http2_keep_alive_while_idle": true,
    "local_address": "127.0.0.1",
    "tcp_keepalive": "off",
    "tcp_keepalive_probes": ["20s", 4],
    "tcp_user_timeout": "45s",
    "tcp_nodelay": false,
    "happy_eyeballs_delay": "100ms",
    "unix_socket": "/run/a.sock",
    "held_after": "10s",
    "drain_bytes": 1024,
    "drain_time": "5ms",
    "max_response_head": 4096,
    "max_response_headers": 50,
    "max_interim_responses": 2,
    "retry_budget": 0.5,
    "idempotency_key": true,
    "learn_idle_limit": false,
    "redirects": 3,
    "redirects_allow_https_to_http": true,
    "redirects_allow_leaving_unix_socket": true,
    "user_agent": "test/1",
    "default_headers": {"x-one": "1"},
    "origin": {
        "https://api.example.com": {"max_connections": "unlimited", "max_lifetime": "off"},
        "unix:/run/docker.sock": {"response_timeout": "off", "redirects": "off"}
    }
}"#;

fn json(text: &str) -> Result<AgentConfig, String> {
    told(AgentConfig::from_json(text))
}

fn told(read: Result<AgentConfig, warmwire_http::Error>) -> Result<AgentConfig, String> {
    read.map_err(|error| {
        assert_eq!(error.kind(), ErrorKind::InvalidConfig);
        error.to_string().strip_prefix("configuration: ").unwrap().to_owned()
    })
}

fn shown(config: &AgentConfig) -> String {
    serde_json::to_string(config).unwrap()
}

#[test]
fn what_is_written_is_read_as_the_same() {
    let config = AgentConfig::from_json(ALL).unwrap();
    Agent::builder().config(config.clone()).build().unwrap();
    let given: serde_json::Value = serde_json::from_str(ALL).unwrap();
    assert_eq!(serde_json::to_value(&config).unwrap(), given);
    assert_eq!(AgentConfig::from_json(&shown(&config)).unwrap(), config);
    let within: std::collections::HashMap<String, AgentConfig> =
        serde_json::from_str(&format!("{{\"agent\": {ALL}}}")).unwrap();
    assert_eq!(within["agent"], config);
    assert!(AgentConfig::new().is_empty() && json("{}").unwrap().is_empty());
    assert!(!format!("{config:?}").contains("secret"));
    assert!(!format!("{config:?}").contains("\"1\""), "headers may be secrets: {config:?}");
}

#[tokio::test(start_paused = true)]
async fn settings_do_what_the_builders_options_do() {
    let gate = Gate::shut();
    let at = gate.clone();
    let server = Server::memory(move |peer| peer.echo_targets_at(at.clone()));
    let config = AgentConfig::from_json(
        r#"{
            "maxSockets": 9, "default_headers": {"x-one": "1"},
            "origin": {"HTTP://10.0.0.1:80/": {"max_connections": 1, "acquire_timeout": "70ms"}}
        }"#,
    );
    let builder = Agent::builder().config(config.unwrap()).connector(memory(&server));
    let agent = builder.build().unwrap();
    let first = spawn_get(&agent, MEMORY);
    until(&agent, |total| total.active == 1).await;
    let began = tokio::time::Instant::now();
    let error = get(&agent, MEMORY).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::AcquireTimeout);
    assert!(began.elapsed() >= Duration::from_millis(70));
    assert!(began.elapsed() < Duration::from_millis(75));
    let other = spawn_get(&agent, "http://10.0.0.2");
    until(&agent, |total| total.active == 2).await;
    gate.open();
    first.await.unwrap().unwrap();
    other.await.unwrap().unwrap();
    assert_eq!(server.counts().requests[0].header("x-one"), Some("1"));
}

#[test]
fn names_and_units_of_other_clients() {
    for (given, wanted) in [
        // agentkeepalive's own example, less its timeout.
        (
            r#"{"maxSockets": 100, "maxFreeSockets": 10, "freeSocketTimeout": 30000}"#,
            r#"{"max_connections":100,"max_idle":10,"idle_timeout":"30s"}"#,
        ),
        (r#"{"freeSocketTimeout": "30s"}"#, r#"{"idle_timeout":"30s"}"#),
        (r#"{"freeSocketTimeout": "1 minute"}"#, r#"{"idle_timeout":"1m"}"#),
        (r#"{"freeSocketTimeout": "4000"}"#, r#"{"idle_timeout":"4s"}"#),
        (r#"{"freeSocketTimeout": 0}"#, r#"{"idle_timeout":"8760h"}"#),
        (r#"{"socketActiveTTL": 0}"#, r#"{"max_lifetime":"off"}"#),
        (r#"{"socketActiveTTL": 60000}"#, r#"{"max_lifetime":"1m"}"#),
        (
            r#"{"keepAlive": false, "keepAliveMsecs": 1000}"#,
            r#"{"keep_alive":false,"tcp_keepalive":"1s"}"#,
        ),
        (
            r#"{"scheduling": "fifo", "maxTotalSockets": 9}"#,
            r#"{"max_total_connections":9,"scheduling":"fifo"}"#,
        ),
        (
            r#"{"connections": 8, "keepAliveTimeout": 4000, "keepAliveMaxTimeout": 600000}"#,
            r#"{"max_connections":8,"idle_timeout":"4s","max_idle_timeout":"10m"}"#,
        ),
        (
            r#"{"headersTimeout": 0, "bodyTimeout": 300000.5, "connect": {"timeout": 10000}}"#,
            r#"{"connect_timeout":"10s","response_timeout":"off","read_timeout":"5m500us"}"#,
        ),
        (r#"{"pipelining": 1, "clientTtl": null}"#, r#"{"keep_alive":true}"#),
        (r#"{"pipelining": 0, "connections": null}"#, r#"{"keep_alive":false}"#),
        (r#"{"allowH2": false}"#, r#"{"http_version":"http1"}"#),
        (r#"{"allowH2": true}"#, r#"{"http_version":"negotiate"}"#),
        (
            r#"{"maxRequestsPerClient": 5, "maxRedirections": 0}"#,
            r#"{"max_requests_per_connection":5,"redirects":"off"}"#,
        ),
    ] {
        let config = json(given).unwrap_or_else(|error| panic!("{given}: {error}"));
        assert_eq!(shown(&config), wanted, "{given}");
    }
}

#[test]
fn what_is_wrong_is_named_with_what_is_allowed() {
    for (given, wanted) in [
        (
            r#"{"max_conections": 1}"#,
            r#""max_conections" is no setting; did you mean max_connections?"#,
        ),
        (r#"{"maxSocket": 1}"#, r#""maxSocket" is no setting; did you mean maxSockets?"#),
        (
            r#"{"connect": {"timeot": 1}}"#,
            r#""connect.timeot" is no setting; did you mean connect.timeout?"#,
        ),
        (r#"{"xyzzy": 1}"#, r#""xyzzy" is no setting"#),
        (
            r#"{"max_connections": 0}"#,
            r#"max_connections = 0: allowed is a whole number, at least 1, or "unlimited""#,
        ),
        (
            r#"{"maxSockets": -1}"#,
            r#"maxSockets = -1: allowed for this name of agentkeepalive is a whole number, at least 1, or "unlimited""#,
        ),
        (
            r#"{"idle_timeout": 30}"#,
            r#"idle_timeout = 30: allowed is a time with its unit, as "30s", "250ms" or "1h30m""#,
        ),
        (
            r#"{"proxy": "gopher://me:secret@p"}"#,
            r#"proxy = …: allowed is the URL of a proxy, "environment", or "off""#,
        ),
        (
            r#"{"no_proxy": ["a", "10.0.0.0/33"]}"#,
            r#"no_proxy = a list: allowed is hosts as "localhost, .example.com, 10.0.0.0/8", or a list"#,
        ),
        (r#"{"tls_root": "a"}"#, r#""tls_root" is no setting; did you mean tls_roots?"#),
        (r#"{"tcp_nodelay": "yes"}"#, r#"tcp_nodelay = "yes": allowed is true or false"#),
        (r#"{"retry_budget": 2}"#, "retry_budget = 2: allowed is a number from 0 to 1"),
        (r#"{"scheduling": "random"}"#, r#"scheduling = "random": allowed is "lifo" or "fifo""#),
        (r#"{"local_address": "here"}"#, r#"local_address = "here": allowed is an IP address"#),
        (
            r#"{"dial_backoff": "1s"}"#,
            "dial_backoff = \"1s\": allowed is a list of two: a time with its unit, as \"30s\", \"250ms\" \
             or \"1h30m\"; a time with its unit, as \"30s\", \"250ms\" or \"1h30m\"",
        ),
        (
            r#"{"max_connections": 1, "maxSockets": 1}"#,
            "maxSockets and max_connections are the same setting, max_connections",
        ),
        (
            r#"{"connections": 1, "maxSockets": 1}"#,
            "maxSockets and connections are the same setting, max_connections",
        ),
        (r#"{"max_idle": 1, "max_idle": 1}"#, "max_idle is there twice"),
        (
            r#"{"keepAliveTimeout": 0}"#,
            "keepAliveTimeout = 0: allowed for this name of undici is milliseconds above 0, or a time with its unit as \"30s\"",
        ),
        (
            r#"{"pipelining": 10}"#,
            "pipelining = 10: allowed for this name of undici is 1, or 0 for no keep-alive: requests are \
             never sent ahead of responses",
        ),
        (
            r#"{"keepAliveTimeoutThreshold": 1000}"#,
            "keepAliveTimeoutThreshold = 1000: allowed for this name of undici is nothing: the margin \
             below a server's hint is a second, or a tenth of a short one",
        ),
        (
            r#"{"timeout": 60000}"#,
            "timeout = 60000: allowed is a time with its unit, as \"30s\", \"250ms\" or \"1h30m\", or \
             \"off\" (agentkeepalive's timeout is read_timeout here, and timeout is for the whole \
             exchange)",
        ),
        (
            r#"{"maxSockets": 5, "timeout": "60s"}"#,
            "timeout stands next to maxSockets: agentkeepalive's timeout is read_timeout here, and \
             timeout is for the whole exchange",
        ),
        (
            r#"{"origin": {"https://a.example": {"keep_alive": false}}}"#,
            "keep_alive is one for all origins and cannot be set for \"https://a.example\"",
        ),
        (
            r#"{"origin": {"https://a.example/x": {}}}"#,
            "\"https://a.example/x\" is not an origin: it has a path or a query",
        ),
        (
            r#"{"origin": {"https://a.example": {}, "https://A.example:443/": {}}}"#,
            "the origin https://a.example is there twice",
        ),
        (r#"{"origin": 1}"#, "origin = 1: allowed is a table with a table for each origin"),
        (r#"{"origin": {"http://a": 1}}"#, "\"http://a\" = 1: allowed is a table of settings"),
        (r#"[1]"#, "a list is no table of settings"),
    ] {
        assert_eq!(json(given).unwrap_err(), wanted, "{given}");
    }
    assert!(json("{").unwrap_err().contains("line 1"));
    let late = json(r#"{"min_idle": 5, "max_connections": 2}"#).unwrap();
    let error = Agent::builder().config(late).build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidConfig);
    assert!(error.to_string().contains("min_idle is 5 and max_connections is 2"), "{error}");
}

#[test]
fn the_environment_has_all_but_tables() {
    let vars = [
        ("PATH", "/bin"),
        ("WARMWIRE_MAX_CONNECTIONS", "10"),
        ("WARMWIRE_MAX_WAITING", "unlimited"),
        ("WARMWIRE_IDLE_TIMEOUT", "30s"),
        ("WARMWIRE_TCP_NODELAY", "0"),
        ("WARMWIRE_RETRY_BUDGET", "0.25"),
        ("WARMWIRE_DIAL_BACKOFF", "100ms, 2s"),
        ("WARMWIRE_TCP_KEEPALIVE_PROBES", "10s,5"),
        ("WARMWIRE_READ_TIMEOUT", ""),
        ("WARMWIRE_SERVICE_HOST", "10.3.0.7"),
        ("WARMWIRE_PORT_80_TCP", "tcp://10.3.0.7:80"),
    ];
    assert_eq!(
        shown(&AgentConfig::from_vars(vars).unwrap()),
        r#"{"max_connections":10,"max_waiting":"unlimited","idle_timeout":"30s","dial_backoff":["100ms","2s"],"tcp_keepalive_probes":["10s",5],"tcp_nodelay":false,"retry_budget":0.25}"#
    );
    for (variable, value, wanted) in [
        (
            "WARMWIRE_MAX_CONNECTION",
            "1",
            "WARMWIRE_MAX_CONNECTION is no setting; did you mean WARMWIRE_MAX_CONNECTIONS?",
        ),
        ("WARMWIRE_KEEP_ALIVE", "yes", "WARMWIRE_KEEP_ALIVE = \"yes\": allowed is true or false"),
        (
            "WARMWIRE_MAX_IDLE",
            "ten",
            "WARMWIRE_MAX_IDLE = \"ten\": allowed is a whole number, or \"unlimited\"",
        ),
        (
            "WARMWIRE_DIAL_BACKOFF",
            "1s",
            "WARMWIRE_DIAL_BACKOFF = a list: allowed is a list of two: a time with its unit, as \"30s\", \"250ms\" or \"1h30m\"; a time with its unit, as \"30s\", \"250ms\" or \"1h30m\"",
        ),
    ] {
        assert_eq!(told(AgentConfig::from_vars([(variable, value)])).unwrap_err(), wanted);
    }
    AgentConfig::from_env().unwrap();
}

#[test]
fn what_is_merged_goes_before_what_was_there() {
    let mut config = json(
        r#"{"max_idle": 1, "max_waiting": 2, "origin": {"http://a": {"max_idle": 3, "timeout": "1s"}}}"#,
    )
    .unwrap();
    config.merge(
        json(r#"{"max_idle": 4, "origin": {"http://a": {"max_idle": 5}, "http://b": {"max_idle": 6}}}"#)
            .unwrap(),
    );
    assert_eq!(
        shown(&config),
        r#"{"max_idle":4,"max_waiting":2,"origin":{"http://a":{"max_idle":5,"timeout":"1s"},"http://b":{"max_idle":6}}}"#
    );
}

#[cfg(feature = "toml")]
#[test]
fn toml_tells_line_and_column() {
    let text = r#"
max_connections = 0x10
idle_timeout = "30s"
connect.timeout = 5_000

[default_headers]
x-one = "1"

[origin."https://api.example.com"]
max_connections = 2
"#;
    let config = AgentConfig::from_toml(text).unwrap();
    assert_eq!(
        shown(&config),
        r#"{"max_connections":16,"idle_timeout":"30s","connect_timeout":"5s","default_headers":{"x-one":"1"},"origin":{"https://api.example.com":{"max_connections":2}}}"#
    );
    for (given, wanted) in [
        (
            "\n\n  max_conections = 1",
            "line 3, column 3: \"max_conections\" is no setting; did you mean max_connections?",
        ),
        (
            "idle_timeout = 2024-01-01",
            "line 1, column 1: idle_timeout = a date: allowed is a time with its unit, as \"30s\", \"250ms\" or \"1h30m\"",
        ),
        (
            "[origin.\"http://a\"]\nmax_idle = \"x\"",
            "line 2, column 1: max_idle = \"x\": allowed is a whole number, or \"unlimited\"",
        ),
        (
            "[origin.\"http://a/b\"]",
            "line 1, column 9: \"http://a/b\" is not an origin: it has a path or a query",
        ),
        (
            "max_idle = 1\nmaxFreeSockets = 2",
            "line 2, column 1: maxFreeSockets and max_idle are the same setting, max_idle",
        ),
    ] {
        assert_eq!(told(AgentConfig::from_toml(given)).unwrap_err(), wanted, "{given}");
    }
    let error = told(AgentConfig::from_toml("max_idle = ")).unwrap_err();
    assert!(error.starts_with("line 1, column "), "{error}");
}

#[tokio::test]
async fn a_config_over_options_and_options_over_a_config() {
    let server = Server::memory(Peer::echo_targets);
    let config = json(r#"{"max_idle": 0}"#).unwrap();
    let before = Agent::builder().max_idle(1).config(config.clone());
    let agent = before.connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    assert_eq!(agent.stats().total.idle, 0);
    let after = Agent::builder().config(config).max_idle(1);
    let agent = after.connector(memory(&server)).build().unwrap();
    get(&agent, MEMORY).await.unwrap();
    assert_eq!(agent.stats().total.idle, 1);
}
