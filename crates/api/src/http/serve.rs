//! The listener: connections in, each with little time for its headers and a limit on everything.

use super::{
    crowd::{Busy, Crowd, Seat},
    desk::Desk,
    port, routes,
    stall::Stall,
    tls::Certificate,
};
use crate::error::{Code, Error};
use axum::{Router, body::Body};
use http_body::{Frame, SizeHint};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use relaymesh_runtime::{
    root_clock::RootClock,
    settings::{OFF, Settings, size},
    token::Tokens,
};
use std::{
    convert::Infallible,
    net::{SocketAddr, TcpListener as StdListener},
    path::{Path, PathBuf},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    task, time,
};
use tokio_rustls::TlsAcceptor;
use tower_service::Service as _;

/// How long a client may take for its headers, and how long it may say nothing between two requests.
const HEADER_PATIENCE: Duration = Duration::from_secs(15);
/// How long it may take to agree on TLS.
const HANDSHAKE_PATIENCE: Duration = Duration::from_secs(10);
/// How long it may leave an answer unread.
const WRITE_PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of headers, and how many.
const HEADER_BYTES_MAX: usize = 32 << 10;
const HEADERS_MAX: usize = 64;
/// How long to wait when nobody can be let in.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// How often the files of the certificate are looked at.
const LOOK_AT_FILES: Duration = Duration::from_secs(1);
/// How many may wait to be let in. More than that at once, and the system makes them come again a second later.
const WAITING_MAX: i32 = 4_096;
/// How long answers that are under way have at the end.
const END_PATIENCE: Duration = Duration::from_secs(1);

/// The other end of a connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer(pub(super) SocketAddr);

/// A listener that nobody has been let in by yet.
pub struct Listening {
    listener: StdListener,
    certificate: Option<Arc<Certificate>>,
    connections_max: usize,
    /// Where it listens.
    pub address: SocketAddr,
    /// The port of the last start, if it is taken and this is another one.
    pub moved_from: Option<u16>,
}

impl Listening {
    /// Where it is reached.
    pub fn url(&self) -> String {
        let scheme = if self.certificate.is_some() { "https" } else { "http" };
        format!("{scheme}://{}", self.address)
    }
}

/// Binds the address that the settings name; `None` when there is to be no listener. An address that others can reach needs a certificate and
/// a token that is good: otherwise it is refused with `open_address`, and nothing listens.
pub fn bind(settings: &Settings, root: &Path) -> Result<Option<Listening>, Error> {
    if settings.http_addr == OFF {
        return Ok(None);
    }
    let wrong = |error: std::net::AddrParseError| Error::new(Code::BadSettings, format!("http_addr: {error}"));
    let address: SocketAddr = settings.http_addr.parse().map_err(wrong)?;
    let (cert, key) = (&settings.http_tls_cert, &settings.http_tls_key);
    let certificate = match (cert.is_empty(), key.is_empty()) {
        (false, false) => Some(Certificate::read(&beside(root, cert), &beside(root, key))?),
        (true, true) if address.ip().is_loopback() => None,
        (true, true) => {
            let message = format!("other machines can reach {address}, but there is no certificate");
            return Err(Error::new(Code::OpenAddress, message));
        }
        (true, false) | (false, true) => {
            let message = "`http_tls_cert` and `http_tls_key` must be set together";
            return Err(Error::new(Code::OpenAddress, message));
        }
    };
    if !address.ip().is_loopback() && !has_token(root)? {
        let message = format!("other machines can reach {address}, but there is no valid token");
        return Err(
            Error::new(Code::OpenAddress, message).hint("create one with `relaymesh token create NAME --scope rw`")
        );
    }
    let failed = |error: std::io::Error| {
        Error::new(Code::DaemonFailed, format!("the HTTP API cannot listen on {address}: {error}"))
    };
    let (listener, moved_from) = match address.port() {
        0 => port::bind(root, address.ip()).map_err(failed)?,
        _ => (StdListener::bind(address).map_err(failed)?, None),
    };
    // It listens already, with room for a hundred or so; this makes more.
    rustix::net::listen(&listener, WAITING_MAX).map_err(|error| failed(error.into()))?;
    listener.set_nonblocking(true).map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Some(Listening {
        listener,
        certificate,
        connections_max: size(settings.http_connections_max),
        address,
        moved_from,
    }))
}

/// A path as the settings have it: one that is not absolute is meant from the root.
fn beside(root: &Path, path: &str) -> PathBuf {
    root.join(path)
}

