//! What an attempt cannot do, tried for real: each by a shell script that does its worst.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![cfg(target_os = "linux")]

mod rig;

use relaymesh_agents::{
    Agents, End,
    confine::{self, Level},
};
use rig::{Rig, appears, is_alive, until};
use std::fs;

/// Whether attempts are confined here. Where they are not, the tests of it have nothing to say, and in CI that is a failure.
fn is_confined() -> bool {
    let machine = confine::machine();
    if machine.level == Level::Full {
        return true;
    }
    assert!(std::env::var_os("CI").is_none_or(|value| value != "true"), "agents are not confined: {}", machine.why);
    eprintln!("SKIPPED: agents are not confined in full here: {}", machine.why);
    false
}

fn text(end: End) -> String {
    match end {
        End::Done { result, .. } => String::from_utf8(result).unwrap(),
        End::Failed { .. } | End::Limited { .. } => panic!("{end:?}"),
    }
}

fn error(end: End) -> String {
    match end {
        End::Failed { error, .. } => error,
        End::Done { .. } | End::Limited { .. } => panic!("{end:?}"),
    }
}

#[test]
fn it_writes_in_its_folder_and_nowhere_else() {
    if !is_confined() {
        return;
    }
    let rig = Rig::new();
    let outside = rig.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("old"), "as it was").unwrap();
    fs::write(rig.folder.path().join("attempt-0.stdout.neighbour"), "").unwrap();
    let script = format!(
        r#"
try() {{ if sh -c "$2" 2>/dev/null; then echo "$1: done"; else echo "$1: refused"; fi; }}
O={}
try inside 'echo a > a && mkdir d && mv a d/b && ln -s d/b link && echo c > link && rm -r d link'
try devices 'echo a > /dev/null; head -c 4 /dev/zero > /dev/null'
try temporary 'touch "$(mktemp)"'
try stderr 'echo progress > /dev/stderr'
try read "cat $O/old > /dev/null"
try write "echo bad > $O/new"
try overwrite "echo bad > $O/old"
try append "echo bad >> $O/old"
try truncate ": > $O/old"
try remove "rm $O/old"
try rename "mv $O/old ."
try hard "ln $O/old here && echo bad > here"
try link "ln -s $O/old planted && echo bad > planted"
try beside 'ln -s /etc/passwd ../attempt-1.stdout'
try above 'echo bad > ../bad'
try mkdir "mkdir $O/sub"
try device 'mknod disk b 8 0'
try tmp 'echo bad > /tmp/relaymesh-should-not-be-here-$$'
"#,
        outside.display()
    );
    let said = text(rig.run(&script, "", ""));
    let refused: Vec<&str> = said.lines().filter_map(|line| line.strip_suffix(": refused")).collect();
    let expected = "write overwrite append truncate remove rename hard link beside above mkdir device tmp";
    assert_eq!(refused.join(" "), expected, "{said}");
    assert_eq!(fs::read_to_string(outside.join("old")).unwrap(), "as it was");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert!(!rig.folder.path().join("attempt-1.stdout").exists() && !rig.folder.path().join("bad").exists());
}

#[test]
fn what_its_entry_opens_is_open_and_what_is_not_there_is_said() {
    if !is_confined() {
        return;
    }
    let rig = Rig::new();
    for name in ["out", "home"] {
        fs::create_dir(rig.folder.path().join(name)).unwrap();
    }
    fs::write(rig.folder.path().join("file"), "").unwrap();
    let extra =
        format!("writable = [\"out\", \"file\", \"~\"]\nset = {{ HOME = {:?} }}\n", rig.folder.path().join("home"));
    let script = "cd ../; echo 1 > out/a; echo 2 > file; echo 3 > home/b; echo no > no || echo refused";
    assert_eq!(text(rig.run(script, &extra, "")), "refused");
    for (name, found) in [("out/a", "1\n"), ("file", "2\n"), ("home/b", "3\n")] {
        assert_eq!(fs::read_to_string(rig.folder.path().join(name)).unwrap(), found);
    }
    let end = rig.run("echo no", "writable = [\"absent\"]\n", "");
    let End::Failed { error, retryable: false } = end else { panic!("{end:?}") };
    assert!(error.contains("absent of `writable` cannot be opened") && error.contains("create it first"), "{error}");
    assert_eq!(text(rig.run("echo yes > ../no && cat ../no", "confine = false\n", "")), "yes");
}

