//! Streams of the real tools, recorded with the fake model, and events that those runs did not have.

use super::*;
use std::path::Path;

fn now() -> Zoned {
    "2026-09-21T10:00:00[UTC]".parse().unwrap()
}

fn recorded(name: &str) -> Said {
    let tool = match name.split('.').next().unwrap() {
        "codex" => Tool::Codex,
        "claude" => Tool::Claude,
        "gemini" => Tool::Gemini,
        "aider" => Tool::Aider,
        _ => Tool::Opencode,
    };
    let form = if tool == Tool::Aider { "txt" } else { "jsonl" };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("recorded/{name}.{form}"));
    let mut transcript = Transcript::new(tool);
    for line in std::fs::read_to_string(path).unwrap().lines() {
        transcript.line(line.as_bytes(), &now());
    }
    transcript.finish()
}

fn events(tool: Tool, line: &str) -> Vec<Event> {
    Transcript::new(tool).line(line.as_bytes(), &now())
}

#[test]
fn a_run_that_ends_well_has_its_words_its_session_and_what_it_used() {
    let cases = [
        ("codex.say", "Hello there", (100, 40, 20, 1), None),
        ("codex.tool", "Done", (200, 80, 40, 1), None),
        ("claude.say", "Hello there", (140, 30, 20, 1), Some(1_078)),
        ("claude.tool", "Done", (280, 60, 40, 2), Some(2_155)),
        ("gemini.say", "Hello there", (100, 0, 20, 1), None),
        ("gemini.tool", "Done", (200, 0, 40, 1), None),
        ("opencode.say", "Hello there", (100, 40, 20, 1), Some(0)),
        ("opencode.tool", "Done", (200, 80, 40, 2), Some(0)),
        ("aider.say", "Hello there", (100, 0, 20, 1), None),
    ];
    for (name, text, (input_tokens, cached_tokens, output_tokens, turns), cost_micros) in cases {
        let said = recorded(name);
        assert_eq!((said.text.trim(), said.stop.as_ref()), (text, Some(&Stop::Done)), "{name}");
        assert_eq!(said.usage, Usage { input_tokens, cached_tokens, output_tokens, turns, cost_micros }, "{name}");
        assert!(name.starts_with("aider") || said.session.is_some_and(|id| id.len() >= 30), "{name}");
        assert_eq!(said.unknown, 0, "{name}");
    }
}

#[test]
fn a_run_that_ends_badly_says_why_and_a_closed_window_says_until_when() {
    let cases = [
        ("codex.cut", "stream disconnected before completion: error sending request", None),
        ("codex.broken", "We’re currently experiencing high demand, which may cause temporary errors.", Some(None)),
        ("codex.rate", "exceeded retry limit, last status: 429 Too Many Requests", Some(None)),
        ("claude.cut", "API Error: Unable to connect to API (ECONNRESET)", None),
        ("claude.rate", "API Error: Request rejected (429) · slow down", Some(None)),
        ("gemini.cut", "[API Error: exception TypeError: fetch failed sending request]", None),
        ("opencode.broken", "broken on purpose", None),
        ("opencode.rate", "slow down", Some(None)),
        ("opencode.window", "Usage limit reached. Please try again in 2h.", Some(Some(1_789_992_000_000))),
        ("aider.broken", "litellm.BadRequestError: OpenAIException - broken on purpose", None),
    ];
    for (name, message, limit) in cases {
        let message = message.to_owned();
        let expected = match limit {
            None => Stop::Failed(message),
            Some(until_ms) => Stop::Limited { message, until_ms },
        };
        assert_eq!(recorded(name).stop, Some(expected), "{name}");
    }
    let Some(Stop::Limited { until_ms, .. }) = recorded("codex.window").stop else { panic!("not limited") };
    assert_eq!(until_ms, Some(1_789_999_980_000), "it says the minute alone");
    for (name, words) in [
        ("claude.broken", "API Error: 500 broken"),
        ("gemini.broken", "[API Error: "),
        ("opencode.cut", "Cannot connect to API"),
        ("aider.cut", "litellm.InternalServerError"),
    ] {
        let broken = recorded(name).stop;
        assert!(matches!(&broken, Some(Stop::Failed(why)) if why.starts_with(words)), "{name}: {broken:?}");
    }
    for name in ["gemini.rate", "gemini.window", "aider.rate"] {
        let found = recorded(name).stop;
        assert!(matches!(found, Some(Stop::Limited { until_ms: None, .. })), "{name}: {found:?}");
    }
    let found = recorded("aider.window").stop;
    assert!(matches!(found, Some(Stop::Limited { until_ms: Some(1_789_992_000_000), .. })), "{found:?}");
}

