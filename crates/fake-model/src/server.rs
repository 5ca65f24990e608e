//! The server: which protocol a request speaks, and which turn answers it.

use crate::{
    script::{NOTHING_MORE, Turn},
    wire::{Answer, chat, gemini, messages, named, plain, responses, unnamed},
};
use axum::{
    Router,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, Method, StatusCode, Uri, header},
    response::Response,
};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{net::TcpListener, runtime::Runtime};

/// A model that answers on a port of its own until it is dropped.
pub struct FakeModel {
    address: SocketAddr,
    desk: Arc<Mutex<Desk>>,
    _runtime: Runtime,
}

/// What was asked.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path and the query.
    pub uri: String,
    /// The body.
    pub body: Value,
    /// The headers, with small letters in their names.
    pub headers: Vec<(String, String)>,
}

impl Asked {
    /// The value of a header.
    pub fn header(&self, wanted: &str) -> Option<&str> {
        self.headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }
}

#[derive(Default)]
struct Desk {
    script: Vec<Turn>,
    /// Whether the conversation is what offers tools.
    has_tools: bool,
    /// Turns that were given.
    turns: usize,
    asked: Vec<Asked>,
    /// Answers without end that somebody waits for, and those that nobody waits for any more.
    waiting: usize,
    left: usize,
}

type Shared = Arc<Mutex<Desk>>;

impl FakeModel {
    /// Answers with these turns, one after the other, and after the last with the same words for ever.
    pub fn start(script: Vec<Turn>) -> io::Result<Self> {
        Self::on(0, script, false)
    }

    /// The same for agents that offer tools in their conversation. What they ask without tools, for a title or a summary, takes no turn.
    pub fn with_tools(script: Vec<Turn>) -> io::Result<Self> {
        Self::on(0, script, true)
    }

    /// The same on this port of loopback; 0 is any that is free.
    pub fn on(port: u16, script: Vec<Turn>, has_tools: bool) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port)))?;
        let address = listener.local_addr()?;
        let desk = Shared::new(Mutex::new(Desk { script, has_tools, ..Desk::default() }));
        let app = Router::new().fallback(answer).with_state(Arc::clone(&desk));
        runtime.spawn(async move { axum::serve(listener, app).await });
        Ok(Self { address, desk, _runtime: runtime })
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it was asked so far in the conversation.
    pub fn asked(&self) -> Vec<Asked> {
        locked(&self.desk).asked.clone()
    }

    /// How many wait for an answer that does not come.
    pub fn waiting(&self) -> usize {
        locked(&self.desk).waiting
    }

    /// How many have waited for such an answer and are gone.
    pub fn left(&self) -> usize {
        locked(&self.desk).left
    }

    /// Other turns from now on.
    pub fn set_script(&self, script: Vec<Turn>) {
        let mut desk = locked(&self.desk);
        (desk.script, desk.turns) = (script, 0);
    }
}

#[derive(Clone, Copy)]
enum Protocol {
    Responses,
    Messages,
    Chat,
    Gemini,
    Plain,
}

/// Somebody who waits for an answer that does not come. Dropped when the connection is.
struct Waiting(Shared);

impl Waiting {
    fn new(desk: &Shared) -> Self {
        locked(desk).waiting += 1;
        Self(Arc::clone(desk))
    }

    async fn forever(self) -> io::Result<String> {
        std::future::pending().await
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut desk = locked(&self.0);
        desk.waiting -= 1;
        desk.left += 1;
    }
}

