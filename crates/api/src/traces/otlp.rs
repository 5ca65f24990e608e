//! The wire: protobuf over HTTP, as every collector takes it.

use opentelemetry_proto::tonic::{
    collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse},
    common::v1::{AnyValue, InstrumentationScope, any_value::Value},
    resource::v1::Resource,
    trace::v1::{ResourceSpans, ScopeSpans},
};
use prost::Message as _;
use relaymesh_agents::http::{cause, prepare_tls};
use relaymesh_core::trace::SpanId;
use reqwest::{
    Client, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue},
    redirect,
};
use std::{fmt::Display, thread, time::Duration};
use tokio::runtime::Runtime;

pub(super) use opentelemetry_proto::tonic::{common::v1::KeyValue, trace::v1::Span};

/// Where collectors listen for traces, below an address without a path.
const PATH: &str = "v1/traces";
const PROTOBUF: &str = "application/x-protobuf";
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before each further try.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(2)];
/// More of an answer is not read.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// In the flags of a span: the trace is kept.
const SAMPLED: u32 = 1;

/// Where spans go.
pub struct Collector {
    client: Client,
    url: Url,
    headers: HeaderMap,
    resource: Resource,
    runtime: Runtime,
}

/// Why a request failed, and whether a retry may help.
struct Trouble {
    why: String,
    is_passing: bool,
}

impl Collector {
    /// The one at this address; `said` are headers for it, such as `authorization=Bearer xyz`, with commas between them; `node` is who sends.
    pub fn new(endpoint: &str, said: &str, node: &str) -> Result<Self, String> {
        let headers = headers(said)?;
        let mut url = Url::parse(endpoint).map_err(|error| format!("`{endpoint}` is not a URL: {error}"))?;
        if url.path() == "/" {
            url.set_path(PATH);
        }
        let resource = Resource {
            attributes: vec![
                text("service.name", "relaymesh".to_owned()),
                text("service.version", env!("CARGO_PKG_VERSION").to_owned()),
                text("service.instance.id", node.to_owned()),
            ],
            ..Resource::default()
        };
        prepare_tls();
        let builder = Client::builder()
            .user_agent(concat!("relaymesh/", env!("CARGO_PKG_VERSION")))
            .redirect(redirect::Policy::none())
            .timeout(PATIENCE)
            .no_proxy();
        // Certificates are read from the system, which takes time and memory, and is in vain without encryption.
        let builder = if url.scheme() == "http" { builder.tls_certs_only([]) } else { builder };
        let client = builder.build().map_err(|error| error.to_string())?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        Ok(Self { client, url, headers, resource, runtime })
    }

    /// Sends the spans; says how many of them the collector refused. Tries again for a moment if that may help.
    pub(super) fn send(&self, spans: Vec<Span>) -> Result<u64, String> {
        let scope = InstrumentationScope { name: "relaymesh".to_owned(), ..InstrumentationScope::default() };
        let scope_spans = vec![ScopeSpans { scope: Some(scope), spans, ..ScopeSpans::default() }];
        let resource = Some(self.resource.clone());
        let all = ResourceSpans { resource, scope_spans, ..ResourceSpans::default() };
        let body = ExportTraceServiceRequest { resource_spans: vec![all] }.encode_to_vec();
        let mut again = AGAIN.iter();
        loop {
            match self.runtime.block_on(self.post(body.clone())) {
                Ok(refused) => return Ok(refused),
                Err(Trouble { is_passing: true, why }) => match again.next() {
                    Some(pause) => thread::sleep(*pause),
                    None => return Err(why),
                },
                Err(Trouble { is_passing: false, why }) => return Err(why),
            }
        }
    }

    async fn post(&self, body: Vec<u8>) -> Result<u64, Trouble> {
        let request = self.client.post(self.url.clone()).headers(self.headers.clone());
        let sent = request.header(CONTENT_TYPE, PROTOBUF).body(body).send().await;
        let mut response = sent.map_err(|error| Trouble { why: cause(&error), is_passing: !error.is_builder() })?;
        let status = response.status();
        if !status.is_success() {
            let is_passing = matches!(
                status,
                StatusCode::TOO_MANY_REQUESTS
                    | StatusCode::BAD_GATEWAY
                    | StatusCode::SERVICE_UNAVAILABLE
                    | StatusCode::GATEWAY_TIMEOUT
            );
            return Err(Trouble { why: format!("the collector answered {status}"), is_passing });
        }
        let is_known =
            response.headers().get(CONTENT_TYPE).is_some_and(|found| found.as_bytes() == PROTOBUF.as_bytes());
        let mut answer = Vec::new();
        // What it took it took: an answer that breaks off changes nothing.
        while let Ok(Some(part)) = response.chunk().await {
            if answer.len() + part.len() > ANSWER_BYTES_MAX {
                break;
            }
            answer.extend_from_slice(&part);
        }
        let said = if is_known { ExportTraceServiceResponse::decode(answer.as_slice()).ok() } else { None };
        let refused = said.and_then(|said| said.partial_success).map_or(0, |partial| partial.rejected_spans);
        Ok(u64::try_from(refused).unwrap_or(0))
    }
}

/// Headers in the form that is agreed on. The error repeats none of it.
fn headers(said: &str) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (place, pair) in (1..).zip(said.split(',').filter(|pair| !pair.trim().is_empty())) {
        let wrong = |what| format!("header {place} of the secret {what}");
        let (name, value) = pair.split_once('=').ok_or_else(|| wrong("is not name=value"))?;
        let name: HeaderName = name.trim().parse().map_err(|_| wrong("has an invalid header name"))?;
        let value = HeaderValue::from_str(value.trim()).map_err(|_| wrong("has characters that a header cannot have"));
        let mut value = value?;
        value.set_sensitive(true);
        headers.append(name, value);
    }
    Ok(headers)
}

/// A span with its ids and times.
pub(super) fn span(trace_id: u128, own: SpanId, parent: Option<SpanId>, (from_ms, to_ms): (u64, u64)) -> Span {
    Span {
        trace_id: trace_id.to_be_bytes().to_vec(),
        span_id: own.to_bytes().to_vec(),
        parent_span_id: parent.map(|parent| parent.to_bytes().to_vec()).unwrap_or_default(),
        flags: SAMPLED,
        start_time_unix_nano: from_ms.saturating_mul(1_000_000),
        // A clock that was set back is no reason to end before the beginning.
        end_time_unix_nano: to_ms.max(from_ms).saturating_mul(1_000_000),
        ..Span::default()
    }
}

/// What is known about a span: a text.
pub(super) fn text(key: &str, value: String) -> KeyValue {
    pair(key, Value::StringValue(value))
}

/// The same of whatever can be shown.
pub(super) fn id(key: &str, value: impl Display) -> KeyValue {
    text(key, value.to_string())
}

/// A number.
pub(super) fn number(key: &str, value: i64) -> KeyValue {
    pair(key, Value::IntValue(value))
}

fn pair(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}
