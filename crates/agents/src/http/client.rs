//! How a request is sent: to addresses that were looked at, without proxies, without following anybody, and once. Connections are kept for
//! a moment, for the next attempt that goes to the same host.

use super::{
    address::{self, Allowed, Refused},
    config::Http,
};
use crate::{end::End, pool::locked};
use reqwest::{
    Client, ClientBuilder, RequestBuilder,
    dns::{Addrs, Name, Resolve, Resolving},
    header::{HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use std::{
    collections::BTreeMap,
    error::Error,
    io,
    sync::{Mutex, Once},
    time::Duration,
};

/// What clients differ in: who may be reached, whether without encryption, and how long a connection may take.
type Key = (Allowed, bool, Duration);

/// How long a connection is kept for the next attempt. A server closes connections that it has not heard from, after two seconds or more by
/// the defaults of those in use. Were it to close one just when a request goes out on it, nobody could say whether the request was
/// heard, and the attempt would be lost. So the connection is given up well before. One that was closed before anything was written
/// is replaced without notice.
const IDLE: Duration = Duration::from_secs(1);
/// Connections to one host that are kept. No more attempts than this are under way at once for long.
const IDLE_MAX: usize = 128;

/// More kinds of clients than anybody has agents.
const CLIENTS_MAX: usize = 64;

/// The clients that were needed so far.
#[derive(Default)]
pub(super) struct Clients(Mutex<BTreeMap<Key, Client>>);

impl Clients {
    /// A request to this agent, or why there is none.
    pub(super) fn post(&self, http: &Http, headers: HeaderMap, body: Vec<u8>) -> Result<RequestBuilder, End> {
        let failed = |error: String| End::Failed { error, retryable: false };
        // Nobody is asked about an address that stands in the url itself.
        if let Some(address) = http.address() {
            address::vet(address, &http.allow, http.is_plain()).map_err(|refused| failed(refused.to_string()))?;
        }
        let client =
            self.client(http).map_err(|error| failed(format!("cannot create an HTTP client: {}", cause(&error))))?;
        Ok(client.post(http.url.clone()).headers(headers).body(body))
    }

    fn client(&self, http: &Http) -> reqwest::Result<Client> {
        let key = (http.allow.clone(), http.is_plain(), http.connect_timeout);
        let mut clients = locked(&self.0);
        if let Some(client) = clients.get(&key) {
            return Ok(client.clone());
        }
        if clients.len() >= CLIENTS_MAX {
            clients.clear();
        }
        let client = builder(http).build()?;
        clients.insert(key, client.clone());
        Ok(client)
    }
}

/// Says once which cryptography TLS uses; without it no client can be made.
pub fn prepare_tls() {
    static PROVIDER: Once = Once::new();
    // If there is one already, that will do.
    PROVIDER.call_once(|| drop(rustls::crypto::aws_lc_rs::default_provider().install_default()));
}

fn builder(http: &Http) -> ClientBuilder {
    prepare_tls();
    let resolver = Vetted { allow: http.allow.clone(), is_plain: http.is_plain() };
    let builder = Client::builder()
        .user_agent(concat!("relaymesh/", env!("CARGO_PKG_VERSION")))
        .dns_resolver(resolver)
        .connect_timeout(http.connect_timeout)
        .redirect(redirect::Policy::none())
        .referer(false)
        .retry(reqwest::retry::never())
        .no_proxy()
        .pool_max_idle_per_host(IDLE_MAX)
        .pool_idle_timeout(IDLE);
    // Certificates are read from the system, which takes time and memory, and is in vain here.
    if http.is_plain() { builder.tls_certs_only([]) } else { builder.https_only(true) }
}

/// Gives the addresses of a name that may be reached.
struct Vetted {
    allow: Allowed,
    is_plain: bool,
}

impl Resolve for Vetted {
    fn resolve(&self, name: Name) -> Resolving {
        let (allow, is_plain) = (self.allow.clone(), self.is_plain);
        Box::pin(async move {
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let (good, mut refused) = (found.iter(), Vec::new());
            let good: Vec<_> = good
                .filter(|found| address::vet(found.ip(), &allow, is_plain).map_err(|why| refused.push(why)).is_ok())
                .copied()
                .collect();
            match refused.into_iter().next() {
                Some(Refused(why)) if good.is_empty() => Err(Refused(format!("{}: {why}", name.as_str())).into()),
                _ => Ok(Box::new(good.into_iter()) as Addrs),
            }
        })
    }
}

/// A header that nobody may see. `Err`: it cannot be sent.
pub(super) fn secret_header(name: &str, value: &str, is_bearer: bool) -> Result<(HeaderName, HeaderValue), String> {
    let value = value.trim();
    // With a word before it, it says itself what it is.
    let text = if is_bearer && !value.contains(' ') { format!("Bearer {value}") } else { value.to_owned() };
    let wrong = |_| format!("the secret for the header `{name}` has characters that a header cannot have");
    let mut value = HeaderValue::from_str(&text).map_err(wrong)?;
    value.set_sensitive(true);
    let name = name.parse().map_err(|_| format!("`{name}` is not a valid header name"))?;
    Ok((name, value))
}

/// How an attempt ended that got no answer.
pub(super) fn trouble(error: &reqwest::Error, http: &Http) -> End {
    let provider = http.provider();
    if let Some(refused) = chain(error).find_map(|error| error.downcast_ref::<Refused>()) {
        return End::Failed { error: format!("the address is not allowed: {refused}"), retryable: false };
    }
    let because = cause(error);
    if let Some(tls) = chain(error).find_map(tls) {
        // A certificate will be no other the next time.
        let retryable = !matches!(tls, rustls::Error::InvalidCertificate(_));
        return End::Failed { error: format!("cannot connect safely to {provider}: {tls}"), retryable };
    }
    let error = match () {
        () if error.is_connect() && error.is_timeout() => {
            format!("no connection to {provider} within {:?}", http.connect_timeout)
        }
        () if error.is_connect() => format!("cannot connect to {provider}: {because}"),
        () if error.is_builder() => {
            return End::Failed { error: format!("the request cannot be sent: {because}"), retryable: false };
        }
        () => format!("the connection to {provider} ended before the answer: {because}"),
    };
    End::Failed { error, retryable: true }
}

/// What is at the bottom of it.
pub fn cause(error: &reqwest::Error) -> String {
    chain(error).last().map_or_else(String::new, ToString::to_string)
}

fn chain(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    let mut next: Option<&(dyn Error + 'static)> = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// An error of the encryption, which comes within one or two of the system.
fn tls<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    error.downcast_ref::<rustls::Error>().or_else(|| tls(error.downcast_ref::<io::Error>()?.get_ref()?))
}
