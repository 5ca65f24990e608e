//! Real processes: what they are given, what they leave, and that nothing of them outlives them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod rig;

use relaymesh_agents::{Agents, End, Ended, Launch, Meter, tree};
use relaymesh_core::{
    content::Media,
    id::{StepId, TaskId},
};
use rig::{PATIENCE, Rig, appears, done, is_alive, until};
use std::{path::Path, sync::Arc, time::Duration};

#[test]
fn input_comes_on_stdin_and_the_result_is_stdout() {
    let rig = Rig::new();
    assert_eq!(rig.run("cat", "", "{\"a\": 1}"), done(Media::Json, "{\"a\": 1}"));
    assert_eq!(rig.run("tr a-z A-Z; echo working >&2", "", "hello"), done(Media::Text, "HELLO"));
    assert_eq!(std::fs::read_to_string(rig.attempt(0).with_added_extension("stderr")).unwrap(), "working\n");
    let failed = End::Failed { error: "exit code 3: no such model".to_owned(), retryable: true };
    assert_eq!(rig.run("echo half; echo no such model >&2; exit 3", "", ""), failed);
    assert_eq!(std::fs::read_to_string(rig.attempt(0).with_added_extension("stdout")).unwrap(), "half\n");
}

#[test]
fn it_has_a_folder_and_a_session_of_its_own_and_only_the_environment_it_is_allowed() {
    let rig = Rig::new();
    let End::Done { result, .. } =
        rig.run("pwd; cut -d' ' -f6 /proc/$$/stat; echo $$; env | cut -d= -f1 | sort", "set = { MINE = \"1\" }", "")
    else {
        panic!("it failed");
    };
    let text = String::from_utf8(result).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    assert_eq!(Path::new(lines[0]), rig.attempt(0).canonicalize().unwrap());
    assert_eq!(lines[1], lines[2], "it leads its session");
    let allowed = ["PATH", "HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "USER", "MINE", "RELAYMESH_STEP", "RELAYMESH_TAG"];
    let of_the_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    let extra: Vec<&&str> =
        lines[3..].iter().filter(|name| !allowed.contains(name) && !of_the_shell.contains(name)).collect();
    assert!(extra.is_empty(), "{extra:?}");
    assert!(lines.contains(&"MINE") && lines.contains(&"RELAYMESH_STEP"));
}

#[test]
fn what_cannot_be_started_says_so_and_is_not_tried_again() {
    let rig = Rig::new();
    let text = "[agents.a]\ncommand = [\"/no/such/program\"]\n";
    let agents = Agents::parse(text, rig.folder.path()).unwrap();
    rig.pool.as_ref().unwrap().launch(Launch {
        key: (StepId { task: TaskId::from_bytes([1; 16]), index: 0 }, 1),
        process: agents.get(&"a".parse().unwrap()).unwrap().process().unwrap().clone().into(),
        folder: rig.attempt(0),
        files: rig.attempt(0),
        input: Box::new(|| Ok(Vec::new().into())),
        env: Vec::new(),
        tag: format!("{}/0", rig.owner),
        meter: Meter::default(),
        workdir: None,
        opened: Vec::new(),
        workspace: None,
        result_schema: None,
    });
    let End::Failed { error, retryable: false } = rig.end() else { panic!("it went on") };
    assert!(error.contains("cannot start `/no/such/program`"), "{error}");
}

#[test]
fn a_result_that_is_too_long_ends_it() {
    let rig = Rig::new();
    let end = rig.run("yes", "output_bytes_max = 100000\n", "");
    let error = "stopped: the result is longer than 100000 bytes".to_owned();
    assert_eq!(end, End::Failed { error, retryable: false });
    // As much as is allowed, and the end of what came after it.
    let kept = std::fs::metadata(rig.attempt(0).with_added_extension("stdout")).unwrap().len();
    assert!((100_000..=100_000 + (64 << 10) + 200).contains(&kept), "{kept}");
}

#[test]
fn a_stop_reaches_the_whole_tree_and_partial_output_stays() {
    let rig = Rig::new();
    let script =
        "trap 'echo cleaned >> said; exit 1' TERM\nsleep 1000 & echo $! > child\necho half\necho ready > ready\nwait";
    let (step, epoch) = rig.start(0, script, "", "");
    let work = rig.attempt(0);
    appears(&work.join("ready"));
    let child = appears(&work.join("child"));
    rig.pool.as_ref().unwrap().stop(step, epoch);
    assert_eq!(rig.end(), End::Failed { error: "stopped".to_owned(), retryable: true });
    assert_eq!(std::fs::read_to_string(work.join("said")).unwrap(), "cleaned\n", "it had time to clean up");
    assert_eq!(std::fs::read_to_string(rig.attempt(0).with_added_extension("stdout")).unwrap(), "half\n");
    until(|| (!is_alive(&child)).then_some(()));
}

#[test]
fn whoever_does_not_hear_sigterm_is_killed_even_when_stopped() {
    for script in [
        "trap '' TERM\necho ready > ready\nwhile :; do sleep 1000; done",
        "echo ready > ready; kill -STOP $$; sleep 1000",
    ] {
        let rig = Rig::new();
        let (step, epoch) = rig.start(0, script, "grace_ms = 50\n", "");
        appears(&rig.attempt(0).join("ready"));
        rig.pool.as_ref().unwrap().stop(step, epoch);
        assert!(matches!(rig.end(), End::Failed { .. }));
    }
}

#[test]
fn whoever_left_the_group_is_ended_with_its_attempt_and_no_sooner() {
    let rig = Rig::new();
    let escape = "setsid sh -c 'echo $$ > escaped; exec sleep 1000' < /dev/null > /dev/null 2>&1 &\n";
    let long = format!("{escape}while [ ! -e go ]; do sleep 0.01; done");
    rig.start(1, &long, "", "");
    let theirs = appears(&rig.attempt(1).join("escaped"));
    rig.start(2, &format!("{escape}while [ ! -s escaped ]; do sleep 0.01; done"), "", "");
    assert!(matches!(rig.end(), End::Done { .. }));
    let ended = std::fs::read_to_string(rig.attempt(2).join("escaped")).unwrap();
    until(|| (!is_alive(&ended)).then_some(()));
    assert!(is_alive(&theirs), "its attempt still runs");
    std::fs::write(rig.attempt(1).join("go"), "").unwrap();
    assert!(matches!(rig.end(), End::Done { .. }));
    until(|| (!is_alive(&theirs)).then_some(()));
}

#[test]
fn a_pool_that_goes_takes_everybody_with_it() {
    let mut rig = Rig::new();
    rig.start(0, "echo $$ > pid; exec sleep 1000", "", "");
    let pid = appears(&rig.attempt(0).join("pid"));
    drop(rig.pool.take());
    assert!(!is_alive(&pid));
}

#[test]
fn a_sweep_ends_what_a_previous_life_left_and_nobody_else() {
    let mark = format!("sweep-{}", std::process::id());
    let start = |tag: &str| std::process::Command::new("sleep").arg("1000").env(tree::VARIABLE, tag).spawn().unwrap();
    let (mut ours, mut theirs) = (start(&format!("{mark}/1")), start("another/1"));
    until(|| (tree::sweep(&mark) == 1).then_some(()));
    assert!(!ours.wait().unwrap().success());
    assert!(theirs.try_wait().unwrap().is_none());
    theirs.kill().unwrap();
    theirs.wait().unwrap();
}

/// Says what it has used, as Codex does, and then goes on for ever.
const SPENDER: &str = "cat >/dev/null\necho '{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":70,\"output_tokens\":50}}'\n\
                       exec tail -f /dev/null\n";

#[test]
fn what_uses_more_than_it_may_is_ended_and_what_it_used_is_known() {
    let rig = Rig::new();
    std::fs::write(rig.folder.path().join("spend.sh"), SPENDER).unwrap();
    let text = "[agents.a]\ntool = \"codex\"\ncommand = [\"sh\", \"spend.sh\"]\nmodel = \"m\"\n";
    let agents = Agents::parse(text, rig.folder.path()).unwrap();
    let all: Meter = Meter {
        used: Arc::new(|used| if used.output_tokens > 40 { Err("over budget".to_owned()) } else { Ok(()) }),
        time: None,
    };
    let time = Meter { time: Some((Duration::from_millis(1), "out of time".to_owned())), ..Meter::default() };
    for (index, meter, why) in [(0, all, "over budget"), (1, time, "out of time")] {
        rig.pool.as_ref().unwrap().launch(Launch {
            key: (StepId { task: TaskId::from_bytes([1; 16]), index }, 1),
            process: agents.get(&"a".parse().unwrap()).unwrap().process().unwrap().clone().into(),
            folder: rig.attempt(index),
            files: rig.attempt(index),
            input: Box::new(|| Ok(b"\"do it\"".to_vec().into())),
            env: Vec::new(),
            tag: format!("{}/{index}", rig.owner),
            meter,
            workdir: None,
            opened: Vec::new(),
            workspace: None,
            result_schema: None,
        });
        let Ended { end, inference } = rig.ends.recv_timeout(PATIENCE).unwrap().1;
        assert_eq!(end, End::Failed { error: why.to_owned(), retryable: false });
        let asked = inference.unwrap();
        assert_eq!((asked.model.as_str(), &asked.prompt), ("m", &"do it".into()));
        if index == 0 {
            assert_eq!((asked.usage.input_tokens, asked.usage.output_tokens), (70, 50));
        }
    }
}
