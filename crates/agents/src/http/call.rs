//! One attempt: its input, the request, the answer as it comes, its end.

use super::{
    answer::Answer,
    calls::Launch,
    client::{self, Clients},
    config::{Api, Http},
    limit, request, sse,
    voice::Voice,
};
use crate::{
    end::{self, End, Ended},
    inference::Inference,
    meter::Meter,
    output::Tap,
    pool::Given,
    redact::{Redactor, clean, clean_ended},
    schema,
    secret::Secret,
    tool::{Event, Usage},
    watch,
};
use jiff::{Timestamp, Zoned};
use reqwest::{
    RequestBuilder, Response,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, TRANSFER_ENCODING},
};
use serde_json::Value;
use std::{future::pending, sync::Arc, time::Duration};
use tokio::{
    sync::oneshot,
    task::spawn_blocking,
    time::{Instant, sleep, timeout_at},
};

/// The most that is read of an answer which is an error.
const ERROR_BYTES_MAX: usize = 64 << 10;
/// How long to wait for what may follow the end of an answer: what it used, the end of the connection.
const AFTERWORD: Duration = Duration::from_secs(5);

/// Makes an attempt. It ends early when `stop` says so, or is dropped.
pub(super) async fn make(launch: Launch, clients: &Clients, stop: oneshot::Receiver<()>) -> Ended {
    let time = launch.meter.time.clone();
    let (mut call, request) = match begin(launch, clients).await {
        Ok(begun) => begun,
        Err(end) => return end.into(),
    };
    let out_of_time = async {
        match time {
            Some((most, why)) => {
                sleep(most).await;
                why
            }
            None => pending().await,
        }
    };
    // Whoever loses is dropped, and the connection with it.
    let end = tokio::select! {
        biased;
        _ = stop => failed("stopped", true),
        why = out_of_time => failed(why, false),
        end = call.talk(request) => end.unwrap_or_else(|end| end),
    };
    call.ended(end)
}

fn failed(error: impl Into<String>, retryable: bool) -> End {
    End::Failed { error: error.into(), retryable }
}

/// An attempt whose request is made.
struct Call {
    http: Arc<Http>,
    secrets: Vec<Secret>,
    /// The answer as it came.
    raw: Tap,
    voice: Voice,
    answer: Answer,
    wants_json: bool,
    /// What its result must be like.
    schema: Option<String>,
    text_bytes_max: u64,
    meter: Meter,
    /// What the meter was told last.
    told: Usage,
    /// What is asked of a model, if one is asked.
    asked: Option<Box<Inference>>,
}

async fn begin(launch: Launch, clients: &Clients) -> Result<(Call, RequestBuilder), End> {
    let Launch { http, files, input, env, meter, key, result_schema: schema } = launch;
    let given = spawn_blocking(input).await.map_err(|error| failed(format!("cannot read its input: {error}"), true))?;
    let given = given.map_err(|error| failed(error, false))?;
    let Given { input, stdin, env: secret_headers, mut secrets } = given;
    secrets.extend(http.query_parts());
    let input = String::from_utf8_lossy(&input);
    // What is written down later is of the input as it was submitted: secrets stand in it as references.
    let shown = request::body(&http, &input, schema.as_deref());
    let wants_json = shown.wants_json;
    let asked = (http.api != Api::Json).then(|| Box::new(asked(&http, shown.value)));
    let body = stdin.map_or(shown.bytes, |stdin| request::body(&http, stdin.expose(), schema.as_deref()).bytes);
    let headers = headers(&http, &key.0.to_string(), &env, &secret_headers).map_err(|error| failed(error, false))?;
    let request = clients.post(&http, headers, body)?;
    let path = |name| files.with_added_extension(name);
    let mut raw = Tap::piped_by_nobody(path(watch::STDOUT), Redactor::new(&secrets), http.body_bytes_max);
    if http.api != Api::Json {
        raw.go_live();
    }
    let voice = Voice::new(path(watch::STDERR), &secrets);
    let (answer, told) = (Answer::new(http.api), Usage::default());
    let text_bytes_max = http.output_bytes_max;
    let call = Call { http, secrets, raw, voice, answer, wants_json, schema, text_bytes_max, meter, told, asked };
    Ok((call, request))
}

