//! A collector of traces on loopback that keeps what it is sent, or says no.

#![allow(dead_code, reason = "not every test uses everything")]

use opentelemetry_proto::tonic::{
    collector::trace::v1::ExportTraceServiceRequest, common::v1::any_value::Value as Any, trace::v1::Span,
};
use prost::Message as _;
use serde_json::{Map, Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
};

#[derive(Clone, Default)]
struct Kept {
    spans: Vec<Value>,
    bodies: Vec<Vec<u8>>,
    headers: Vec<String>,
    requests: usize,
    answer: Option<u16>,
}

/// A collector. Its thread ends with the process.
pub(crate) struct Collector {
    pub(crate) url: String,
    kept: Arc<Mutex<Kept>>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let kept = Arc::<Mutex<Kept>>::default();
        let shared = Arc::clone(&kept);
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| serve(stream, &shared)));
        Self { url, kept }
    }

    /// From now on it answers with this status.
    pub(crate) fn answer(&self, status: u16) {
        self.kept.lock().unwrap().answer = Some(status);
    }

    /// Every span so far: `name`, `trace`, `id`, `parent`, `attributes`, `error`, `links`.
    pub(crate) fn spans(&self) -> Vec<Value> {
        self.kept.lock().unwrap().spans.clone()
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> usize {
        self.kept.lock().unwrap().requests
    }

    /// The body of every request, as it came.
    pub(crate) fn bodies(&self) -> Vec<Vec<u8>> {
        self.kept.lock().unwrap().bodies.clone()
    }

    /// Every line of every request's headers.
    pub(crate) fn headers(&self) -> Vec<String> {
        self.kept.lock().unwrap().headers.clone()
    }
}

fn serve(stream: TcpStream, kept: &Mutex<Kept>) {
    let mut reader = BufReader::new(stream);
    let (mut length, mut headers) = (0, Vec::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        if let Some(found) = line.to_ascii_lowercase().strip_prefix("content-length: ") {
            length = found.parse().unwrap();
        }
        headers.push(line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let sent = ExportTraceServiceRequest::decode(body.as_slice()).unwrap();
    let mut kept = kept.lock().unwrap();
    kept.requests += 1;
    kept.headers.extend(headers);
    kept.bodies.push(body);
    let status = kept.answer.unwrap_or(200);
    if status == 200 {
        let scopes = sent.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        kept.spans.extend(scopes.flat_map(|scope| scope.spans).map(shown));
    }
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    let _ = reader.get_mut().write_all(head.as_bytes());
}

fn shown(span: Span) -> Value {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let value = |value: Option<Any>| match value {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::IntValue(number)) => json!(number),
        other => json!(format!("{other:?}")),
    };
    let attributes = span.attributes.into_iter().map(|pair| (pair.key, value(pair.value.and_then(|any| any.value))));
    json!({
        "name": span.name, "trace": hex(&span.trace_id), "id": hex(&span.span_id), "parent": hex(&span.parent_span_id),
        "attributes": attributes.collect::<Map<_, _>>(), "error": span.status.map(|status| status.message),
        "links": span.links.iter().map(|link| hex(&link.span_id)).collect::<Vec<_>>(),
        "took_ms": (span.end_time_unix_nano - span.start_time_unix_nano) / 1_000_000,
    })
}
