//! The port of a root's HTTP API when the settings leave it open.
//!
//! A port that changes with every start loses every `EventSource`, every scrape configuration and every bookmark. One fixed port for all roots is no answer:
//! a machine has several roots, and they would fight over it. So each root has a port of its own: the one of its last start, which it keeps in a file; before
//! the first start, one that follows from the path of the root. It lies below the ports that systems give to outgoing connections, so that none of those is
//! in its place after a restart. If somebody else has it, another is taken, and the operator is told.

use std::{
    fs,
    io::{self, ErrorKind},
    net::{IpAddr, SocketAddr, TcpListener},
    path::Path,
};

/// The file in the root that has the port.
const FILE: &str = "http-port";

/// Ports that a root takes by itself: below 32768, where Linux begins to give out ports.
const FIRST: u16 = 20_000;
const COUNT: u16 = 12_000;
/// Ports that are tried before the first start has one.
const TRIES: u16 = 16;

/// Binds the root's own port, or another one if that is taken. The second is the one that could not be had, if it was kept.
pub(super) fn bind(root: &Path, ip: IpAddr) -> io::Result<(TcpListener, Option<u16>)> {
    let try_bind = |port| match TcpListener::bind(SocketAddr::new(ip, port)) {
        Ok(listener) => Ok(Some(listener)),
        Err(error) if matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied) => Ok(None),
        Err(error) => Err(error),
    };
    let kept = kept(root);
    let mut found = match kept {
        Some(port) => try_bind(port)?,
        None => None,
    };
    let moved = kept.filter(|_| found.is_none());
    let start = place(root);
    for next in 0..TRIES {
        if found.is_some() {
            break;
        }
        found = try_bind(FIRST + (start + next) % COUNT)?;
    }
    let listener = match found {
        Some(listener) => listener,
        None => TcpListener::bind(SocketAddr::new(ip, 0))?,
    };
    let port = listener.local_addr()?.port();
    if kept != Some(port) {
        keep(root, port)?;
    }
    Ok((listener, moved))
}

/// The port of the last start. A file that cannot be understood is as good as none.
fn kept(root: &Path) -> Option<u16> {
    fs::read_to_string(root.join(FILE)).ok()?.trim().parse().ok().filter(|port| *port > 0)
}

fn keep(root: &Path, port: u16) -> io::Result<()> {
    let new = root.join(format!("{FILE}.new"));
    fs::write(&new, format!("{port}\n"))?;
    fs::rename(new, root.join(FILE))
}

/// Where the search begins. It follows from the path, so that a root that is deleted and made again has the same port.
fn place(root: &Path) -> u16 {
    let path = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let hash = relaymesh_core::hash::Hash::sha256(path.as_os_str().as_encoded_bytes());
    u16::from_be_bytes([hash.0[0], hash.0[1]]) % COUNT
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    fn port(listener: &TcpListener) -> u16 {
        listener.local_addr().unwrap().port()
    }

    #[test]
    fn a_root_keeps_its_port_and_says_when_somebody_else_has_it() {
        let root = tempfile::tempdir().unwrap();
        let (first, moved) = bind(root.path(), HERE).unwrap();
        let own = port(&first);
        assert_eq!(moved, None);
        assert!(own < 32_768, "{own} may be given to an outgoing connection");
        drop(first);
        let (again, moved) = bind(root.path(), HERE).unwrap();
        assert_eq!((port(&again), moved), (own, None));
        // The first still listens: a second of the same root moves, and stays there.
        let (other, moved) = bind(root.path(), HERE).unwrap();
        assert_eq!(moved, Some(own));
        let elsewhere = port(&other);
        assert_ne!(elsewhere, own);
        drop((again, other));
        assert_eq!(port(&bind(root.path(), HERE).unwrap().0), elsewhere);
    }

    #[test]
    fn roots_that_begin_at_the_same_place_do_not_fight_and_rubbish_in_the_file_is_no_port() {
        let root = tempfile::tempdir().unwrap();
        let taken = TcpListener::bind(SocketAddr::new(HERE, 0)).unwrap();
        fs::write(root.path().join(FILE), format!("{}\n", port(&taken))).unwrap();
        let (found, moved) = bind(root.path(), HERE).unwrap();
        assert_eq!(moved, Some(port(&taken)));
        drop(found);
        for rubbish in ["", "0", "port", "70000", "\0"] {
            fs::write(root.path().join(FILE), rubbish).unwrap();
            let (found, moved) = bind(root.path(), HERE).unwrap();
            assert_eq!(moved, None, "{rubbish:?}");
            assert_eq!(kept(root.path()), Some(port(&found)));
        }
    }
}
