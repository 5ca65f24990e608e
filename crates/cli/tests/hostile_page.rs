//! A real browser on a page of somebody else, which tries everything that a page can try (`hostile/page.html`). It must read nothing and change
//! nothing: not from another port, not under another name, not under a name that has come to point at the daemon itself.
//!
//! The page and the daemon are each behind a listener of the test, so that it is known what was sent and answered. A control shows that the page
//! reads whatever it may.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{house::House, web::Web};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, mpsc},
    thread,
    time::Duration,
};

const PAGE: &str = include_str!("hostile/page.html");
/// A browser on a busy machine, with two hundred attempts.
const PATIENCE: Duration = Duration::from_secs(120);
/// What is in the daemon, and nowhere else.
const PLANTED: &str = "planted-4c1d9e07";

/// Bytes that went to the daemon and came back.
#[derive(Default)]
struct Heard {
    sent: Vec<u8>,
    answered: Vec<u8>,
}

/// A listener on loopback. Whoever connects is served on a thread of its own, as long as the test runs.
fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let serve = Arc::clone(&serve);
            thread::spawn(move || serve(stream));
        }
    });
    port
}

/// The head of a request, and what of its body came with it.
fn head(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let rest = bytes.split_off(end + 4);
            return Some((String::from_utf8_lossy(&bytes).into_owned(), rest));
        }
        match stream.read(&mut buffer) {
            Ok(read) if read > 0 => bytes.extend_from_slice(&buffer[..read]),
            Ok(_) | Err(_) => return None,
        }
    }
}

fn answer(stream: &mut TcpStream, media: &str, body: &str) {
    let open = "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: *\r\nAccess-Control-Allow-Methods: *";
    let length = body.len();
    let text = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nContent-Length: {length}\r\nConnection: close\r\n{open}\r\n\r\n{body}"
    );
    let _ = stream.write_all(text.as_bytes()); // a browser that has lost interest is no fault
}

/// The page's own server: gives the page, takes its report, and is open to everybody in every other respect.
fn home(target: String) -> (u16, mpsc::Receiver<Value>) {
    let (tell, told) = mpsc::channel();
    let port = listen(move |mut stream| {
        let Some((request, mut body)) = head(&mut stream) else { return };
        let mut first = request.split(' ');
        let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
        match (method, path) {
            ("POST", "/report") => {
                let length = request
                    .lines()
                    .find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
                let mut rest = vec![0; length.unwrap_or(0_usize).saturating_sub(body.len())];
                stream.read_exact(&mut rest).unwrap();
                body.extend(rest);
                answer(&mut stream, "text/plain", "");
                let _ = tell.send(serde_json::from_slice(&body).unwrap());
            }
            (_, "/page.html") => {
                let own = format!("http://127.0.0.1:{}", stream.local_addr().unwrap().port());
                answer(&mut stream, "text/html", &PAGE.replace("@TARGET@", &target).replace("@HOME@", &own));
            }
            (_, "/api/v1/events") => answer(&mut stream, "text/event-stream", "data: read\n\n"),
            _ => answer(&mut stream, "application/json", "{\"read\": true}"),
        }
    });
    (port, told)
}

/// A way to the daemon on which everything is noted. A page, if there is one, is given out here: then its name points at the daemon.
fn gate(daemon: String, page: impl Fn() -> Option<String> + Send + Sync + 'static) -> (u16, Arc<Mutex<Heard>>) {
    let heard = Arc::new(Mutex::new(Heard::default()));
    let notes = Arc::clone(&heard);
    let port = listen(move |mut stream| {
        let Some((request, body)) = head(&mut stream) else { return };
        match page() {
            Some(page) if request.starts_with("GET /page.html ") => answer(&mut stream, "text/html", &page),
            _ => {
                let mut daemon = TcpStream::connect(&daemon).unwrap();
                let first = [request.as_bytes(), &body].concat();
                notes.lock().unwrap().sent.extend_from_slice(&first);
                daemon.write_all(&first).unwrap();
                let (there, back) = (daemon.try_clone().unwrap(), stream.try_clone().unwrap());
                let more = Arc::clone(&notes);
                thread::spawn(move || carry(stream, there, |bytes| more.lock().unwrap().sent.extend_from_slice(bytes)));
                carry(daemon, back, |bytes| notes.lock().unwrap().answered.extend_from_slice(bytes));
            }
        }
    });
    (port, heard)
}