fn headers(
    http: &Http,
    step: &str,
    env: &[(String, String)],
    secrets: &[(String, Secret)],
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in request::headers(http, step, env) {
        let wrong = || format!("`{value}` cannot be sent in the header `{name}`");
        let value: HeaderValue = value.parse().map_err(|_| wrong())?;
        headers.insert(name.parse::<HeaderName>().map_err(|_| wrong())?, value);
    }
    for (name, value) in &http.headers {
        headers.insert(name, value.clone());
    }
    for (name, secret) in secrets {
        let is_key = http.key_header.as_ref().is_some_and(|header| header.as_str() == name);
        let (name, value) = client::secret_header(name, secret.expose(), is_key && name == "authorization")?;
        headers.insert(name, value);
    }
    Ok(headers)
}

/// What a model is asked, for whoever looks at it later.
fn asked(http: &Http, body: Value) -> Inference {
    let mut asked = Inference::new(now_ms());
    if let Value::Object(mut fields) = body {
        let prompt = ["messages", "input"].iter().find_map(|name| fields.remove(*name));
        asked.prompt = prompt.unwrap_or_default();
        let model = fields.remove("model").and_then(|model| model.as_str().map(str::to_owned));
        asked.model = model.unwrap_or_default();
        asked.parameters = fields;
    }
    asked.parameters.insert("provider".to_owned(), http.provider().into());
    asked
}

fn now_ms() -> u64 {
    u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0)
}

impl Call {
    /// Sends the request and takes in the answer. How it ended is the error, too: it ends at whatever ends it.
    async fn talk(&mut self, request: RequestBuilder) -> Result<End, End> {
        let until = Instant::now() + self.http.connect_timeout + self.http.first_byte_timeout;
        let mut response = match timeout_at(until, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(client::trouble(&error, &self.http)),
            Err(_) => return Err(self.late()),
        };
        match response.status().as_u16() {
            200..=299 => self.listen(&mut response, until).await,
            status @ 300..=399 => Err(limit::redirected(status, response.headers())),
            status => {
                let body = self.read_error(&mut response).await;
                Err(limit::refused(status, response.headers(), &body, &Zoned::now()))
            }
        }
    }

    fn late(&self) -> End {
        failed(format!("no answer within {:?} (`first_byte_timeout`)", self.http.first_byte_timeout), true)
    }

    /// The beginning of an answer that is an error, as far as it comes.
    async fn read_error(&mut self, response: &mut Response) -> Vec<u8> {
        let until = Instant::now() + self.http.idle_timeout;
        let mut body = Vec::new();
        while let Ok(Ok(Some(piece))) = timeout_at(until, response.chunk()).await {
            body.extend(self.raw.hear(&piece));
            if body.len() > ERROR_BYTES_MAX {
                break;
            }
        }
        body.extend(self.raw.hear_no_more());
        body
    }

