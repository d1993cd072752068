//! A socket in the file system that is listened on. Who may connect, the permissions of the file say.
//!
//! A file that a process left behind when it was killed is replaced: no process answers there. A socket that is listened on is refused,
//! and so is any other kind of file, which is never removed. The file goes when the listener does. Of processes that start at once, one
//! listens: each holds a lock on the folder while it looks, replaces and begins to listen, or another would remove its new file.

use std::{
    fs::{self, File, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use tokio::net::{UnixListener, UnixSocket, UnixStream};

use crate::listen::SocketFile;

/// Most connections that wait to be accepted.
const BACKLOG: u32 = 1_024;
/// How long another process may hold the lock, which takes it a moment, and how often it is asked for.
const LOCKED_WITHIN: Duration = Duration::from_secs(10);
const LOCK_TRIED_EVERY: Duration = Duration::from_millis(20);

/// A socket in the file system.
#[derive(Debug)]
pub struct SocketFileListener {
    file: SocketFile,
    /// Goes first: then no client finds a socket that is closed.
    _own: OwnFile,
    listener: UnixListener,
}

/// The file of a socket, which is removed with it unless another has taken its place.
#[derive(Debug)]
struct OwnFile {
    path: PathBuf,
    inode: (u64, u64),
}

impl SocketFileListener {
    /// Listens there.
    ///
    /// # Errors
    /// Those of the system; with a sentence if another process listens there, or if a file is there that is no socket.
    pub async fn bind(file: SocketFile) -> io::Result<Self> {
        let _locked = lock_folder_of(file.path()).await?;
        remove_abandoned(file.path()).await?;
        let socket = UnixSocket::new_stream()?;
        socket.bind(file.path())?;
        let own = OwnFile { path: file.path().to_owned(), inode: inode_of(file.path())? };
        // Before it listens, so that no client connects by the permissions that a new file has.
        fs::set_permissions(file.path(), fs::Permissions::from_mode(file.mode()))?;
        let listener = socket.listen(BACKLOG)?;
        Ok(Self { file, _own: own, listener })
    }

    pub(super) const fn file(&self) -> &SocketFile {
        &self.file
    }

    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        self.listener.accept().await.map(|(stream, _)| stream)
    }
}

impl Drop for OwnFile {
    fn drop(&mut self) {
        if inode_of(&self.path).is_ok_and(|inode| inode == self.inode)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "the file of a socket can't be removed");
        }
    }
}

/// Keeps other processes from the folder of a path while they look for a place to listen; no file is left of it. Ends when dropped.
async fn lock_folder_of(path: &Path) -> io::Result<File> {
    let folder = File::open(path.parent().unwrap_or(Path::new("/")))?;
    let began = Instant::now();
    loop {
        match folder.try_lock() {
            Ok(()) => return Ok(folder),
            Err(TryLockError::WouldBlock) if began.elapsed() < LOCKED_WITHIN => {
                tokio::time::sleep(LOCK_TRIED_EVERY).await;
            }
            Err(TryLockError::WouldBlock) => {
                return Err(io::Error::new(ErrorKind::AddrInUse, "another process holds a lock on the folder"));
            }
            // A file system without locks is used without.
            Err(TryLockError::Error(error)) => {
                tracing::debug!(path = %path.display(), %error, "the folder can't be locked");
                return Ok(folder);
            }
        }
    }
}

/// Removes the socket of a process that has ended.
async fn remove_abandoned(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if !found.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "a file is there that is no socket, and it stays"));
    }
    match UnixStream::connect(path).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            tracing::info!(path = %path.display(), "a socket that no process listens on is replaced");
            fs::remove_file(path)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        // One whose backlog is full.
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(error),
        Ok(_) | Err(_) => Err(io::Error::new(ErrorKind::AddrInUse, "another process listens there")),
    }
}

