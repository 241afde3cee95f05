//! Cookies go back to where they belong, and nowhere else.

use tower::ServiceExt;
use warmwire_http::{Agent, Body};
use warmwire_plugs::cookies::{CookieJar, Cookies};
use warmwire_plugs::mock::{Mock, Reply};

struct User {
    mock: Mock,
    agent: Cookies<Agent>,
    jar: CookieJar,
}

impl User {
    fn of(mock: Mock) -> User {
        let jar = CookieJar::new();
        let agent = mock.install(Agent::builder()).build().unwrap();
        User { agent: Cookies::new(agent, jar.clone()), mock, jar }
    }

    /// Sends a request and tells the `Cookie` header that the server saw.
    async fn get(&self, url: &str) -> Option<String> {
        let request = http::Request::get(url).body(Body::empty()).unwrap();
        self.agent.clone().oneshot(request).await.unwrap();
        let requests = self.mock.requests();
        requests.last().unwrap().header("cookie").map(str::to_owned)
    }
}

fn set(cookies: &[&'static str]) -> Reply {
    cookies.iter().fold(Reply::status(200), |reply, cookie| reply.header("set-cookie", *cookie))
}

#[tokio::test]
async fn a_cookie_goes_back_to_its_host_and_path_and_not_elsewhere() {
    let answer = set(&["id=7; Path=/shop", "all=1; Path=/; HttpOnly"]);
    let user = User::of(Mock::new().reply(answer).otherwise(|_| Reply::status(200)));
    assert_eq!(user.get("http://a.test/shop/login").await, None);
    assert_eq!(user.get("http://a.test/shop/cart").await.as_deref(), Some("id=7; all=1"));
    assert_eq!(user.get("http://a.test/").await.as_deref(), Some("all=1"));
    assert_eq!(user.get("http://b.test/shop/cart").await, None);
    assert_eq!(user.jar.get("http://a.test/shop/", "id").as_deref(), Some("7"));
}

#[tokio::test]
async fn domains_reach_below_and_never_beside() {
    let answer = set(&["wide=1; Domain=a.test", "foreign=1; Domain=b.test"]);
    let user = User::of(Mock::new().reply(answer).otherwise(|_| Reply::status(200)));
    user.get("http://www.a.test/").await;
    assert_eq!(user.get("http://api.a.test/").await.as_deref(), Some("wide=1"));
    assert_eq!(user.get("http://nota.test/").await, None);
    assert_eq!(user.get("http://b.test/").await, None);
}

#[tokio::test]
async fn a_secure_cookie_never_travels_in_the_clear() {
    let user = User::of(Mock::new().otherwise(|_| Reply::status(200)));
    assert!(user.jar.set("https://a.test/", "secret=1; Secure"));
    assert!(user.jar.set("https://a.test/", "open=1"));
    assert_eq!(user.get("http://a.test/").await.as_deref(), Some("open=1"));
    assert_eq!(user.jar.get("https://a.test/", "secret").as_deref(), Some("1"));
}

#[tokio::test]
async fn a_server_changes_and_takes_back_what_it_has_set() {
    let mock = Mock::new()
        .reply(set(&["id=1"]))
        .reply(set(&["id=2"]))
        .reply(set(&["id=; Max-Age=0"]))
        .reply("end");
    let user = User::of(mock);
    assert_eq!(user.get("http://a.test/").await, None);
    assert_eq!(user.get("http://a.test/").await.as_deref(), Some("id=1"));
    assert_eq!(user.get("http://a.test/").await.as_deref(), Some("id=2"));
    assert_eq!(user.get("http://a.test/").await, None);
}

#[tokio::test]
async fn a_cookie_header_of_the_callers_own_is_sent_alone() {
    let user = User::of(Mock::new().otherwise(|_| Reply::status(200)));
    user.jar.set("http://a.test/", "jar=1");
    let request = http::Request::get("http://a.test/").header("cookie", "own=1");
    let request = request.body(Body::empty()).unwrap();
    user.agent.clone().oneshot(request).await.unwrap();
    assert_eq!(user.mock.requests()[0].header("cookie"), Some("own=1"));
}

#[tokio::test]
async fn a_jar_is_bounded_and_shows_no_values() {
    let user = User::of(Mock::new());
    for n in 0..3_000 {
        assert!(user.jar.set("http://a.test/", &format!("n{n}=secret")));
    }
    assert!(!user.jar.set("http://a.test/", "one-more=1"));
    assert!(user.jar.set("http://a.test/", "n0=changed"));
    assert!(user.jar.set("http://a.test/", "n1=; Max-Age=0"));
    assert!(user.jar.set("http://a.test/", "room-again=1"));
    assert!(!user.jar.set("http://b.test/", &format!("long={}", "x".repeat(9_000))));
    assert_eq!(format!("{:?}", user.jar), "CookieJar { cookies: 3000 }");
    user.jar.clear();
    assert_eq!(format!("{:?}", user.jar), "CookieJar { cookies: 0 }");
}
