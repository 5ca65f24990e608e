//! A daemon elsewhere, asked over its HTTP API with a token.
//!
//! Commands print the same values wherever they come from: the views of `relaymesh_api`, made here from the store or read from an answer.
//! So a command has two ways to look and one to print. What is only meant for the daemon's own machine refuses before it begins
//! (`commands/reach.rs`).
//!
//! The tempting answer was to carry the local socket's frames over the network: every command at once. But they are made for one version on
//! one machine and know nothing of scopes and namespaces, and a second door would have to say again what the first one says.

mod address;
mod events;
mod find;

pub(crate) use events::Events;
pub(crate) use find::task;

use crate::{
    client::Out,
    error::{Code, Error},
};
use address::Address;
use relaymesh_agents::http::{cause, prepare_tls};
use relaymesh_api::{error::on_the_command_line, http::BASE, local::Fault};
use relaymesh_core::trace;
use reqwest::{
    Certificate, Client, Method, RequestBuilder, Response, Url,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue},
    redirect,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;
use std::{fmt, net::SocketAddr, path::Path, time::Duration};
use tokio::runtime::{Builder, Runtime};

/// How long a connection may take.
const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// How long an answer may be silent: longer than the longest wait, and than the silence between two events.
const READ_PATIENCE: Duration = Duration::from_secs(90);
/// The longest answer that is read: more than a task with all its content.
const ANSWER_BYTES_MAX: usize = 256 << 20;

/// What stands behind the `?`.
pub(crate) type Query<'a> = [(&'a str, Option<String>)];

/// A daemon elsewhere.
pub(crate) struct Remote {
    address: Address,
    client: Client,
    runtime: Runtime,
}

/// A problem document.
#[derive(Deserialize)]
struct Problem {
    code: String,
    detail: String,
    #[serde(default)]
    hints: Vec<String>,
}

impl From<Problem> for Error {
    fn from(problem: Problem) -> Self {
        let Some(code) = Code::parse(&problem.code) else {
            return Fault::new(problem.code, problem.detail, problem.hints).into();
        };
        // The answer says the code's hints in the words of the HTTP API; here they are said in those of the command line.
        let own: Vec<&str> = code.hints_over_http().collect();
        let others = problem.hints.into_iter().filter(|hint| !own.contains(&hint.as_str()));
        others.rev().map(|hint| on_the_command_line(&hint)).fold(Self::new(code, problem.detail), Self::hint)
    }
}

/// The error that a problem document tells of.
pub(crate) fn problem(document: &Value) -> Error {
    let said = Problem::deserialize(document);
    said.map_or_else(|_| Error::new(Code::Internal, "the daemon reported an error without a message"), Error::from)
}

impl Remote {
    /// The daemon at this URL, asked with this token. Nothing is sent yet. With `ca`, its certificate must be signed by one of those in this file.
    pub(crate) fn new(
        url: &str,
        token: &str,
        ca: Option<&Path>,
        asked_in: Option<trace::Context>,
    ) -> Result<Self, Error> {
        let address = Address::parse(url)?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {token}"))
            .map_err(|_| Error::new(Code::NotAuthenticated, "the token has invalid characters"))?;
        bearer.set_sensitive(true);
        let mut headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
        if let Some(context) = asked_in.and_then(|context| HeaderValue::from_str(&context.to_string()).ok()) {
            headers.insert("traceparent", context);
        }
        let made = Builder::new_current_thread().enable_all().build();
        let runtime = made.map_err(|error| Error::new(Code::Internal, format!("cannot wait for answers: {error}")))?;
        let client = client(&address, headers, ca)?;
        Ok(Self { address, client, runtime })
    }

    /// Where it is.
    pub(crate) fn url(&self) -> String {
        self.address.to_string()
    }

    /// Looks at something. Parts of the path are taken as they are, whatever is in them.
    pub(crate) fn get<T: DeserializeOwned>(&self, path: &[&str], query: &Query<'_>) -> Result<T, Error> {
        let bytes = self.answer(self.request(Method::GET, path, query), false)?;
        self.read(&bytes)
    }

    /// Looks at something long, in parts.
    pub(crate) fn parts(&self, path: &[&str], query: &Query<'_>, out: &mut Out<'_>) -> Result<(), Error> {
        let request = self.request(Method::GET, path, query);
        self.runtime.block_on(async {
            let mut response = self.begin(request, false).await?;
            while let Some(part) = response.chunk().await.map_err(|error| self.trouble(&error, false))? {
                out(&part)?;
            }
            Ok(())
        })
    }

    /// Asks for a change. It is durable when this returns.
    pub(crate) fn post<T: DeserializeOwned>(&self, path: &[&str], body: &Value) -> Result<T, Error> {
        self.post_bytes(path, body.to_string().into_bytes())
    }

    /// The same with a body that is JSON already.
    pub(crate) fn post_bytes<T: DeserializeOwned>(&self, path: &[&str], body: Vec<u8>) -> Result<T, Error> {
        let request = self.request(Method::POST, path, &[]).header(CONTENT_TYPE, "application/json");
        let bytes = self.answer(request.body(body), true)?;
        self.read(&bytes)
    }