fn inode_of(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use std::{
        pin::pin,
        sync::Arc,
        task::{Context, Waker},
    };

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        sync::Barrier,
        task::JoinSet,
    };

    use super::*;
    use crate::listen::Endpoint;

    const ROUNDS: usize = 10;
    const STARTERS: usize = 8;

    fn file(path: &Path, mode: &str) -> SocketFile {
        let endpoint: Endpoint = format!("unix:{}{mode}", path.display()).parse().unwrap();
        endpoint.socket_file().unwrap().clone()
    }

    async fn refused(path: &Path) -> io::Error {
        SocketFileListener::bind(file(path, "")).await.unwrap_err()
    }

    #[tokio::test]
    async fn the_file_has_its_mode_and_goes_with_the_listener() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("front.sock");
        for (written, mode) in [("", 0o600), ("?mode=0660", 0o660)] {
            let listener = SocketFileListener::bind(file(&path, written)).await.unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
            let (accepted, connected) = tokio::join!(listener.accept(), UnixStream::connect(&path));
            assert!(accepted.is_ok() && connected.is_ok());
            drop(listener);
            assert!(!path.exists());
        }
    }

    #[tokio::test]
    async fn an_abandoned_socket_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("front.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "the system leaves the file");
        let live = SocketFileListener::bind(file(&path, "")).await.unwrap();
        let error = refused(&path).await;
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::AddrInUse, "another process listens there"));
        assert!(UnixStream::connect(&path).await.is_ok(), "it goes on");
        // Another has taken its place meanwhile.
        fs::remove_file(&path).unwrap();
        let other = SocketFileListener::bind(file(&path, "")).await.unwrap();
        drop(live);
        assert!(UnixStream::connect(&path).await.is_ok(), "the file is the other's");
        drop(other);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn nothing_is_replaced_while_another_process_begins_to_listen() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("front.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        let (abandoned, locked) = (inode_of(&path).unwrap(), File::open(folder.path()).unwrap());
        locked.lock().unwrap();
        let mut begun = pin!(SocketFileListener::bind(file(&path, "")));
        for _ in 0..3 {
            assert!(begun.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
            assert_eq!(inode_of(&path).unwrap(), abandoned);
        }
        drop(locked);
        begun.await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn one_of_many_that_start_at_once_replaces_an_abandoned_socket() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("front.sock");
        for round in 0..ROUNDS {
            drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
            let (barrier, mut starters) = (Arc::new(Barrier::new(STARTERS)), JoinSet::new());
            for _ in 0..STARTERS {
                let (barrier, file) = (Arc::clone(&barrier), file(&path, ""));
                starters.spawn(async move {
                    barrier.wait().await;
                    SocketFileListener::bind(file).await
                });
            }
            let (mut served, refused): (Vec<_>, Vec<_>) =
                starters.join_all().await.into_iter().partition(Result::is_ok);
            assert_eq!((served.len(), refused.len()), (1, STARTERS - 1), "round {round}");
            assert!(refused.iter().all(|it| it.as_ref().unwrap_err().kind() == ErrorKind::AddrInUse), "{refused:?}");
            let listener = served.remove(0).unwrap();
            UnixStream::connect(&path).await.unwrap().write_all(b"x").await.unwrap();
            // The others have connected before, to see whether a process listens.
            while listener.accept().await.unwrap().read(&mut [0]).await.unwrap() == 0 {}
            drop(listener);
            assert!(!path.exists(), "round {round}");
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left");
    }

    #[tokio::test]
    async fn what_is_no_socket_stays_and_a_place_without_room_for_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [file, link, inner] = ["file", "link", "inner"].map(|name| folder.path().join(name));
        fs::write(&file, "mine").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        fs::create_dir(&inner).unwrap();
        for taken in [&file, &link, &inner] {
            assert!(refused(taken).await.to_string().contains("no socket, and it stays"), "{}", taken.display());
        }
        assert_eq!(fs::read(&file).unwrap(), b"mine");
        assert!(link.is_symlink() && inner.is_dir());
        assert_eq!(refused(&folder.path().join("none/front.sock")).await.kind(), ErrorKind::NotFound);
        // Root, which tests may run as, is refused nothing in a folder of its own.
        let locked = Path::new("/sys/jobbers.sock");
        let kind = refused(locked).await.kind();
        assert!(matches!(kind, ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem), "{kind:?}");
    }
}