#[test]
fn a_stream_that_was_cut_off_has_no_end() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/claude.say.jsonl");
    let text = std::fs::read_to_string(path).unwrap();
    let mut transcript = Transcript::new(Tool::Claude);
    let half = text.lines().next().unwrap();
    transcript.line(half.as_bytes(), &now());
    transcript.line(&half.as_bytes()[..half.len() / 2], &now());
    assert_eq!((transcript.said().stop.as_ref(), transcript.said().unknown), (None, 1));
}

#[test]
fn what_the_agents_do_is_told_in_the_same_words() {
    let tool = |name: &str, about: &str| Event::Tool { name: name.to_owned(), about: about.to_owned() };
    let ended = |ok, about: &str| Event::ToolEnded { ok, about: about.to_owned() };
    let cases = [
        (
            Tool::Codex,
            r#"{"type":"item.completed","item":{"type":"file_change","changes":[{"path":"a","kind":"add"},{"path":"b","kind":"update"}],"status":"completed"}}"#,
            vec![tool("file change", "a, b"), ended(true, "a, b")],
        ),
        (
            Tool::Codex,
            r#"{"type":"item.started","item":{"type":"mcp_tool_call","server":"mesh","tool":"submit","arguments":{"a":1},"status":"in_progress"}}"#,
            vec![tool("mesh.submit", "{\"a\":1}")],
        ),
        (
            Tool::Codex,
            r#"{"type":"item.completed","item":{"type":"command_execution","command":"x","aggregated_output":"no\n","exit_code":2,"status":"failed"}}"#,
            vec![ended(false, "no\n")],
        ),
        (
            Tool::Codex,
            r#"{"type":"item.completed","item":{"type":"reasoning","text":"hm"}}"#,
            vec![Event::Thought("hm".to_owned())],
        ),
        (Tool::Codex, r#"{"type":"item.completed","item":{"type":"todo_list","items":[]}}"#, vec![]),
        (
            Tool::Claude,
            r#"{"type":"assistant","message":{"model":"m","content":[{"type":"thinking","thinking":"hm"},{"type":"tool_use","name":"Read","input":{"file_path":"/a"}}]}}"#,
            vec![Event::Thought("hm".to_owned()), tool("Read", "/a")],
        ),
        (
            Tool::Claude,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","is_error":true,"content":[{"type":"text","text":"no"}]}]}}"#,
            vec![ended(false, r#"[{"text":"no","type":"text"}]"#)],
        ),
        (
            Tool::Opencode,
            r#"{"type":"tool_use","part":{"tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a\n"}}}"#,
            vec![tool("bash", "ls"), ended(true, "a\n")],
        ),
        (
            Tool::Gemini,
            r#"{"type":"error","severity":"warning","message":"hm"}"#,
            vec![Event::Trouble("hm".to_owned())],
        ),
        (Tool::Aider, "plain words", vec![Event::Text("plain words".to_owned())]),
    ];
    for (of, line, expected) in cases {
        assert_eq!(events(of, line), expected, "{line}");
    }
}

#[test]
fn a_window_that_closes_is_heard_before_the_end_of_the_run() {
    let mut transcript = Transcript::new(Tool::Claude);
    let event = r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1790000000,"rateLimitType":"five_hour"},"session_id":"s"}"#;
    transcript.line(event.as_bytes(), &now());
    transcript.line(
        br#"{"type":"result","subtype":"success","is_error":true,"result":"You've hit your limit","session_id":"s"}"#,
        &now(),
    );
    let message = "five_hour limit reached".to_owned();
    assert_eq!(transcript.finish().stop, Some(Stop::Limited { message, until_ms: Some(1_790_000_000_000) }));
}

#[test]
fn what_is_not_understood_is_kept_and_no_error() {
    for tool in [Tool::Codex, Tool::Claude, Tool::Gemini, Tool::Opencode] {
        for line in ["{\"type\":\"new.thing\",\"a\":1}", "not json", "[]", "{\"type\":7}", "\u{fffd}"] {
            assert!(matches!(events(tool, line)[..], [Event::Unknown(_)]), "{tool:?} {line}");
        }
        assert_eq!(events(tool, "   "), []);
    }
}

#[test]
fn aider_ends_well_only_if_it_has_said_so() {
    let mut transcript = Transcript::new(Tool::Aider);
    let mut told = Vec::new();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("recorded/aider.tool.txt");
    for line in std::fs::read_to_string(path).unwrap().lines() {
        told.extend(transcript.line(line.as_bytes(), &now()));
    }
    let edit = Event::Tool { name: "edit".to_owned(), about: "made.txt".to_owned() };
    assert!(
        told.contains(&edit) && matches!(told.last(), Some(Event::Tool { name, .. }) if name == "commit"),
        "{told:?}"
    );
    assert_eq!(transcript.said().model.as_deref(), Some("openai/m"));
    // An error that it tries again after is no end, and money is counted where it is told.
    let mut transcript = Transcript::new(Tool::Aider);
    for line in ["litellm.RateLimitError: slow down", "Try again later.", "Retrying in 0.2 seconds...", "Hi"] {
        transcript.line(line.as_bytes(), &now());
    }
    assert_eq!((transcript.said().stop.as_ref(), transcript.said().text.as_str()), (None, "Hi\n"));
    transcript.line(b"Tokens: 1.2k sent, 345 received. Cost: $0.01 message, $0.02 session.", &now());
    let usage = transcript.said().usage;
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.cost_micros), (1_200, 345, Some(20_000)));
    assert_eq!(transcript.said().stop, Some(Stop::Done));
}