#[test]
fn the_files_with_the_secrets_are_not_read_but_all_others_are() {
    if !is_confined() {
        return;
    }
    let rig = Rig::new();
    for name in ["secrets", "secrets.key", "other", "secret"] {
        fs::write(rig.folder.path().join(name), name).unwrap();
    }
    std::os::unix::fs::symlink(rig.folder.path(), rig.folder.path().join("around")).unwrap();
    let script = "for f in ../secrets ../secrets.key ../around/secrets ../other ../secret /etc/passwd; do
        if cat $f > /dev/null 2>&1; then echo $f; fi; done; ln ../secrets.key here 2>/dev/null && cat here; mv ../secrets . 2>/dev/null && cat secrets; true";
    assert_eq!(text(rig.run(script, "", "")), "../other\n../secret\n/etc/passwd");
    // What is new is seen by the next attempt.
    fs::write(rig.folder.path().join("later"), "later").unwrap();
    assert_eq!(text(rig.run("cat ../later", "", "")), "later");
    assert!(text(rig.run(script, "confine = \"writes\"\n", "")).starts_with("../secrets\n../secrets.key"));
}

#[test]
fn the_daemon_is_out_of_reach() {
    if !is_confined() {
        return;
    }
    let rig = Rig::new();
    let script = "for file in environ mem maps auxv fd/0 root/etc/passwd; do
        if head -c 1 /proc/$PPID/$file > /dev/null 2>&1; then echo $file; fi; done
        for file in /proc/$PPID/task/*/environ; do if cat $file > /dev/null 2>&1; then echo $file; fi; done
        kill -0 $PPID 2> /dev/null && echo signal
        ulimit -c; grep -i NoNewPrivs /proc/self/status";
    assert_eq!(text(rig.run(script, "", "")), "0\nNoNewPrivs:\t1");
}

#[test]
fn limits_are_those_of_its_entry() {
    let rig = Rig::new();
    let extra = "limits = { file_bytes = 1048576, open_files = 77, memory_bytes = 1073741824 }\n";
    // They come a moment after it has begun.
    let held = "until [ $(ulimit -n) = 77 ]; do :; done; until [ $(ulimit -d) != unlimited ]; do :; done; ";
    let said = text(rig.run(&format!("{held}cat /proc/self/limits"), extra, ""));
    let limit = |name: &str| {
        let line = said.lines().find(|line| line.starts_with(name)).unwrap();
        line[name.len()..].split_whitespace().take(2).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(limit("Max file size"), "1048576 1048576");
    assert_eq!(limit("Max open files"), "77 77");
    assert_eq!(limit("Max data size"), "1073741824 1073741824");
    assert_eq!(limit("Max core file size"), "0 0");
    let said = error(rig.run(&format!("{held}exec head -c 2000000 /dev/zero > big"), extra, ""));
    assert!(said.contains("longer than its `limits.file_bytes`"), "{said}");
    assert_eq!(fs::metadata(rig.attempt(0).join("big")).unwrap().len(), 1 << 20);
}

#[test]
fn no_descriptor_of_ours_is_passed_on() {
    let rig = Rig::new();
    let open = fs::File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
    // The fourth is its own: the list itself.
    assert_eq!(text(rig.run("exec ls /proc/self/fd", "", "")), "0\n1\n2\n3");
    drop(open);
}

#[test]
fn a_fork_bomb_comes_to_nothing() {
    let rig = Rig::new();
    let said = error(rig.run("bomb() { bomb & bomb & wait; }; bomb", "limits = { processes = 50 }\n", ""));
    assert!(said.contains("more than 50 processes"), "{said}");
    assert_eq!(relaymesh_agents::tree::alive(&rig.owner), Vec::<i32>::new());
    // The next one is not held to what the last one did.
    assert_eq!(text(rig.run("echo fine", "limits = { processes = 50 }\n", "")), "fine");
}

#[test]
fn somebody_who_got_away_with_the_output_is_ended_and_it_has_no_result() {
    let rig = Rig::new();
    let script =
        "setsid sh -c '(echo $$ > escaped; exec sleep 1000) &' & while [ ! -s escaped ]; do sleep 0.01; done; echo 1";
    let said = error(rig.run(script, "", ""));
    assert!(said.contains("left a process behind with its output open"), "{said}");
    let pid = appears(&rig.attempt(0).join("escaped"));
    until(|| (!is_alive(&pid)).then_some(()));
    assert_eq!(text(rig.run("sleep 1000 & echo 1", "", "")), "1", "one of its group is no reason");
}

#[test]
fn links_that_an_unconfined_one_planted_lead_nowhere() {
    let rig = Rig::new();
    let victim = rig.folder.path().join("victim");
    fs::write(&victim, "as it was").unwrap();
    let plant = "ln -s ../victim ../attempt-1.stdout; ln ../victim ../attempt-1.stderr; ln -s .. ../attempt-2; echo 1";
    let plant = plant.replace("ln -s ../victim", &format!("ln -s {}", victim.display()));
    assert_eq!(text(rig.run(&plant, "confine = false\n", "")), "1");
    // Long enough to be put into files.
    rig.start(1, "head -c 200000 /dev/zero | tr '\\0' x | tee /dev/stderr", "", "");
    assert_eq!(text(rig.end()).len(), 200_000);
    assert!(!rig.attempt(1).with_added_extension("stdout").is_symlink());
    assert_eq!(fs::read_to_string(&victim).unwrap(), "as it was");
    rig.start(2, "echo bad > bad", "", "");
    assert!(error(rig.end()).contains("cannot prepare the attempt's folder"));
}

#[test]
fn how_well_it_is_confined_is_known_before_it_runs() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("out")).unwrap();
    let level = |extra: &str| {
        let agents = Agents::parse(&format!("[agents.a]\ncommand = [\"sh\"]\n{extra}"), root.path()).unwrap();
        confine::level(agents.get(&"a".parse().unwrap()).unwrap().process().unwrap())
    };
    assert_eq!(
        level("confine = false"),
        confine::Confinement { level: Level::None, why: "`confine = false` in its entry".into() }
    );
    if !is_confined() {
        return;
    }
    assert_eq!(level("").level, Level::Full);
    assert_eq!(level("writable = [\"out\"]").level, Level::Full);
    let opened = level("writable = [\"..\"]");
    assert!(opened.level == Level::Partial && opened.why.contains("its `writable` includes the root"), "{opened:?}");
    assert_eq!(level("confine = \"writes\"").level, Level::Partial);
}

/// One that has wiped its environment is of the attempt that started it, where the system keeps count, and not ended by another.
#[test]
fn somebody_without_a_tag_is_not_ended_by_another_attempt() {
    let rig = Rig::new();
    let escape =
        "setsid env -i /bin/sh -c '/bin/sh -c \"echo \\$\\$ > far; exec /bin/sleep 1000\" > /dev/null 2>&1 &'\n";
    rig.start(1, &format!("{escape}while [ ! -e go ]; do sleep 0.01; done"), "", "");
    let far = appears(&rig.attempt(1).join("far"));
    let is_counted = fs::read_to_string(format!("/proc/{}/cgroup", far.trim())).unwrap().contains("relaymesh-");
    rig.start(2, "echo 2", "", "");
    assert_eq!(text(rig.end()), "2");
    assert!(is_alive(&far) || !is_counted, "its attempt still runs");
    fs::write(rig.attempt(1).join("go"), "").unwrap();
    rig.end();
    until(|| (!is_alive(&far)).then_some(()));
}
