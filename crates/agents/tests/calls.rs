//! Attempts of agents that are reached by HTTP, against a scripted model on loopback.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use relaymesh_agents::{
    Agent, Agents, End, Ended, Given, Key, Kind, Meter, Secret,
    http::{Calls, Http, Launch},
    tool::Usage,
};
use relaymesh_core::id::{StepId, TaskId};
use relaymesh_fake_model::{FakeModel, Turn};
use serde_json::json;
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

const PATIENCE: Duration = Duration::from_secs(30);

struct Rig {
    folder: tempfile::TempDir,
    calls: Option<Calls>,
    ends: mpsc::Receiver<(Key, Ended)>,
    agents: Agents,
}

impl Rig {
    fn new(model: &FakeModel) -> Self {
        let url = model.url();
        Self::of(&format!(
            "url = \"{url}/v1/messages\"\napi = \"messages\"\nmodel = \"m\"\nkey = \"k\"\nmax_tokens = 7\nallow = [\"loopback\"]\n"
        ))
    }

    /// With one agent that has this entry.
    fn of(entry: &str) -> Self {
        let text = format!("[agents.a]\n{entry}");
        let (tell, ends) = mpsc::channel();
        let calls = Calls::new(move |key, ended| drop(tell.send((key, ended))));
        let agents = Agents::parse(&text, Path::new("/nowhere")).unwrap();
        Self { folder: tempfile::tempdir().unwrap(), calls: Some(calls), ends, agents }
    }

    fn http(&self) -> Arc<Http> {
        let agent = self.agents.get(&"a".parse().unwrap()).unwrap();
        let Agent { kind: Kind::Http(http), .. } = agent else { panic!("{agent:?}") };
        Arc::clone(http)
    }

    fn launch(&self, index: u16, meter: Meter) -> Key {
        let key = (StepId { task: TaskId::from_bytes([1; 16]), index }, 1);
        let files = self.folder.path().join(format!("deep/down/{index}.1"));
        let secret = || Secret::new("the-secret-itself".to_owned());
        self.calls.as_ref().unwrap().launch(Launch {
            key,
            http: self.http(),
            files,
            input: Box::new(move || {
                Ok(Given {
                    input: b"{\"prompt\":\"open\",\"with\":{\"$secret\":\"s\"}}".to_vec(),
                    stdin: Some(Secret::new("{\"prompt\":\"open\",\"with\":\"the-secret-itself\"}".to_owned())),
                    env: vec![("x-api-key".to_owned(), secret())],
                    secrets: vec![secret()],
                })
            }),
            env: Vec::new(),
            meter,
            result_schema: None,
        });
        key
    }

    fn end(&self) -> Ended {
        self.ends.recv_timeout(PATIENCE).unwrap().1
    }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "it never came: {what}");
        std::thread::yield_now();
    }
}

#[test]
fn what_was_asked_and_said_and_used_is_known_and_nothing_of_it_is_secret() {
    let model = FakeModel::start(vec![Turn::Say("It is the-secret-itself.".to_owned())]).unwrap();
    let rig = Rig::new(&model);
    let told = Arc::new(Mutex::new(Vec::new()));
    let used = {
        let told = Arc::clone(&told);
        Arc::new(move |used: Usage| {
            told.lock().unwrap().push((used.input_tokens, used.output_tokens));
            Ok(())
        })
    };
    rig.launch(0, Meter { used, time: None });
    let Ended { end, inference } = rig.end();
    let End::Done { result, .. } = end else { panic!("{end:?}") };
    assert_eq!(result, b"It is ***.");
    let asked = inference.unwrap();
    assert!(model.asked()[0].body.to_string().contains("the-secret-itself"), "the model is given it");
    assert_eq!(asked.prompt, json!([{ "role": "user", "content": "open\n\n{\"with\":{\"$secret\":\"s\"}}" }]));
    assert_eq!((asked.model.as_str(), &asked.output), ("claude-sonnet-4-5", &json!("It is ***.")));
    assert_eq!((&asked.parameters["max_tokens"], asked.parameters.get("messages")), (&json!(7), None));
    assert_eq!((asked.usage.input_tokens, asked.usage.cached_tokens, asked.usage.output_tokens), (140, 30, 20));
    assert!(asked.began_ms > 0 && asked.began_ms <= asked.ended_ms);
    assert_eq!(*told.lock().unwrap(), [(140, 1), (140, 20)], "as it goes");
}

#[test]
fn what_uses_more_than_it_may_is_ended_at_once_and_what_it_used_is_known() {
    let model = FakeModel::start(vec![Turn::Hang("I am".to_owned()), Turn::Hang("I am".to_owned())]).unwrap();
    let rig = Rig::new(&model);
    let used = Meter {
        used: Arc::new(|used| if used.input_tokens > 100 { Err("over budget".to_owned()) } else { Ok(()) }),
        time: None,
    };
    let time = Meter { time: Some((Duration::from_millis(1), "out of time".to_owned())), ..Meter::default() };
    for (index, meter, why) in [(0, used, "over budget"), (1, time, "out of time")] {
        rig.launch(index, meter);
        let Ended { end, inference } = rig.end();
        assert_eq!(end, End::Failed { error: why.to_owned(), retryable: false });
        let asked = inference.unwrap();
        if index == 0 {
            assert_eq!((asked.model.as_str(), asked.usage.input_tokens), ("claude-sonnet-4-5", 140));
            until("the connection is gone", || model.left() == 1);
        }
    }
}

