//! Logs in and stays logged in: the jar sends back what the server has set.
//!
//! `cargo run -p warmwire-examples --bin cookies`

mod server;

use http_body_util::BodyExt;
use tower::Service;
use warmwire::Agent;
use warmwire::http::Body;
use warmwire::plugs::cookies::{CookieJar, Cookies};

async fn answer(request: http::Request<bytes::Bytes>) -> http::Response<bytes::Bytes> {
    if request.uri().path() == "/login" {
        let response = http::Response::builder();
        let response = response.header("set-cookie", "session=42; Path=/; HttpOnly; SameSite=Lax");
        return response.body("welcome".into()).expect("a valid response");
    }
    let cookie = request.headers().get("cookie").and_then(|value| value.to_str().ok());
    http::Response::new(cookie.unwrap_or("who are you?").to_owned().into())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let address = server::serve(answer).await?;
    let jar = CookieJar::new();
    let mut agent = Cookies::new(Agent::new(), jar.clone());

    let mut get = async |path: &str| -> Result<String, Box<dyn std::error::Error + Send + Sync>> {
        let request = http::Request::get(format!("http://{address}{path}")).body(Body::empty())?;
        let body = agent.call(request).await?.into_body().collect().await?.to_bytes();
        Ok(String::from_utf8(body.into())?)
    };
    println!("before: {}", get("/me").await?);
    get("/login").await?;
    println!("after: {}", get("/me").await?);
    println!("in the jar: {:?}", jar.get(&format!("http://{address}/"), "session"));
    Ok(())
}
