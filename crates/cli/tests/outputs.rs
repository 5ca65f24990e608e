//! What the main commands print, column by column, and the main errors.

use crate::common::Mesh;
use insta::assert_snapshot;

/// Spans become a word, and columns are as wide as they like.
fn table(text: &str) -> String {
    let line = |line: &str| {
        let cells: Vec<String> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).map(cell).collect();
        cells.join(" | ")
    };
    crate::common::normalised(text).lines().map(line).collect::<Vec<_>>().join("\n")
}

fn cell(text: &str) -> String {
    let is_span = text.split_once(' ').is_some_and(|(number, unit)| {
        (number == "N.N" || number.parse::<u64>().is_ok()) && matches!(unit, "ms" | "s" | "min" | "h" | "d")
    });
    if is_span { "SPAN".to_owned() } else { text.to_owned() }
}

/// A task that succeeded, one that failed, one that asks, a failed message and a lock.
fn mesh() -> Mesh {
    let mesh = Mesh::new();
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--input", "{\"x\":1}", "--wait"]).code, 0);
    let fail = ["--agent", "fail", "--input", "{\"message\":\"no luck\",\"retryable\":false}", "--wait"];
    assert_eq!(mesh.run(&[&["submit"], &fail[..]].concat()).code, 10);
    let asks = "name: release\nsteps:\n  - {id: deploy, agent: echo, input: 1, approve: {text: Deploy?}}\n";
    assert_eq!(mesh.run(&["run", mesh.file("asks.yaml", asks)]).code, 12);
    mesh.run(&["message", "send", "--to", "ben", "--input", "1"]);
    let held = mesh.run(&["message", "take", "--agent", "ben", "--json"]).json()["held"].take();
    let held = held.as_str().unwrap_or_default();
    assert_eq!(mesh.run(&["message", "fail", held, "--final", "--error", "not for me"]).code, 0);
    assert_eq!(
        mesh.run(&["lock", "acquire", "src/**", "--repository", "app", "--ttl-ms", "600000", "--purpose", "tidy"]).code,
        0
    );
    mesh
}

