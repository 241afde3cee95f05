//! Each default of the agent, with its reason.
//!
//! A default is right for those who do not know that it exists. So what is on by default cannot
//! surprise, and what makes requests wait or fail is off until somebody asks for it. The one
//! exception is time: a wait without an end is worse than an error with numbers.
//!
//! | option | default | why |
//! |---|---|---|
//! | [`max_connections`] | no limit | A limit makes requests wait, and only the caller knows what the server bears. |
//! | [`max_total_connections`] | no limit | The same. |
//! | [`max_waiting`] | no limit | Nothing waits without `max_connections`; and the wait is bounded in time. |
//! | [`max_idle`] | 256 per origin | Far more than a steady load needs, and a bound on what a spike leaves behind. agentkeepalive has the same. |
//! | [`surplus_grace`] | 0 | `max_idle` is a limit, and who sets it means it; waves of requests are for who has them to name. |
//! | [`min_idle`] | 0 | Each connection kept ready costs a handshake per idle time, used or not. |
//! | [`idle_timeout`] | 4 s | Node closes after 5 s, the shortest among common servers. Where a server says how long it keeps a connection, that counts. |
//! | [`max_idle_timeout`] | 10 min | How far such a server is believed. undici has the same. |
//! | [`max_lifetime`] | no limit | Closing a connection that works costs a handshake. Set it where names change their addresses. |
//! | [`max_requests_per_connection`] | no limit | The same; servers that have a limit say `Connection: close`. |
//! | [`scheduling`] | last in, first out | After a spike the surplus stays idle and is closed, and the connection that was used last is the least likely to be stale. |
//! | [`acquire_timeout`] | 30 s | Connections that are held by mistake show as an error and not as a hang. |
//! | [`prefer_wait`] | 0 | A request that dials at once takes whichever comes first, so it loses nothing; the dial is what a wait would save. |
//! | [`dial_backoff`] | 50 ms to 1 s | A caller that tries again after one failure does not notice 50 ms; a host that is back is found within a second; and a host that is down sees one dial at a time and not one for each request. |
//! | [`connect_timeout`] | 10 s | Look-up, connect and handshake together: several lost packets, and not the minutes of the system. |
//! | [`response_timeout`] | 5 min | The slowest answers of APIs take minutes; a server that is gone must not hold a connection for ever. undici has the same. |
//! | [`read_timeout`] | 5 min | The same for each piece of a body. |
//! | [`timeout`] | none | The whole exchange has no length that would suit both a status page and a download. |
//! | [`expect_continue_timeout`] | 1 s | Servers that do not know `Expect` say nothing; curl waits as long. |
//! | [`tcp_nodelay`] | on | Requests are written whole; to hold the last packet back only makes them late. |
//! | [`tcp_keepalive`] | after 15 s | Finds a peer that has gone without a word before the middleboxes forget the connection. |
//! | [`tcp_keepalive_probes`] | every 15 s, 3 times | A peer that is gone is noticed within a minute. |
//! | [`tcp_user_timeout`] | 60 s | The same for a connection in use, where the kernel would try for a quarter of an hour. |
//! | [`spread`] | least connections | Servers behind one name are there to share the load; the first in the answer would get it all. |
//! | [`dns_cache`] | 5 s | `getaddrinfo` tells no TTL. A burst of dials costs one look-up, and a name that moves is followed within what load balancers take to notice a failure. |
//! | [`address_set_back`] | 1 s, doubling to 30 s | A restart takes about a second and is over by the second try; an address that stays down costs a dial each half minute, as nginx's `fail_timeout` of 10 s and Envoy's ejection of 30 s do. |
//! | [`dns_refresh`] | 30 s | Addresses that are taken out of service are left within about the TTLs of load balancers (60 s), at two look-ups a minute per name in use. |
//! | [`happy_eyeballs_delay`] | 250 ms | RFC 8305 recommends it. |
//! | [`learn_idle_limit`] | on | It only ever closes earlier, and only where the server was seen to close; see [`reuse`](super::reuse). |
//! | [`retry_budget`] | 0.2 | As Finagle and Envoy: a server that loses every connection is not asked twice for everything. |
//! | [`idempotency_key`] | off | The header is a promise of the server, and some servers ignore it. |
//! | [`held_after`] | 30 s | As `acquire_timeout`: a response that nobody reads for so long can fail another request. |
//! | [`max_interim_responses`] | 16 | A server that reports progress or hints sends a few. |
//! | [`http_version`] | by ALPN | The server knows best; without TLS nothing tells that it speaks HTTP/2. |
//! | [`http2_max_streams`] | 256 | More than servers commonly allow, and a bound on what one broken connection takes along. |
//! | [`http2_stream_window`], [`http2_connection_window`] | 2 MiB, 5 MiB | A download over 100 ms keeps 160 Mbit/s, and one that is not read leaves room for two more. |
//! | [`http2_keep_alive_interval`], [`http2_keep_alive_timeout`] | 20 s, 10 s | Requests share one path, so a dead one is to be known within half a minute. |
//! | [`http2_keep_alive_while_idle`] | off | Idle connections close soon, and some servers count such pings as abuse. |
//! | [`drain_bytes`] | 64 KiB | About what comes in the time of a handshake: reading the rest of a dropped response is cheaper than a new connection. |
//! | [`drain_time`] | 50 ms | The same in time. |
//! | [`redirects`] | none is followed | A redirect of a service that the program knows is a mistake more often than a place to go; followed in silence it costs an exchange each time and takes requests to other servers. |
//! | [`max_response_head`] | 64 KiB | Large cookies and security policies stay below half of it. |
//! | [`max_response_headers`] | 100 lines | As hyper. |
//! | [`proxy`] | none | Who can set a variable would else decide through whom requests go; `.proxy(Proxy::from_env())` reads them. |
//! | [`tls`] | platform's roots, TLS 1.2 and 1.3 | What the system's administrator trusts, and no version that is broken. |
//! | [`local_address`] | the system's choice | It knows the routes. |
//! | [`keep_alive`] | on | It is what the agent is for. |
//!
//! [`max_connections`]: crate::http::AgentBuilder::max_connections
//! [`max_total_connections`]: crate::http::AgentBuilder::max_total_connections
//! [`max_waiting`]: crate::http::AgentBuilder::max_waiting
//! [`max_idle`]: crate::http::AgentBuilder::max_idle
//! [`surplus_grace`]: crate::http::AgentBuilder::surplus_grace
//! [`min_idle`]: crate::http::AgentBuilder::min_idle
//! [`prefer_wait`]: crate::http::AgentBuilder::prefer_wait
//! [`dial_backoff`]: crate::http::AgentBuilder::dial_backoff
//! [`idle_timeout`]: crate::http::AgentBuilder::idle_timeout
//! [`max_idle_timeout`]: crate::http::AgentBuilder::max_idle_timeout
//! [`max_lifetime`]: crate::http::AgentBuilder::max_lifetime
//! [`max_requests_per_connection`]: crate::http::AgentBuilder::max_requests_per_connection
//! [`scheduling`]: crate::http::AgentBuilder::scheduling
//! [`acquire_timeout`]: crate::http::AgentBuilder::acquire_timeout
//! [`connect_timeout`]: crate::http::AgentBuilder::connect_timeout
//! [`response_timeout`]: crate::http::AgentBuilder::response_timeout
//! [`read_timeout`]: crate::http::AgentBuilder::read_timeout
//! [`timeout`]: crate::http::AgentBuilder::timeout
//! [`expect_continue_timeout`]: crate::http::AgentBuilder::expect_continue_timeout
//! [`tcp_nodelay`]: crate::http::AgentBuilder::tcp_nodelay
//! [`tcp_keepalive`]: crate::http::AgentBuilder::tcp_keepalive
//! [`tcp_keepalive_probes`]: crate::http::AgentBuilder::tcp_keepalive_probes
//! [`tcp_user_timeout`]: crate::http::AgentBuilder::tcp_user_timeout
//! [`http_version`]: crate::http::AgentBuilder::http_version
//! [`http2_max_streams`]: crate::http::AgentBuilder::http2_max_streams
//! [`http2_stream_window`]: crate::http::AgentBuilder::http2_stream_window
//! [`http2_connection_window`]: crate::http::AgentBuilder::http2_connection_window
//! [`http2_keep_alive_interval`]: crate::http::AgentBuilder::http2_keep_alive_interval
//! [`http2_keep_alive_timeout`]: crate::http::AgentBuilder::http2_keep_alive_timeout
//! [`http2_keep_alive_while_idle`]: crate::http::AgentBuilder::http2_keep_alive_while_idle
//! [`spread`]: crate::http::AgentBuilder::spread
//! [`dns_cache`]: crate::http::AgentBuilder::dns_cache
//! [`address_set_back`]: crate::http::AgentBuilder::address_set_back
//! [`dns_refresh`]: crate::http::AgentBuilder::dns_refresh
//! [`happy_eyeballs_delay`]: crate::http::AgentBuilder::happy_eyeballs_delay
//! [`learn_idle_limit`]: crate::http::AgentBuilder::learn_idle_limit
//! [`retry_budget`]: crate::http::AgentBuilder::retry_budget
//! [`idempotency_key`]: crate::http::AgentBuilder::idempotency_key
//! [`held_after`]: crate::http::AgentBuilder::held_after
//! [`max_interim_responses`]: crate::http::AgentBuilder::max_interim_responses
//! [`drain_bytes`]: crate::http::AgentBuilder::drain_bytes
//! [`drain_time`]: crate::http::AgentBuilder::drain_time
//! [`max_response_head`]: crate::http::AgentBuilder::max_response_head
//! [`max_response_headers`]: crate::http::AgentBuilder::max_response_headers
//! [`proxy`]: crate::http::AgentBuilder::proxy
//! [`tls`]: crate::http::AgentBuilder::tls
//! [`local_address`]: crate::http::AgentBuilder::local_address
//! [`redirects`]: crate::http::AgentBuilder::redirects
//! [`keep_alive`]: crate::http::AgentBuilder::keep_alive