#[test]
fn that_a_tool_tries_again_is_heard_beside_its_answers() {
    let log = |small, error: &str| {
        format!(
            "timestamp=2026-11-17T19:04:45.381Z level=ERROR run=e7 message=\"stream error\" providerID=fake \
             session.id=ses_1 small={small} agent=build error.error={error}"
        )
    };
    let aside = |tool, line: &str| Transcript::new(tool).aside(line, &now());
    let again = |words: &str, until_ms| Event::Again(Stop::Limited { message: words.to_owned(), until_ms });
    let session = Event::Session("ses_1".to_owned());
    let away = log(false, "\"AI_APICallError: Usage limit reached, try again in 2 hours\"");
    let words = "AI_APICallError: Usage limit reached, try again in 2 hours";
    assert_eq!(aside(Tool::Opencode, &away), [session.clone(), again(words, Some(1_789_992_000_000))]);
    let cut = log(false, "\"AI_APICallError: \\\"gone\\\"\"");
    let gone = Event::Again(Stop::Failed("AI_APICallError: \"gone\"".to_owned()));
    assert_eq!(aside(Tool::Opencode, &cut), [session.clone(), gone]);
    let half = Event::Again(Stop::Failed("\"half".to_owned()));
    assert_eq!(aside(Tool::Opencode, &log(false, "\"half")), [session, half]);
    assert_eq!(aside(Tool::Opencode, &log(true, "\"a title\"")), []);
    let line = "Attempt 1 failed with status 429. Retrying with backoff... ApiError";
    assert_eq!(aside(Tool::Gemini, line), [again(line, None)]);
    assert_eq!(aside(Tool::Gemini, "Attempt 2 failed: gone. Max attempts reached"), []);
    assert_eq!(aside(Tool::Codex, line), []);
}

#[test]
fn numbers_without_measure_are_taken_for_large_ones() {
    let most = u64::MAX;
    let usage = format!("{{\"input_tokens\":{most},\"output_tokens\":{most},\"cache_read_input_tokens\":{most}}}");
    let line = format!(
        "{{\"type\":\"result\",\"subtype\":\"success\",\"result\":\"\",\"num_turns\":{most},\"usage\":{usage}}}"
    );
    let limit = format!(
        "{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"rejected\",\"resetsAt\":{most}}}}}"
    );
    let mut transcript = Transcript::new(Tool::Claude);
    transcript.line(limit.as_bytes(), &now());
    assert!(matches!(transcript.said().stop, Some(Stop::Limited { until_ms: None, .. })));
    transcript.line(line.as_bytes(), &now());
    assert_eq!(transcript.finish().usage.input_tokens, 2 << 40);
}

#[test]
fn another_tool_is_understood_by_pointers() {
    let cli = |text: &str| -> Box<Generic> { Box::new(toml::from_str(text).unwrap()) };
    let said = |generic: Box<Generic>, lines: &[&str]| {
        let mut transcript = Transcript::generic(generic);
        for line in lines {
            transcript.line(line.as_bytes(), &now());
        }
        transcript.close(&now());
        transcript.finish()
    };
    let whole = cli("output = \"json\"\ntext = \"/a/0\"\nmodel = \"/m\"\nerror = \"/e\"\nusage = { cost = \"/usd\" }");
    let found = said(whole.clone(), &["{ \"a\": [", "\"done\"], \"m\": \"x-1\",", "\"usd\": 0.5, \"e\": null }"]);
    assert_eq!((found.text.as_str(), found.model.as_deref(), &found.stop), ("done", Some("x-1"), &Some(Stop::Done)));
    assert_eq!(found.usage.cost_micros, Some(500_000));
    let failed = said(whole.clone(), &["{\"e\": \"rate limit, try again in 20s\"}"]);
    assert!(matches!(failed.stop, Some(Stop::Limited { until_ms: Some(_), .. })), "{failed:?}");
    assert_eq!(said(whole, &["{ \"a\": [\"half"]).stop, None, "half a value is no end");
    let plain = said(cli(""), &["one", "two"]);
    assert_eq!((plain.text.as_str(), plain.stop), ("one\ntwo", None));
}
