//! The address of a server: a socket file or a TCP port.

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket};
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The number of connections that may wait to be accepted.
const BACKLOG: i32 = 16;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A socket file; only its owner may open it.
    Unix(PathBuf),
    /// A TCP port; port 0 is any free one.
    Tcp(SocketAddr),
}

impl Address {
    /// Whether clients on other machines may reach it.
    pub fn is_beyond_this_machine(&self) -> bool {
        matches!(self, Self::Tcp(address) if !address.ip().to_canonical().is_loopback())
    }
}

impl fmt::Display for Address {
    /// The URI of its only export, as clients take it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => {
                f.write_str("nbd+unix:///?socket=")?;
                path.as_os_str().as_bytes().iter().try_for_each(|&byte| match byte {
                    b'/' | b'.' | b'-' | b'_' | b'~' => write!(f, "{}", char::from(byte)),
                    _ if byte.is_ascii_alphanumeric() => write!(f, "{}", char::from(byte)),
                    _ => write!(f, "%{byte:02X}"),
                })
            }
            Self::Tcp(address) => write!(f, "nbd://{address}"),
        }
    }
}

/// A listening socket, which waits for nobody.
pub enum Listener {
    /// Of a socket file, which only its owner may open.
    Unix(UnixListener, SocketFile),
    /// Of a TCP port.
    Tcp(TcpListener),
}

/// A socket file. It is removed with its listener unless it has been replaced.
pub struct SocketFile {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

impl Listener {
    /// Listen on an address. The socket file of a process that was killed is replaced.
    ///
    /// # Errors
    /// The address is in use, is not one of this machine, or its path is too long or that of another file.
    pub fn bind(address: &Address) -> io::Result<Self> {
        let cannot = |place: &dyn fmt::Display, error: io::Error| {
            io::Error::new(error.kind(), format!("cannot listen on {place}: {error}"))
        };
        let listener = match address {
            Address::Unix(path) => {
                let listener = bind_private(path).map_err(|error| cannot(&path.display(), error))?;
                let device_and_inode = device_and_inode(path)?;
                Self::Unix(listener, SocketFile { path: path.clone(), device_and_inode })
            }
            Address::Tcp(address) => {
                Self::Tcp(TcpListener::bind(address).map_err(|error| cannot(address, error))?)
            }
        };
        ioctl_fionbio(&listener, true)?;
        Ok(listener)
    }

    /// The address for clients in any folder, with the actual port.
    pub(crate) fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Self::Unix(_, file) => Address::Unix(std::path::absolute(&file.path)?),
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?),
        })
    }

    /// A waiting connection, as a non-blocking socket.
    ///
    /// # Errors
    /// There is none, or there is no room for one.
    pub fn accept(&self) -> io::Result<OwnedFd> {
        let socket = match self {
            Self::Unix(listener, _) => OwnedFd::from(listener.accept()?.0),
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                // The connection of a machine that has vanished must end.
                rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
                stream.into()
            }
        };
        ioctl_fionbio(&socket, true)?;
        Ok(socket)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(listener, _) => listener.as_fd(),
            Self::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if device_and_inode(&self.path).is_ok_and(|now| now == self.device_and_inode) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A listening socket file of mode 0600. It has this mode before it listens, so that no other user can
/// connect first.
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    let address = SocketAddrUnix::new(path).map_err(|error| match error {
        Errno::NAMETOOLONG => {
            let text = "the path of a socket is too long for the system; about 100 bytes are allowed";
            io::Error::new(ErrorKind::InvalidInput, text)
        }
        other => other.into(),
    })?;
    remove_stale(path)?;
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
    rustix::io::fcntl_setfd(&listener, rustix::io::FdFlags::CLOEXEC)?;
    bind(&listener, &address)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listen(&listener, BACKLOG)?;
    Ok(listener.into())
}

/// Removes the socket file of a server that was killed.
fn remove_stale(path: &Path) -> io::Result<()> {
    let file = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    if !file.file_type().is_socket() {
        return Err(io::Error::new(ErrorKind::AlreadyExists, "there is a file that is no socket"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) => Err(error),
        Ok(_) => Err(io::Error::new(ErrorKind::AddrInUse, "another server listens there")),
    }
}

fn device_and_inode(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}
