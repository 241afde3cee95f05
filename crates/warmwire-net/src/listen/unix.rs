//! Sockets that listen: TCP with a backlog, and Unix sockets whose file is never taken from anybody.
//!
//! Beside the socket `PATH` stands a lock file `PATH.lock`, which is locked as long as somebody
//! listens. Who holds the lock may look whether the socket is dead and replace it, so two who start
//! at once cannot take it from each other. A server that knows no lock file (Node's) is found by
//! connecting to it: only a refused connection proves that nobody listens (F048).

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::{TcpListener, UnixListener};

/// The file of a Unix socket that is listened on. Dropped, it is removed.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    /// Device and inode: another server's file in the same place stays.
    identity: (u64, u64),
    /// The lock goes with it, after the socket's file.
    #[expect(dead_code, reason = "held for its Drop")]
    lock: fs::File,
}

impl File {
    pub(super) fn bind(
        path: &Path,
        mode: Option<u32>,
        backlog: u32,
    ) -> io::Result<(UnixListener, File)> {
        let address = SockAddr::unix(path).map_err(|error| too_long(path, &error))?;
        let lock = lock(path)?;
        remove_dead(path, &address)?;
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        socket.bind(&address)?;
        let metadata = fs::symlink_metadata(path)?;
        let file = File { path: path.to_owned(), identity: (metadata.dev(), metadata.ino()), lock };
        if let Some(mode) = mode {
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        }
        // Until here a connect is refused, so the mode holds from the first one on.
        Ok((listen(socket, backlog)?, file))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let current = fs::symlink_metadata(&self.path);
        if current.is_ok_and(|found| (found.dev(), found.ino()) == self.identity) {
            // If it cannot be removed, the next server finds it dead.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Binds an abstract name, which has no file and ends with its socket.
#[cfg(target_os = "linux")]
pub(super) fn bind_abstract(name: &str, backlog: u32) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(format!("\0{name}"))?)?;
    listen(socket, backlog)
}

/// Only Linux has abstract names.
#[cfg(not(target_os = "linux"))]
pub(super) fn bind_abstract(_: &str, _: u32) -> io::Result<UnixListener> {
    let text = "abstract socket names exist on Linux only: use a path";
    Err(io::Error::new(io::ErrorKind::Unsupported, text))
}

/// Listens on a TCP address.
pub(super) fn listen_tcp(address: SocketAddr, backlog: u32) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
    // A server that starts again finds its old connections in TIME_WAIT.
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    TcpListener::from_std(socket.into())
}

fn listen(socket: Socket, backlog: u32) -> io::Result<UnixListener> {
    socket.set_nonblocking(true)?;
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    UnixListener::from_std(StdUnixListener::from(socket))
}

fn lock(path: &Path) -> io::Result<fs::File> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock = fs::OpenOptions::new().create(true).truncate(false).write(true).open(&lock_path);
    let lock = lock.map_err(|error| {
        let path = Path::new(&lock_path).display();
        io::Error::new(error.kind(), format!("the lock file {path}: {error}"))
    })?;
    match lock.try_lock() {
        Ok(()) => Ok(lock),
        Err(fs::TryLockError::WouldBlock) => Err(in_use()),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Removes the socket in `path` if nobody listens on it.
fn remove_dead(path: &Path, address: &SockAddr) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if !found.file_type().is_socket() {
        let text = format!("there is {} and no socket; it is left as it is", kind(&found));
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A full backlog must not make this wait.
    probe.set_nonblocking(true)?;
    match probe.connect(address) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // Whatever else it answers, it may live.
        Ok(()) | Err(_) => Err(in_use()),
    }
}

fn in_use() -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, "another server listens there")
}

fn kind(found: &fs::Metadata) -> &'static str {
    let kind = found.file_type();
    if kind.is_dir() {
        "a directory"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else if kind.is_file() {
        "a file"
    } else {
        "a device or pipe"
    }
}

fn too_long(path: &Path, error: &io::Error) -> io::Error {
    let length = path.as_os_str().len();
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!(
            "the path of a Unix socket is at most 107 bytes long, and this one is {length} ({error})"
        ),
    )
}