#[test]
fn a_stop_and_the_end_of_everything_reach_the_connection() {
    let model = FakeModel::start(vec![Turn::Hang("I am".to_owned()); 3]).unwrap();
    let mut rig = Rig::new(&model);
    let (step, epoch) = rig.launch(0, Meter::default());
    rig.launch(1, Meter::default());
    rig.launch(2, Meter::default());
    until("all of them wait", || model.waiting() == 3);
    rig.calls.as_ref().unwrap().stop(step, epoch);
    let ((stopped, _), Ended { end, .. }) = rig.ends.recv_timeout(PATIENCE).unwrap();
    assert_eq!((stopped, end), (step, End::Failed { error: "stopped".to_owned(), retryable: true }));
    until("its connection is gone", || model.left() == 1);
    rig.calls.as_ref().unwrap().stop(step, epoch);
    rig.calls = None;
    assert_eq!(rig.ends.iter().count(), 2, "the others are told of, and then nobody is left to tell");
    until("all connections are gone", || model.left() == 3);
}

/// A server that answers each request with the next of these, and counts connections. With `hangs_up` it closes each after one answer,
/// and does not say so before.
struct Server {
    url: String,
    connections: Arc<AtomicUsize>,
    closed: mpsc::Receiver<()>,
}

impl Server {
    fn start(answers: &'static [(u16, &'static str)], hangs_up: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let connections = Arc::new(AtomicUsize::new(0));
        let (close, closed) = mpsc::channel();
        let counted = Arc::clone(&connections);
        std::thread::spawn(move || {
            let mut answers = answers.iter();
            while answers.len() > 0 {
                let (stream, _) = listener.accept().unwrap();
                counted.fetch_add(1, Ordering::Relaxed);
                let mut stream = BufReader::new(stream);
                while let Some((status, body)) = answers.as_slice().first().filter(|_| heard(&mut stream)) {
                    answers.next();
                    let length = body.len();
                    write!(stream.get_mut(), "HTTP/1.1 {status} Said\r\ncontent-length: {length}\r\n\r\n{body}")
                        .unwrap();
                    if hangs_up {
                        break;
                    }
                }
                drop(stream);
                let _ = close.send(());
            }
        });
        Self { url, connections, closed }
    }
}

/// Reads one request. `false`: the client has closed.
fn heard(stream: &mut BufReader<TcpStream>) -> bool {
    let (mut length, mut line) = (0, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).unwrap_or(0) == 0 {
            return false;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            return stream.read_exact(&mut vec![0; length]).is_ok();
        }
    }
}

#[test]
fn attempts_share_a_connection_and_leave_files_only_where_there_is_something_to_keep() {
    let server = Server::start(&[(200, "{\"a\":1}"), (200, "{\"a\":2}"), (500, "out of paper")], false);
    let rig = Rig::of(&format!("url = \"{}\"\nallow = [\"loopback\"]\n", server.url));
    for index in 0..2 {
        rig.launch(index, Meter::default());
        let Ended { end: End::Done { result, .. }, .. } = rig.end() else { panic!("it failed") };
        assert_eq!(result, format!("{{\"a\":{}}}", index + 1).as_bytes());
    }
    assert_eq!(std::fs::read_dir(rig.folder.path()).unwrap().count(), 0, "there is a folder, and nothing to keep");
    rig.launch(2, Meter::default());
    let Ended { end: End::Failed { .. }, .. } = rig.end() else { panic!("500 is no success") };
    let kept =
        |stream| std::fs::read_to_string(rig.folder.path().join("deep/down").join(format!("2.1.{stream}"))).unwrap();
    assert_eq!(kept("stdout"), "out of paper");
    assert!(kept("stderr").contains("500"), "{}", kept("stderr"));
    assert_eq!(server.connections.load(Ordering::Relaxed), 1);
}

#[test]
fn a_connection_that_the_server_has_closed_costs_no_attempt() {
    let server = Server::start(&[(200, "1"), (200, "2"), (200, "3")], true);
    let rig = Rig::of(&format!("url = \"{}\"\nallow = [\"loopback\"]\n", server.url));
    for index in 0..3 {
        rig.launch(index, Meter::default());
        let ended = rig.end();
        assert!(matches!(ended.end, End::Done { .. }), "{:?}", ended.end);
        server.closed.recv_timeout(PATIENCE).unwrap();
    }
    assert_eq!(server.connections.load(Ordering::Relaxed), 3);
}

#[test]
fn an_input_that_cannot_be_given_sends_nothing() {
    let model = FakeModel::start(Vec::new()).unwrap();
    let rig = Rig::new(&model);
    let files = rig.folder.path().join("0.1");
    rig.calls.as_ref().unwrap().launch(Launch {
        key: (StepId { task: TaskId::from_bytes([1; 16]), index: 0 }, 1),
        http: rig.http(),
        files,
        input: Box::new(|| Err("no such secret".to_owned())),
        env: Vec::new(),
        meter: Meter::default(),
        result_schema: None,
    });
    let Ended { end, inference } = rig.end();
    assert_eq!((end, inference), (End::Failed { error: "no such secret".to_owned(), retryable: false }, None));
    assert!(model.asked().is_empty());
}
