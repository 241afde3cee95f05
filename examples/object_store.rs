//! An object store over the agent's connections.
//!
//! `cargo run -p warmwire-examples --bin object_store`

mod server;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use object_store::http::HttpBuilder;
use object_store::path::Path;
use object_store::{ClientOptions, ObjectStoreExt};
use warmwire::Agent;
use warmwire::plugs::object_store::AgentConnector;

type Objects = Arc<Mutex<HashMap<String, Bytes>>>;

/// As much of a WebDAV server as the program needs.
async fn answer(request: Request<Bytes>, objects: Objects) -> Response<Bytes> {
    let mut objects = objects.lock().expect("no holder panics");
    let path = request.uri().path().to_owned();
    let response = Response::builder()
        .header("etag", "\"1\"")
        .header("last-modified", "Tue, 01 Jan 2030 00:00:00 GMT");
    let response = match *request.method() {
        Method::PUT => {
            objects.insert(path, request.into_body());
            response.status(StatusCode::CREATED).body(Bytes::new())
        }
        _ => match objects.get(&path) {
            Some(object) => response.body(object.clone()),
            None => response.status(StatusCode::NOT_FOUND).body(Bytes::new()),
        },
    };
    response.expect("a valid response")
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let objects = Objects::default();
    let address = server::serve(move |request| answer(request, objects.clone())).await?;

    // S3, Azure and Google Cloud: the same `with_http_connector` of their builders.
    let agent = Agent::new();
    let store = HttpBuilder::new()
        .with_url(format!("http://{address}"))
        .with_client_options(ClientOptions::new().with_allow_http(true))
        .with_http_connector(AgentConnector::new(agent.clone()))
        .build()?;

    let path = Path::from("greetings/hello.txt");
    store.put(&path, "Hello, object!".into()).await?;
    let read = store.get(&path).await?.bytes().await?;
    println!("read: {}", String::from_utf8_lossy(&read));
    if let Err(object_store::Error::NotFound { .. }) = store.get(&Path::from("nowhere")).await {
        println!("missing: NotFound");
    }
    println!("connections: {}", agent.stats().total.opened);
    Ok(())
}