/// Carries bytes until one of the two ends.
fn carry(mut from: TcpStream, mut to: TcpStream, note: impl Fn(&[u8])) {
    let mut buffer = [0; 8192];
    while let Ok(read) = from.read(&mut buffer) {
        note(&buffer[..read]);
        if read == 0 || to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// A browser; it and everything that it started end with the test.
struct Browser {
    child: Child,
    _profile: tempfile::TempDir,
}

impl Browser {
    fn open(url: &str) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let flags = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
                     --disable-component-update --disable-sync --disable-dev-shm-usage --disable-popup-blocking --no-proxy-server";
        let mut command = Command::new("chromium");
        command.args(flags.split_whitespace());
        command.arg("--host-resolver-rules=MAP evil.example 127.0.0.1");
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", profile.path());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Self { child: command.spawn().unwrap(), _profile: profile }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its own group, by its id: a browser is many processes.
        let _ = Command::new("kill").args(["-9", "--", &format!("-{}", self.child.id())]).status();
        let _ = self.child.wait();
    }
}

/// Whether there is a browser. Where there must be one, it is a failure that there is none.
fn has_browser() -> bool {
    let found = Command::new("chromium").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let is_there = found.is_ok_and(|status| status.success());
    let must = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(is_there || !must, "a browser is needed: apt-get install chromium");
    if !is_there {
        eprintln!("SKIPPED: no hostile page is tried: there is no `chromium` here (apt-get install chromium)");
    }
    is_there
}

/// What the page at this url has read, attempt by attempt.
fn report(url: &str, told: &mpsc::Receiver<Value>) -> Vec<(String, Option<String>)> {
    let _browser = Browser::open(url);
    let report = told.recv_timeout(PATIENCE).expect("the page has come to its end");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let results = report.as_array().unwrap().iter();
    let results: Vec<_> = results.map(|one| (text(&one["name"]).unwrap(), text(&one["read"]))).collect();
    assert!(results.len() > 180, "the page has tried {} things", results.len());
    results
}

/// A daemon with something in it.
struct Victim {
    house: House,
    web: Web,
}

impl Victim {
    fn new() -> Self {
        let house = House::new();
        assert_eq!(house.run(&["up", "--detach"]).code, 0);
        let web = Web::of(&house);
        let task = web.post("/tasks", &json!({ "agent": "echo", "input": PLANTED })).expect(201)["task"].clone();
        web.get(&format!("/tasks/{}/wait", task.as_str().unwrap())).expect(200);
        Self { house, web }
    }

    /// Everything that a page might want to change.
    fn state(&self) -> Value {
        let pos = self.web.get("/status").expect(200)["pos"].clone();
        let rows = ["/tasks", "/locks", "/namespaces", "/approvals", "/agents", "/dead"];
        let rows: Vec<Value> = rows.iter().map(|path| self.web.get(path).expect(200)).collect();
        let told =
            ["token", "settings"].map(|what| self.house.json(&[what, if what == "token" { "list" } else { "show" }]));
        json!({ "pos": pos, "rows": rows, "told": told })
    }

    /// Nothing has changed; and it is not for want of trying: the requests came, each was refused, and one with the token is not.
    fn assert_untouched(&self, before: &Value, heard: &Mutex<Heard>) {
        assert_eq!(self.state(), *before, "a page has changed something");
        let heard = heard.lock().unwrap();
        let (sent, answered) = (String::from_utf8_lossy(&heard.sent), String::from_utf8_lossy(&heard.answered));
        for came in [
            "GET /api/v1/status HTTP/1.1",
            "GET /api/v1/events HTTP/1.1",
            "POST /api/v1/tasks HTTP/1.1",
            "POST /api/v1/tokens HTTP/1.1",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
            "text/plain",
            "Upgrade: websocket",
            "from a page",
        ] {
            assert!(sent.contains(came), "`{came}` has never come to the daemon:\n{}", &sent[..sent.len().min(4000)]);
        }
        let statuses: Vec<&str> = answered.split("HTTP/1.1 ").skip(1).map(|rest| &rest[..3]).collect();
        assert!(statuses.len() > 100, "{} answers", statuses.len());
        assert!(
            statuses.iter().all(|status| status.starts_with('4')),
            "{:?}",
            statuses.iter().collect::<BTreeSet<_>>()
        );
        assert!(!answered.contains(PLANTED) && !answered.contains("access-control-allow"));
        self.web.post("/tasks", &json!({ "agent": "echo", "input": "by right" })).expect(201);
        assert_ne!(self.state(), *before, "whoever has the token changes something, and it is noticed");
        assert_eq!(self.house.run(&["log", "verify"]).code, 0);
    }
}

/// A page under this host, which tries the daemon under that one.
fn from_elsewhere(page_host: &str, daemon_host: &str) {
    if !has_browser() {
        return;
    }
    let victim = Victim::new();
    let before = victim.state();
    let (gate, heard) = gate(victim.web.host.clone(), || None);
    let (home, told) = home(format!("http://{daemon_host}:{gate}"));
    for (name, read) in report(&format!("http://{page_host}:{home}/page.html"), &told) {
        assert_eq!(read, None, "{name} has read something");
    }
    victim.assert_untouched(&before, &heard);
}

#[test]
fn a_page_from_another_port_reads_nothing_and_changes_nothing() {
    from_elsewhere("127.0.0.1", "127.0.0.1");
}

#[test]
fn a_page_under_another_name_reads_nothing_and_changes_nothing() {
    from_elsewhere("evil.example", "localhost");
}

/// Rebinding: the page was given out under a name, and then the name points at the daemon. To the browser it is one origin, so the page reads every
/// answer; and every answer is that nobody of that name is here.
#[test]
fn a_page_whose_name_points_at_the_daemon_is_told_that_nobody_of_that_name_is_here() {
    if !has_browser() {
        return;
    }
    let victim = Victim::new();
    let before = victim.state();
    let (home, told) = home(String::new());
    let page = PAGE.replace("@TARGET@", "").replace("@HOME@", &format!("http://127.0.0.1:{home}"));
    let (gate, heard) = gate(victim.web.host.clone(), move || Some(page.clone()));
    let mut refused = 0;
    for (name, read) in report(&format!("http://evil.example:{gate}/page.html"), &told) {
        let Some(read) = read else { continue };
        assert!(read.contains("\"wrong_host\"") && !read.contains(PLANTED), "{name} has read {read}");
        refused += usize::from(read.starts_with("421 "));
    }
    assert!(refused > 50, "the page could read {refused} refusals");
    victim.assert_untouched(&before, &heard);
}

/// A page that reads nothing proves nothing unless it can read.
#[test]
fn the_same_page_reads_what_is_open_to_it() {
    if !has_browser() {
        return;
    }
    let (home, told) = home(String::new());
    let results = report(&format!("http://127.0.0.1:{home}/page.html"), &told);
    for name in [
        "cors GET /tasks",
        "credentials GET /tasks",
        "token GET /tasks",
        "same-origin GET /tasks",
        "no-cors GET /tasks",
        "form text/plain /tasks",
        "form multipart/form-data /tasks",
        "cors POST /tasks",
        "token POST /tasks",
        "DELETE",
        "request with a header",
        "events",
        "frame of tasks",
        "window of tasks",
        "module of JSON",
        "object",
    ] {
        let read = results.iter().find(|(known, _)| known == name).and_then(|(_, read)| read.as_deref());
        assert!(read.is_some_and(|read| read.contains("read") || read == "it is open"), "{name}: {read:?}");
    }
}
