//! Unix sockets: whose they are, and who may use them.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use warmwire_rpc::{Client, Context, ErrorKind, Server};

/// A folder of the test's own, which goes with it.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("ww-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    fn socket(&self) -> PathBuf {
        self.0.join("s")
    }

    fn endpoint(&self) -> String {
        format!("unix://{}", self.socket().display())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn one() -> warmwire_rpc::ServerBuilder {
    Server::builder().expose("one", || async { Ok(1) })
}

#[tokio::test]
async fn f048_a_socket_that_nobody_listens_on_is_replaced() {
    let folder = Folder::new();
    // As a process leaves it that was killed: the file is there, and nobody behind it.
    drop(UnixListener::bind(folder.socket()).expect("binds"));
    let server = one().bind(folder.endpoint()).await.expect("replaces it");
    let client = Client::connect(server.local_address()).await.expect("connects");
    assert_eq!(client.call::<i64>("one", ()).await.expect("answers"), 1);
}

#[tokio::test]
async fn f048_a_socket_with_a_listener_is_never_replaced() {
    let folder = Folder::new();
    let server = one().bind(folder.endpoint()).await.expect("binds");
    let error = one().bind(folder.endpoint()).await.expect_err("is taken");
    assert_eq!(error.kind(), ErrorKind::Bind);
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::AddrInUse));
    assert!(error.to_string().contains(&folder.endpoint()), "{error}");
    let client = Client::connect(server.local_address()).await.expect("connects");
    assert_eq!(client.call::<i64>("one", ()).await.expect("answers"), 1);

    // Nor that of a server that knows no lock files.
    let folder = Folder::new();
    let foreign = UnixListener::bind(folder.socket()).expect("binds");
    let error = one().bind(folder.endpoint()).await.expect_err("is taken");
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::AddrInUse));
    drop(foreign);
    one().bind(folder.endpoint()).await.expect("it is dead now");
}

#[tokio::test]
async fn f048_what_is_no_socket_is_never_removed() {
    let folder = Folder::new();
    let target = folder.0.join("target");
    fs::write(&target, "precious").expect("a file");
    for (make, says) in [
        (
            Box::new(|path: &PathBuf| fs::write(path, "precious"))
                as Box<dyn Fn(&PathBuf) -> std::io::Result<()>>,
            "a file",
        ),
        (Box::new(|path: &PathBuf| fs::create_dir(path)), "a directory"),
        (Box::new(|path: &PathBuf| symlink(&target, path)), "a symbolic link"),
    ] {
        let path = folder.socket();
        make(&path).expect("is made");
        let error = one().bind(folder.endpoint()).await.expect_err("is no socket");
        assert!(error.to_string().contains(says), "{error}");
        assert!(!fs::symlink_metadata(&path).expect("is there").file_type().is_socket());
        let removed = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
        removed.expect("is still there");
    }
    assert_eq!(fs::read_to_string(target).expect("is there"), "precious");
}

#[test]
fn f048_of_many_that_start_at_once_one_wins() {
    let folder = Folder::new();
    drop(UnixListener::bind(folder.socket()).expect("binds"));
    let starts: Vec<_> = (0..20)
        .map(|_| {
            let endpoint = folder.endpoint();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let runtime = runtime.expect("a runtime");
                let server = runtime.block_on(one().bind(endpoint));
                (server.is_ok(), runtime, server)
            })
        })
        .collect();
    let ends: Vec<_> = starts.into_iter().map(|start| start.join().expect("no panic")).collect();
    assert_eq!(ends.iter().filter(|(won, ..)| *won).count(), 1);
}

#[tokio::test]
async fn the_file_goes_with_its_server() {
    let folder = Folder::new();
    let server = one().bind(folder.endpoint()).await.expect("binds");
    assert!(folder.socket().exists());
    server.close().await;
    assert!(!folder.socket().exists());
}

#[tokio::test]
async fn the_mode_is_that_which_was_asked_for() {
    for mode in [0o600, 0o660, 0o777] {
        let folder = Folder::new();
        let _server = one().mode(mode).bind(folder.endpoint()).await.expect("binds");
        let metadata = fs::metadata(folder.socket()).expect("is there");
        assert_eq!(metadata.permissions().mode() & 0o777, mode);
    }
}

#[tokio::test]
async fn f079_only_the_users_that_are_allowed_are_served() {
    let folder = Folder::new();
    let me = rustix::process::getuid().as_raw();
    let server = Server::builder()
        .expose("who", |context: Context| async move {
            let who = context.peer().credentials.expect("a Unix socket");
            Ok((who.uid, who.pid))
        })
        .allowed_uids([me])
        .bind(folder.endpoint())
        .await
        .expect("binds");
    let client = Client::connect(server.local_address()).await.expect("connects");
    let who: (u32, Option<u32>) = client.call("who", ()).await.expect("served");
    assert_eq!(who, (me, Some(std::process::id())));

    let folder = Folder::new();
    let server = one().allowed_uids([me + 1]).bind(folder.endpoint()).await.expect("binds");
    let client = Client::builder().reconnect(false).connect(server.local_address()).await;
    let error = client.expect("connects").call::<i64>("one", ()).await.expect_err("not allowed");
    assert_eq!(error.kind(), ErrorKind::Disconnected);
    assert_eq!(server.stats().calls, 0);
}

#[tokio::test]
async fn f052_every_failed_connect_is_an_error_of_its_kind() {
    use std::io::ErrorKind as Io;
    let folder = Folder::new();
    let kind = async |endpoint: String| {
        let error = Client::connect(endpoint).await.expect_err("cannot connect");
        assert_eq!(error.kind(), ErrorKind::Connect, "{error}");
        error.io_kind()
    };
    assert_eq!(kind(folder.endpoint()).await, Some(Io::NotFound));
    fs::write(folder.socket(), "").expect("a file");
    assert_eq!(kind(folder.endpoint()).await, Some(Io::ConnectionRefused));
    assert_eq!(kind(format!("{}/below", folder.endpoint())).await, Some(Io::NotADirectory));
    let lazy = Client::builder().connect_lazily(folder.endpoint()).expect("an endpoint");
    while lazy.status().last_error.is_none() {
        tokio::task::yield_now().await;
    }
    let long = format!("unix:///tmp/{}", "x".repeat(200));
    let error = one().bind(long).await.expect_err("too long");
    assert!(error.to_string().contains("at most 107 bytes"), "{error}");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn f026_abstract_names_have_no_file() {
    let name = format!("unix:@ww-test-{}", std::process::id());
    let server = one().bind(&*name).await.expect("binds");
    let client = Client::connect(&*name).await.expect("connects");
    assert_eq!(client.call::<i64>("one", ()).await.expect("answers"), 1);
    let error = one().bind(&*name).await.expect_err("is taken");
    assert_eq!(error.io_kind(), Some(std::io::ErrorKind::AddrInUse));
    server.close().await;
    one().bind(&*name).await.expect("is free again");
}