async fn answer(State(desk): State<Shared>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let path = uri.path();
    let protocol = match path.rsplit('/').next().unwrap_or_default() {
        "responses" => Protocol::Responses,
        "messages" => Protocol::Messages,
        "completions" => Protocol::Chat,
        "json" => Protocol::Plain,
        last if last.ends_with("enerateContent") => Protocol::Gemini,
        "count_tokens" => return json_response(200, &json!({ "input_tokens": 100 })),
        last if last.ends_with(":countTokens") => return json_response(200, &json!({ "totalTokens": 100 })),
        "models" if method == Method::GET => return json_response(200, &json!({ "data": [], "models": [] })),
        _ => return json_response(404, &json!({ "error": { "message": "the fake model has no such page" } })),
    };
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let streams = body["stream"] == true || path.ends_with("streamGenerateContent");
    let (turn, number) = next(&desk, &uri, &headers, body);
    match turn {
        Turn::Say(text) => said(protocol, &Answer::Text(&[&text]), number, streams),
        Turn::Call { name, arguments } => said(protocol, &Answer::Call(&name, &arguments), number, streams),
        Turn::Cut(text) => {
            let begun = events(protocol, &Answer::Text(&[&text]), number, false).into_iter().map(Ok);
            // What was said is on its way before the connection goes.
            let cut = async {
                tokio::task::yield_now().await;
                Err(io::Error::other("cut"))
            };
            sse(stream::iter(begun).chain(stream::once(cut)))
        }
        Turn::Hang(text) => {
            let begun = events(protocol, &Answer::Text(&[&text]), number, false).into_iter().map(Ok);
            sse(stream::iter(begun).chain(stream::once(Waiting::new(&desk).forever())))
        }
        Turn::Pieces(pieces) => {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            sse(stream::iter(events(protocol, &Answer::Text(&pieces), number, true).into_iter().map(Ok)))
        }
        Turn::Overload(text) => {
            let begun = events(protocol, &Answer::Text(&[&text]), number, false).into_iter();
            sse(stream::iter(begun.chain([overload(protocol)]).map(Ok)))
        }
        Turn::Silent => {
            let _ = Waiting::new(&desk).forever().await;
            json_response(500, &Value::Null)
        }
        Turn::Status { code, headers, body } => {
            let mut response = json_response(code, &body);
            for (name, value) in headers {
                if let (Ok(name), Ok(value)) = (name.parse::<header::HeaderName>(), value.parse()) {
                    response.headers_mut().insert(name, value);
                }
            }
            response
        }
    }
}

/// The turn for this request.
fn next(desk: &Shared, uri: &Uri, headers: &HeaderMap, body: Value) -> (Turn, usize) {
    let mut desk = locked(desk);
    if desk.has_tools && !has_tools(&body) {
        return (Turn::Say(NOTHING_MORE.to_owned()), 0);
    }
    let text = |value: &header::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    let headers = headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect();
    desk.asked.push(Asked { uri: uri.to_string(), body, headers });
    let turn = desk.script.get(desk.turns).cloned().unwrap_or_else(|| Turn::Say(NOTHING_MORE.to_owned()));
    desk.turns += 1;
    (turn, desk.asked.len())
}

fn has_tools(body: &Value) -> bool {
    body["tools"].as_array().is_some_and(|tools| !tools.is_empty())
}

fn said(protocol: Protocol, answer: &Answer<'_>, number: usize, streams: bool) -> Response {
    if streams {
        return sse(stream::iter(events(protocol, answer, number, true).into_iter().map(Ok)));
    }
    let whole = match protocol {
        Protocol::Responses => responses::whole(answer, number),
        Protocol::Messages => messages::whole(answer, number),
        Protocol::Chat => chat::whole(answer, number),
        Protocol::Gemini => gemini::whole(answer),
        Protocol::Plain => plain::whole(answer),
    };
    json_response(200, &whole)
}

fn events(protocol: Protocol, answer: &Answer<'_>, number: usize, is_whole: bool) -> Vec<String> {
    match protocol {
        Protocol::Responses => responses::stream(answer, number, is_whole),
        Protocol::Messages => messages::stream(answer, number, is_whole),
        Protocol::Chat => chat::stream(answer, number, is_whole),
        Protocol::Gemini => gemini::stream(answer, is_whole),
        Protocol::Plain => plain::stream(answer, is_whole),
    }
}

/// The event that says it has too much to do.
fn overload(protocol: Protocol) -> String {
    let error = json!({ "type": "overloaded_error", "message": "Overloaded" });
    match protocol {
        Protocol::Chat | Protocol::Gemini | Protocol::Plain => unnamed(&json!({ "error": error })),
        Protocol::Messages | Protocol::Responses => named("error", json!({ "error": error })),
    }
}

fn sse(events: impl stream::Stream<Item = io::Result<String>> + Send + 'static) -> Response {
    response(200, "text/event-stream", Body::from_stream(events))
}

fn json_response(code: u16, body: &Value) -> Response {
    response(code, "application/json", Body::from(body.to_string()))
}

fn response(code: u16, media: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(media));
    response
}

fn locked(desk: &Shared) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}
