//! Telling a service manager how far the daemon is: systemd's protocol, a word in a datagram (`Type=notify`).

use std::{
    ffi::OsStr,
    io,
    os::unix::{
        ffi::OsStrExt as _,
        net::{SocketAddr, UnixDatagram},
    },
};

/// Where the service manager listens.
const VARIABLE: &str = "NOTIFY_SOCKET";

/// Sends the notification, if a service manager listens. If it is lost, the manager only waits longer.
pub(crate) fn tell(word: &str) {
    if let Some(place) = std::env::var_os(VARIABLE).filter(|place| !place.is_empty()) {
        let _ = send(&place, word);
    }
}

fn send(place: &OsStr, word: &str) -> io::Result<()> {
    UnixDatagram::unbound()?.send_to_addr(word.as_bytes(), &address(place)?).map(drop)
}

/// A name that begins with `@` is no file.
fn address(place: &OsStr) -> io::Result<SocketAddr> {
    match place.as_bytes().strip_prefix(b"@") {
        #[cfg(target_os = "linux")]
        Some(name) => <SocketAddr as std::os::linux::net::SocketAddrExt>::from_abstract_name(name),
        _ => SocketAddr::from_pathname(place),
    }
}