    /// Reads the metrics, which stand beside the API.
    pub(crate) fn metrics(&self, accept: &'static str) -> Result<String, Error> {
        let request = self.client.get(self.address.join(&["metrics"], &[])).header(ACCEPT, accept);
        let bytes = self.answer(request, false)?;
        String::from_utf8(bytes).map_err(|error| self.nonsense(&error))
    }

    fn request(&self, method: Method, path: &[&str], query: &Query<'_>) -> RequestBuilder {
        let base = BASE.split('/').filter(|part| !part.is_empty());
        let parts: Vec<&str> = base.chain(path.iter().copied()).collect();
        self.client.request(method, self.address.join(&parts, query))
    }

    fn answer(&self, request: RequestBuilder, is_write: bool) -> Result<Vec<u8>, Error> {
        self.runtime.block_on(async {
            let mut response = self.begin(request, is_write).await?;
            let mut bytes = Vec::new();
            while let Some(part) = response.chunk().await.map_err(|error| self.trouble(&error, is_write))? {
                if bytes.len() + part.len() > ANSWER_BYTES_MAX {
                    return Err(self.nonsense(&"the answer is incomplete"));
                }
                bytes.extend_from_slice(&part);
            }
            Ok(bytes)
        })
    }

    /// The answer, if it is a good one; its body is still to come.
    async fn begin(&self, request: RequestBuilder, is_write: bool) -> Result<Response, Error> {
        let response = request.send().await.map_err(|error| self.trouble(&error, is_write))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let bytes = response.bytes().await.map_err(|error| self.trouble(&error, is_write))?;
        let said = serde_json::from_slice::<Problem>(&bytes);
        let error = said.map_or_else(|_| self.nonsense(&format!("it answered with status {status}")), Error::from);
        let hint = "set RELAYMESH_TOKEN, or name a file with `--token-file`";
        Err(if error.code == Code::NotAuthenticated { error.hint(hint) } else { error })
    }

    fn read<T: DeserializeOwned>(&self, bytes: &[u8]) -> Result<T, Error> {
        serde_json::from_slice(bytes).map_err(|error| self.nonsense(&error))
    }

    /// No answer came. A write may have been done all the same, unless there was no connection to send it on.
    fn trouble(&self, error: &reqwest::Error, is_write: bool) -> Error {
        let (at, cause) = (&self.address, cause(error));
        if is_write && !error.is_connect() {
            return Error::new(Code::DaemonGone, format!("no answer from {at}: {cause}"));
        }
        let error = Error::new(Code::Unreachable, format!("no daemon answers at {at}: {cause}"));
        if cause.contains("certificate") { error.hint("trust its certificate with `--ca FILE`") } else { error }
    }

    fn nonsense(&self, why: &dyn fmt::Display) -> Error {
        let message = format!("the server at {} is not RelayMesh, or has another version: {why}", self.address);
        Error::new(Code::Unreachable, message)
    }
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remote").field("address", &self.address.to_string()).finish_non_exhaustive()
    }
}

fn client(address: &Address, headers: HeaderMap, ca: Option<&Path>) -> Result<Client, Error> {
    prepare_tls();
    let builder = Client::builder()
        .user_agent(concat!("relaymesh/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(CONNECT_PATIENCE)
        .read_timeout(READ_PATIENCE)
        // A token is for the daemon that was named, and for nobody whom it names.
        .redirect(redirect::Policy::none())
        .retry(reqwest::retry::never())
        .referer(false);
    let builder = match (address.is_plain(), ca) {
        // A proxy would read what is not encrypted. And here localhost is this machine, whatever somebody's table of hosts says.
        (true, _) => {
            let here = ["127.0.0.1:0", "[::1]:0"].map(|text| text.parse::<SocketAddr>());
            let here: Vec<SocketAddr> = here.into_iter().flatten().collect();
            builder.no_proxy().tls_certs_only([]).resolve_to_addrs("localhost", &here)
        }
        (false, Some(file)) => builder.https_only(true).tls_certs_only(certificates(file)?),
        (false, None) => builder.https_only(true),
    };
    builder.build().map_err(|error| Error::new(Code::Unreachable, format!("cannot make a client: {error}")))
}

fn certificates(file: &Path) -> Result<Vec<Certificate>, Error> {
    let pem = read_file(file)?;
    let wrong = |why: &dyn fmt::Display| {
        Error::new(Code::Usage, format!("{} is not a certificate in PEM format: {why}", file.display()))
    };
    let found = Certificate::from_pem_bundle(&pem).map_err(|error| wrong(&error))?;
    if found.is_empty() { Err(wrong(&"it contains no certificate")) } else { Ok(found) }
}

/// A file that an argument names.
pub(crate) fn read_file(file: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(file).map_err(|error| Error::new(Code::NoFile, format!("cannot read {}: {error}", file.display())))
}

/// The URL of a part of the API; for the address alone.
fn joined(base: &Url, path: &[&str], query: &Query<'_>) -> Url {
    let mut url = base.clone();
    if let Ok(mut parts) = url.path_segments_mut() {
        parts.clear().extend(path);
    }
    for (name, value) in query {
        if let Some(value) = value {
            url.query_pairs_mut().append_pair(name, value);
        }
    }
    url
}