#[test]
fn lists_are_tables_for_people() {
    let mesh = mesh();
    assert_snapshot!(table(&mesh.run(&["task", "list"]).stdout), @"
    ID | NAME | STATUS | AGE | STEPS
    tsk_… | release | · PENDING | SPAN | 0/1
    tsk_… | fail | ✗ FAILED | SPAN | 0/1
    tsk_… | echo | ✓ SUCCESS | SPAN | 1/1
    ");
    assert_snapshot!(table(&mesh.run(&["dead", "list"]).stdout), @"
    ID | NAME | AGENT | END | AGO | WHY
    msg_… | from tester | ben | FAILED | SPAN | not for me
    tsk_… | fail | fail | FAILED | SPAN | no luck
    ");
    assert_snapshot!(table(&mesh.run(&["approvals", "list"]).stdout), @"
    TASK | STEP | NAME | UNTIL | ASKS
    tsk_… | deploy | release | - | Deploy?
    ");
    assert_snapshot!(table(&mesh.run(&["lock", "list"]).stdout), @"
    REPOSITORY | KEY | MODE | HOLDER | FENCE | UNTIL | PURPOSE
    app | src/** | exclusive | tester | 1 | TIME | tidy
    ");
    assert_snapshot!(table(&mesh.run(&["agent", "list"]).stdout), @r#"
    AGENT | KIND | AT ONCE | ABOUT
    echo | builtin | - | returns its input
    fail | builtin | - | fails; {"message": TEXT, "retryable": BOOL, "attempts": N} fails only the first N attempts
    sleep | builtin | - | waits; {"ms": N}, at most a day
    hash | builtin | - | returns the SHA-256 of its input
    "#);
}

#[test]
fn one_thing_is_shown_with_its_facts() {
    let mesh = mesh();
    let dead = mesh.run(&["dead", "list", "--json"]).lines();
    let id = |name: &str| dead.iter().find_map(|line| line[name].as_str()).unwrap_or_default().to_owned();
    let shown = table(&mesh.run(&["dead", "show", &id("task")]).stdout);
    // How long ago it was made differs even in its unit.
    let shown: Vec<&str> = shown.lines().filter(|line| !line.starts_with("created")).collect();
    assert_snapshot!(shown.join("\n"), @"
    task | tsk_…
    name | fail
    namespace | default
    status | ✗ FAILED
    updated | TIME
    key | HASH

    STEP | AGENT | STATUS | ATTEMPT | TOOK | RESULT OR ERROR
    fail | fail | ✗ FAILED | 1/3 | SPAN | no luck

    ATTEMPT | OUTCOME | STARTED | TOOK | WORKER | WHY
    fail.1 | FAILED | TIME | SPAN | wrk_… | no luck
    ");
    assert_snapshot!(table(&mesh.run(&["dead", "show", &id("message")]).stdout), @"
    message | msg_…
    thread | thr_…
    namespace | default
    from | tester
    to | ben
    state | FAILED
    dead | -
    deliveries | 1 of 5
    sent | TIME
    updated | TIME
    why | not for me
    content | 1
    ");
}

#[test]
fn errors_say_what_was_found_and_what_to_do() {
    let mesh = mesh();
    assert_snapshot!(mesh.run(&["task", "lsit"]).seen(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage] RM0001: unrecognized subcommand 'lsit'
      hint: a similar subcommand exists: 'list'
      hint: usage: relaymesh task [OPTIONS] <COMMAND>
      hint: `--help` shows all arguments, with examples
      page: docs/reference/errors.md#usage
    ");
    assert_snapshot!(mesh.run(&["dead", "redrive"]).seen(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage] RM0001: nothing is selected
      hint: give ids, --agent, --flow, --since or --older-than, or --all
      page: docs/reference/errors.md#usage
    ");
    assert_snapshot!(mesh.run(&["status"]).seen(), @"
    exit 3
    --- stdout
    --- stderr
    error[no_daemon] RM0024: no daemon is running for root
      hint: start one with `relaymesh up`
      page: docs/reference/errors.md#no_daemon
    ");
    assert_snapshot!(mesh.run(&["audit", "query", "--since", "soon"]).seen(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage] RM0001: invalid value 'soon' for '--since <TIME>': `soon` is not a time: use a date (2026-11-16), a time in UTC (2026-11-16T08:15:30Z) or an age (90s, 15m, 2h, 7d, 4w)
      hint: `--help` shows all arguments, with examples
      page: docs/reference/errors.md#usage
    ");
}

#[test]
fn nothing_is_coloured_in_a_pipe() {
    let mesh = mesh();
    for arguments in [&["task", "list"][..], &["--help"], &["dead", "list"], &["task", "lsit"], &["doctor"]] {
        let said = mesh.run(arguments);
        assert!(!said.stdout.contains('\x1b') && !said.stderr.contains('\x1b'), "{arguments:?}");
    }
}

#[test]
fn a_wait_for_an_ended_task_says_how_long_the_task_took() {
    let mesh = Mesh::new();
    let id = mesh.submit(&["--agent", "sleep", "--input", "{\"ms\": 400}"]);
    assert_eq!(mesh.run(&["task", "wait", &id]).code, 0);
    let said = mesh.run(&["task", "wait", &id]);
    let took = said.stderr.trim().rsplit_once(" in ").unwrap().1;
    let took_ms: u64 = took.strip_suffix(" ms").map_or(1_000, |ms| ms.parse().unwrap());
    assert!(took_ms >= 400, "{}", said.stderr);
}

#[test]
fn a_skipped_step_counts_as_done() {
    let mesh = Mesh::new();
    let flow = "name: n\nsteps:\n  - {id: a, agent: echo}\n  - {id: b, agent: echo, depends_on: [a], when: 1 == 2}\n";
    let ran = mesh.run(&["run", mesh.file("n.yaml", flow)]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let listed = &mesh.run(&["task", "list", "--json"]).lines()[0];
    assert_eq!((&listed["steps_done"], &listed["steps"]), (&2.into(), &2.into()), "{listed}");
    let shown = mesh.show(listed["task"].as_str().unwrap());
    assert_eq!(shown["steps"][1]["error"], "condition is false: 1 == 2");
}
