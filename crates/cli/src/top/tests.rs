//! What is on the screen, on terminals of several sizes.

use super::{
    draw::draw,
    seen::{Agent, Running, Seen},
    want::Want,
};
use ratatui::{Terminal, backend::TestBackend};
use relaymesh_api::local::{HeldAgent, Status};
use relaymesh_core::id::NodeId;
use relaymesh_store_sqlite::{Gauges, Lane};

const NOW_MS: u64 = 1_000_000_000;

fn seen() -> Seen {
    let held = HeldAgent { who: "openai".to_owned(), until_ms: NOW_MS + 90_000, because: "rate limit".to_owned() };
    let status = Status {
        pid: 4242,
        version: "0.1.0".to_owned(),
        started_ms: NOW_MS - 200_000,
        pos: 12_345,
        disk_free_bytes: 1 << 40,
        held: vec![held],
        ..Status::new(NodeId::new(1, 1))
    };
    let lane = |ready, oldest_ms| Lane { ready, later: 1, oldest_ms };
    let agent = |name: &str, running, limit, held: Option<&str>| Agent {
        name: name.to_owned(),
        running,
        limit,
        held: held.map(|why| (NOW_MS + 90_000, why.to_owned())),
    };
    let step = |number: u64| Running {
        task: format!("tsk_01ARZ3NDEKTSV4RRFFQ69G5F{number:02}"),
        name: "review".to_owned(),
        step: format!("fix-{number}"),
        agent: if number.is_multiple_of(2) { "codex".to_owned() } else { "claude".to_owned() },
        namespace: "team-a".to_owned(),
        attempt: 1,
        since_ms: NOW_MS - 1_000 * (20 - number),
    };
    Seen {
        now_ms: NOW_MS,
        daemon: Some(Ok(status)),
        gauges: Gauges {
            lanes: [lane(0, None), lane(40, Some(NOW_MS - 65_000)), lane(3, Some(NOW_MS - 5_000))],
            approvals: 2,
            leased_steps: 12,
            active_tasks: 9,
            messages_waiting: 1,
            ..Gauges::default()
        },
        agents: vec![
            agent("codex", 6, Some(6), Some("rate limit\u{1b}[31m")),
            agent("claude", 6, Some(6), None),
            agent("echo", 0, None, None),
        ],
        running: (0..12).map(step).collect(),
        throughput: (0..120).map(|second| second % 12).collect(),
        problem: None,
    }
}

fn screen(seen: &Seen, want: &mut Want, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, seen, want, false)).unwrap();
    let shown = terminal.backend().to_string();
    let lines = shown.lines().map(|line| line.trim_matches('"').trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn everything_is_on_eighty_by_twenty_four() {
    insta::assert_snapshot!(screen(&seen(), &mut Want::default(), (80, 24)));
}

#[test]
fn a_larger_terminal_shows_more() {
    insta::assert_snapshot!(screen(&seen(), &mut Want::default(), (120, 40)));
}

#[test]
fn help_lies_over_it() {
    let mut want = Want { has_help: true, ..Want::default() };
    insta::assert_snapshot!(screen(&seen(), &mut want, (80, 24)));
}

#[test]
fn a_filter_leaves_what_fits_and_a_scroll_goes_no_further_than_there_is() {
    let mut want = Want { filter: "CODEX".to_owned(), scroll: 100, ..Want::default() };
    let shown = screen(&seen(), &mut want, (80, 24));
    assert!(shown.contains("running: 6") && shown.contains("agents: 1") && !shown.contains("claude"), "{shown}");
    assert!(want.scroll < 6, "{}", want.scroll);
    assert!(shown.contains("filter: CODEX"), "{shown}");
}

#[test]
fn a_daemon_that_went_away_and_a_store_that_cannot_be_read_are_said() {
    let gone = Seen { daemon: Some(Err("it went away".to_owned())), problem: Some("disk\u{7}".to_owned()), ..seen() };
    let shown = screen(&gone, &mut Want::default(), (80, 24));
    assert!(shown.contains("NO DAEMON · it went away") && shown.contains("! cannot read: disk"), "{shown}");
}

/// Nothing that a terminal would obey, and nothing that does not fit, stops it.
#[test]
fn any_size_can_be_drawn() {
    for size in [(1, 1), (3, 2), (20, 5), (80, 10), (500, 200)] {
        let shown = screen(&seen(), &mut Want { has_help: true, ..Want::default() }, size);
        assert!(!shown.contains('\u{1b}'));
    }
    screen(&Seen::default(), &mut Want::default(), (80, 24));
}
