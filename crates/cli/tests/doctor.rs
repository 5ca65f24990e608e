//! The doctor: a sound root is ok in every line, and each thing that is wrong is named with what to do.

use crate::common::{Mesh, Said, house::House};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt as _;

fn doctor(mesh: &Mesh) -> Said {
    // Programs of agents are looked for on the PATH.
    Said::of(
        mesh.command(&["doctor", "--json"]).env("PATH", "/usr/bin:/bin").output().unwrap_or_else(|e| panic!("{e}")),
    )
}

/// The line of a check.
fn line(said: &Said, check: &str) -> Value {
    let found = said.lines().into_iter().find(|line| line["check"] == check);
    found.unwrap_or_else(|| panic!("no check {check}: {}", said.stdout))
}

fn verdict(said: &Said, check: &str) -> String {
    line(said, check)["verdict"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_sound_root_fails_in_nothing() {
    let mesh = Mesh::new();
    assert_eq!(mesh.run(&["doctor"]).code, 3, "there is no root yet");
    assert_eq!(mesh.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
    let said = doctor(&mesh);
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    let checks: Vec<String> =
        said.lines().iter().map(|line| line["check"].as_str().unwrap_or_default().to_owned()).collect();
    let all =
        "root modes tokens store pragmas memory chain blobs disk daemon orphans attempts confine agents limits clock";
    assert_eq!(checks.join(" "), all);
    for check in
        ["root", "modes", "store", "pragmas", "memory", "chain", "blobs", "daemon", "orphans", "attempts", "agents"]
    {
        assert_eq!(verdict(&said, check), "ok", "{}", said.stdout);
    }
    let pragmas = line(&said, "pragmas")["found"].to_string();
    assert!(pragmas.contains("journal_mode=wal") && pragmas.contains("foreign_keys=1"), "{pragmas}");
    let full = mesh.run(&["doctor", "--full"]);
    assert!(full.code == 0 && full.stdout.contains("all 3 ops and all rows are intact"), "{}", full.stdout);
}

#[test]
fn what_is_wrong_is_named_with_what_to_do() {
    let mesh = Mesh::new();
    mesh.run(&["init"]);
    let root = mesh.root();
    std::fs::write(root.join("agents.toml"), "[agents.ghost]\ncommand = [\"no-such-program\"]\n").unwrap();
    let said = doctor(&mesh);
    assert_eq!((said.code, verdict(&said, "agents").as_str()), (2, "fail"), "{}", said.stdout);
    assert!(line(&said, "agents")["found"].to_string().contains("ghost (no-such-program)"));
    assert!(said.error()["message"].to_string().contains("1 of 16 checks failed: agents"), "{}", said.stderr);
    std::fs::write(root.join("agents.toml"), "[agents.sh]\ncommand = [\"sh\"]\n").unwrap();
    std::fs::create_dir_all(root.join("attempts/tsk_01HF7YAT000000000000000007")).unwrap();
    std::fs::create_dir_all(root.join("blobs")).unwrap();
    std::fs::write(root.join("blobs").join("0".repeat(64)), "x").unwrap();
    std::fs::write(root.join("daemon.json"), "{\"pid\":1,\"version\":\"0\",\"socket\":\"/nowhere\"}").unwrap();
    let said = doctor(&mesh);
    assert_eq!(said.code, 0, "warnings are no failures: {}", said.stdout);
    for check in ["blobs", "daemon", "attempts"] {
        assert_eq!(verdict(&said, check), "warn", "{check}: {}", said.stdout);
        assert!(line(&said, check)["do"].is_string());
    }
    std::fs::set_permissions(&root, std::fs::Permissions::from_mode(0o755)).unwrap();
    let said = doctor(&mesh);
    assert_eq!((said.code, verdict(&said, "modes").as_str()), (6, "fail"), "{}", said.stdout);
    assert!(line(&said, "modes")["do"].to_string().contains("chmod 700"));
}

#[test]
fn a_store_that_forgot_is_found() {
    let mesh = Mesh::new();
    mesh.submit(&["--agent", "echo", "--input", "1"]);
    std::fs::remove_file(mesh.root().join("relaymesh.db")).unwrap();
    let said = doctor(&mesh);
    assert_eq!((said.code, verdict(&said, "store").as_str()), (9, "fail"), "{}", said.stderr);
    assert!(!verdict(&said, "clock").is_empty(), "the other checks are made all the same");
}

#[test]
fn a_daemon_that_answers_is_ok_and_one_that_was_killed_left_its_file() {
    let house = House::new();
    assert_eq!(house.run(&["submit", "--agent", "echo", "--wait"]).code, 0);
    let said = house.run(&["doctor", "--json"]);
    assert!(line(&said, "daemon")["found"].to_string().contains("running, pid "), "{}", said.stdout);
    house.kill();
    let said = house.run(&["doctor", "--json"]);
    assert_eq!(verdict(&said, "daemon"), "warn", "{}", said.stdout);
}

#[test]
fn processes_of_a_killed_daemon_are_found() {
    let house = House::new();
    let root = house.0.root();
    std::fs::create_dir_all(&root).unwrap();
    let script = "echo $$ > pid; [ $RELAYMESH_ATTEMPT -gt 1 ] || exec sleep 1000; echo 2";
    std::fs::write(root.join("work.sh"), script).unwrap();
    std::fs::write(root.join("agents.toml"), "[agents.work]\ncommand = [\"/bin/sh\", \"work.sh\"]\n").unwrap();
    let task = house.run(&["submit", "--agent", "work"]).stdout.trim().to_owned();
    let file = root.join("attempts").join(&task).join("work.1/pid");
    let mut pid = String::new();
    house.0.until("the attempt says its pid", |_| {
        pid = std::fs::read_to_string(&file).unwrap_or_default();
        pid.ends_with('\n')
    });
    let said = house.run(&["doctor", "--json"]);
    assert_eq!(verdict(&said, "orphans"), "ok", "its daemon is there: {}", said.stdout);
    house.kill();
    let said = house.run(&["doctor", "--json"]);
    assert_eq!(verdict(&said, "orphans"), "warn", "{}", said.stdout);
    assert!(line(&said, "orphans")["found"].to_string().contains(pid.trim()), "{}", said.stdout);
    assert_eq!(house.run(&["task", "wait", &task]).code, 0, "the next daemon ends them and does the work again");
    assert_eq!(verdict(&house.run(&["doctor", "--json"]), "orphans"), "ok");
}

#[test]
fn private_files_that_are_open_or_damaged_refuse_the_start_and_the_doctor_says_so() {
    let house = House::new();
    let root = house.0.root();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    assert!(root.join("http-token").exists(), "it is there before the daemon says that it is ready");
    assert_eq!(verdict(&doctor(&house.0), "tokens"), "ok");
    assert_eq!(house.run(&["down"]).code, 0);
    for name in ["http-token", "tokens.json"] {
        let mode = |mode| std::fs::set_permissions(root.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o644);
        let up = house.run(&["up", "--detach"]);
        assert!(up.code != 0 && up.stderr.contains(name) && up.stderr.contains("chmod 600"), "{}", up.stderr);
        assert_eq!(verdict(&doctor(&house.0), "modes"), "fail", "{name}");
        mode(0o600);
    }
    std::fs::remove_file(root.join("http-token")).unwrap();
    assert_eq!(verdict(&doctor(&house.0), "tokens"), "warn");
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let good = std::fs::read_to_string(root.join("tokens.json")).unwrap();
    for bad in [good.replace("\"rw\"", "\"admin\""), String::new()] {
        std::fs::write(root.join("tokens.json"), bad).unwrap();
        let status = house.run(&["status", "--json"]);
        assert!(status.code != 0 && status.stdout.contains("tokens.json"), "{}{}", status.stdout, status.stderr);
        assert_eq!(verdict(&doctor(&house.0), "tokens"), "fail");
    }
    assert_eq!(house.run(&["down"]).code, 0);
    let up = house.run(&["up", "--detach"]);
    assert!(up.code != 0 && up.stderr.contains("tokens.json"), "{}", up.stderr);
    std::fs::write(root.join("tokens.json"), good).unwrap();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
}