    async fn listen(&mut self, response: &mut Response, first: Instant) -> Result<End, End> {
        let media = response.headers().get(CONTENT_TYPE).and_then(|media| media.to_str().ok()).unwrap_or_default();
        let mut parser = media.trim_start().starts_with("text/event-stream").then(sse::Parser::default);
        if parser.is_some() {
            self.raw.go_live();
        }
        let says_its_length =
            [CONTENT_LENGTH, TRANSFER_ENCODING].iter().any(|name| response.headers().contains_key(name));
        let mut whole = Vec::new();
        let mut until = first;
        let mut is_first = true;
        loop {
            let is_over = self.answer.is_over();
            let piece = match timeout_at(until, response.chunk()).await {
                Ok(Ok(piece)) => piece,
                // Everything that counts was said.
                Ok(Err(_)) | Err(_) if is_over => None,
                Ok(Err(error)) => return Err(cut_off(&client::cause(&error))),
                Err(_) if is_first => return Err(self.late()),
                Err(_) => {
                    return Err(cut_off(&format!("no data for {:?} (`idle_timeout`)", self.http.idle_timeout)));
                }
            };
            let said = match &piece {
                Some(piece) => self.raw.hear(piece),
                None => self.raw.hear_no_more(),
            };
            if self.raw.is_over() {
                return Err(too_long("answer", self.http.body_bytes_max));
            }
            match &mut parser {
                Some(parser) => {
                    for message in parser.take_in(&said).map_err(|error| failed(error.to_string(), false))? {
                        let events = self.answer.take_in(&message, &Zoned::now());
                        self.heard(&events)?;
                    }
                }
                None => whole.extend(said),
            }
            if piece.is_none() {
                break;
            }
            is_first = false;
            let wait =
                if self.answer.is_over() { AFTERWORD.min(self.http.idle_timeout) } else { self.http.idle_timeout };
            until = Instant::now() + wait;
        }
        match (parser, self.http.api) {
            (None, Api::Json) => return Self::document(whole, says_its_length),
            (None, Api::Chat | Api::Responses | Api::Messages) => {
                let events = self.answer.take_whole(&whole, &Zoned::now());
                self.heard(&events)?;
            }
            (Some(_), _) => {}
        }
        Ok(self.answer.judge(self.wants_json))
    }

    /// The answer of a server of one's own, as one document.
    fn document(body: Vec<u8>, says_its_length: bool) -> Result<End, End> {
        let is_closed =
            || matches!(serde_json::from_slice(&body), Ok(Value::Object(_) | Value::Array(_) | Value::String(_)));
        if !says_its_length && !body.is_empty() && !is_closed() {
            // It ends when the connection does, however that came about.
            let hint = "the server should send `content-length`, or JSON";
            return Err(failed(format!("it is unknown whether the answer is complete: {hint}"), false));
        }
        Ok(end::of_output(body, false))
    }

    /// Tells people and the meter.
    fn heard(&mut self, events: &[Event]) -> Result<(), End> {
        events.iter().for_each(|event| self.voice.event(event));
        if self.answer.said().text.len() as u64 > self.text_bytes_max {
            return Err(too_long("result", self.text_bytes_max));
        }
        let used = self.answer.said().usage;
        if std::mem::replace(&mut self.told, used) != used {
            (self.meter.used)(used).map_err(|why| failed(why, false))?;
        }
        Ok(())
    }

    /// It ended like this. Nothing of it is secret any more.
    fn ended(mut self, end: End) -> Ended {
        let shown = |text: &str| clean(text, &self.secrets);
        let end = match &self.schema {
            Some(schema) => schema::held_to(schema, end),
            None => end,
        };
        let end = clean_ended(end.into(), &self.secrets).end;
        let said = self.answer.said();
        let output = shown(said.text.trim_end());
        let (usage, model) = (said.usage, said.model.clone());
        if output != said.text.trim_end() {
            // A secret lay across two pieces of the answer, and so it stands there as it came.
            self.raw.forget();
            self.voice.note("! the answer contained a secret in several parts; it was removed");
        }
        if usage != Usage::default() {
            self.voice.note(&Event::Used(usage).for_people().unwrap_or_default());
        }
        match &end {
            End::Failed { error: why, .. } | End::Limited { reason: why, .. } => {
                // The answer may say more than the error does.
                self.raw.go_live();
                self.voice.note(&format!("! {why}"));
            }
            // A short document is the result, and needs no file of its own.
            End::Done { .. } => self.voice.close(),
        }
        let inference = self.asked.map(|mut asked| {
            asked.model = model.unwrap_or(asked.model);
            asked.output = output.into();
            asked.usage = usage;
            asked.ended_ms = now_ms();
            asked
        });
        Ended { end, inference }
    }
}

fn cut_off(why: &str) -> End {
    failed(format!("the answer was cut off: {why}"), true)
}

fn too_long(what: &str, max: u64) -> End {
    failed(format!("stopped: the {what} is longer than {max} bytes"), false)
}