fn has_token(root: &Path) -> Result<bool, Error> {
    let tokens = Tokens::read(root).map_err(|error| Error::new(Code::StoreIo, format!("tokens.json: {error}")))?;
    let now_ms = RootClock::glance(root, 0).now_ms();
    let is_good = |until_ms: Option<u64>| until_ms.is_none_or(|until_ms| now_ms < until_ms);
    Ok(tokens.is_some_and(|tokens| tokens.tokens.values().any(|token| is_good(token.until_ms))))
}

/// Serves connections until `ended` resolves; then lets running answers finish, for a moment. `say` receives what an operator should see.
pub async fn serve(
    listening: Listening,
    desk: Desk,
    mut ended: watch::Receiver<bool>,
    say: impl Fn(&'static str, String) + Send + Sync + 'static,
) -> std::io::Result<()> {
    let Listening { listener, certificate, connections_max, address, moved_from: _ } = listening;
    let listener = TcpListener::from_std(listener)?;
    let router = routes::router(Arc::new(desk), address.ip(), certificate.is_some(), connections_max).await;
    let config = certificate.as_ref().map(Certificate::config).transpose().map_err(std::io::Error::other)?;
    let acceptor = config.map(|config| TlsAcceptor::from(Arc::new(config)));
    let crowd = Crowd::new(connections_max);
    let mut looks = time::interval(LOOK_AT_FILES);
    let mut connections = task::JoinSet::new();
    loop {
        tokio::select! {
            _ = ended.changed() => break,
            _ = looks.tick(), if certificate.is_some() => {
                match certificate.as_ref().map(|certificate| certificate.look()) {
                    Some(Ok(true)) => say("http_certificate_loaded", String::new()),
                    Some(Err(error)) => say("http_certificate_refused", error.message),
                    Some(Ok(false)) | None => {}
                }
            }
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => {
                let Ok((stream, peer)) = accepted else {
                    // No descriptors are left, or the client has gone: others must not suffer from it.
                    drop(crowd.enter(Instant::now()));
                    time::sleep(ACCEPT_AGAIN).await;
                    continue;
                };
                let Some(seat) = crowd.enter(Instant::now()) else { continue };
                let (router, acceptor) = (router.clone(), acceptor.clone());
                connections.spawn(connect(stream, Peer(peer), Arc::new(seat), router, acceptor, ended.clone()));
            }
        }
    }
    drop(listener);
    let _ = time::timeout(END_PATIENCE, async { while connections.join_next().await.is_some() {} }).await;
    Ok(())
}

async fn connect(
    stream: TcpStream,
    peer: Peer,
    seat: Arc<Seat>,
    router: Router,
    acceptor: Option<TlsAcceptor>,
    ended: watch::Receiver<bool>,
) {
    // An answer is sent as it is: nothing comes after it that it could wait for.
    let _ = stream.set_nodelay(true);
    let leave = Arc::clone(&seat.leave);
    let talk = async {
        match acceptor {
            None => talk(stream, peer, seat, router, ended).await,
            Some(acceptor) => {
                let agreed = time::timeout(HANDSHAKE_PATIENCE, acceptor.accept(stream)).await;
                if let Ok(Ok(stream)) = agreed {
                    talk(stream, peer, seat, router, ended).await;
                }
            }
        }
    };
    tokio::select! {
        () = talk => {}
        () = leave.notified() => {} // somebody else needs the place
    }
}

async fn talk<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: T,
    peer: Peer,
    seat: Arc<Seat>,
    router: Router,
    mut ended: watch::Receiver<bool>,
) {
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        let busy = seat.busy();
        request.extensions_mut().insert(peer);
        let mut router = router.clone();
        async move {
            let answered = router.call(request.map(Body::new)).await;
            Ok::<_, Infallible>(match answered {
                Ok(response) => response.map(|body| Held { body, _busy: busy }),
                Err(never) => match never {},
            })
        }
    });
    let io = TokioIo::new(Stall::new(stream, WRITE_PATIENCE));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_PATIENCE)
        .max_buf_size(HEADER_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(io, service);
    let mut connection = std::pin::pin!(connection);
    tokio::select! {
        _ = connection.as_mut() => return, // a client that disconnects early is not an error of the daemon
        _ = ended.changed() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// An answer that is under way until it is sent.
struct Held {
    body: Body,
    _busy: Busy,
}

impl http_body::Body for Held {
    type Data = bytes::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<bytes::Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
