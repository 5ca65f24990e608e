//! The daemon as a service: what it tells its manager, its probe, and the files that say how it is started.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Said, house::House};
use std::{
    fs,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

/// The most that may be asked for.
const MOST: u64 = 1_099_511_627_776;

fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

#[test]
fn the_manager_hears_when_the_daemon_is_ready_and_when_it_stops() {
    let house = House::new();
    let place = house.0.folder.path().join("notify");
    let manager = UnixDatagram::bind(&place).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let heard = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let mut daemon = house.command(&["up"]).env("NOTIFY_SOCKET", &place).spawn().unwrap();
    assert_eq!(heard(), "READY=1");
    assert_eq!(house.run(&["status"]).code, 0, "ready means that it answers");
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(heard(), "STOPPING=1");
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn a_manager_with_a_watchdog_hears_signs_of_life_while_the_daemon_works() {
    let house = House::new();
    let place = house.0.folder.path().join("notify");
    let manager = UnixDatagram::bind(&place).unwrap();
    manager.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let heard = || {
        let mut bytes = [0; 64];
        let length = manager.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..length].to_vec()).unwrap()
    };
    let mut command = house.command(&["up"]);
    command.env("NOTIFY_SOCKET", &place).env("WATCHDOG_USEC", "300000");
    let mut daemon = command.spawn().unwrap();
    let (mut is_ready, mut signs) = (false, 0);
    while !is_ready || signs < 3 {
        match heard().as_str() {
            "READY=1" => is_ready = true,
            "WATCHDOG=1" => signs += 1,
            other => panic!("{other}"),
        }
    }
    assert_eq!(house.run(&["down"]).code, 0);
    while heard() != "STOPPING=1" {}
    assert!(daemon.wait().unwrap().success());
}

#[test]
fn a_probe_says_whether_work_is_done_and_why_not() {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let well = house.json(&["status"]);
    assert_eq!((&well["ready"], &well["reasons"]), (&true.into(), &serde_json::json!([])), "{well}");
    fs::write(house.0.root().join("agents.toml"), "[agents.x]\ncommand = 7\n").unwrap();
    house.0.until("the agents are refused", |_| house.json(&["status"])["reasons"][0]["trouble"] == "agents_refused");
    assert_eq!(house.json(&["status"])["ready"], true);
    fs::remove_file(house.0.root().join("agents.toml")).unwrap();
    assert_eq!(house.run(&["down"]).code, 0);
    let room = rustix::fs::statvfs(house.0.root()).unwrap();
    if room.f_bavail * room.f_frsize > MOST {
        eprintln!("SKIPPED: a disk that counts as full; this one has more room than can be asked for");
        return;
    }
    assert_eq!(house.run(&["up", "--detach", &format!("--set=min_free_disk_bytes={MOST}")]).code, 0);
    assert_eq!(house.run(&["status"]).code, 7);
    let full = house.run(&["status", "--json"]);
    assert_eq!((&full.json()["ready"], &full.json()["reasons"][0]["trouble"]), (&false.into(), &"disk_full".into()));
    assert_eq!(full.error()["code"], "disk_full");
    let doctor = house.run(&["doctor"]);
    assert!(doctor.stdout.contains("; not ready: "), "{}", doctor.stdout);
    assert_eq!(house.run(&["down"]).code, 0);
    assert_eq!(house.run(&["status"]).code, 3);
    fs::remove_file(house.0.root().join("head")).unwrap();
    let lost = house.run(&["status"]);
    assert!(lost.code == 6 && lost.stderr.contains("none can start"), "{}", lost.stderr);
}

/// The unit with the binary of this test in it: the one that it names is not installed here.
#[test]
fn the_unit_is_one_that_systemd_understands() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("relaymesh.service");
    let text = fs::read_to_string(deploy("relaymesh.service")).unwrap();
    let text = text.replace("/usr/local/bin/relaymesh", env!("CARGO_BIN_EXE_relaymesh"));
    fs::write(&unit, text.replace("User=relaymesh", "User=root")).unwrap();
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no", "--generators=no"]).arg(&unit);
    match verify.output() {
        Ok(output) => {
            let said = Said::of(output);
            // Other units of the machine may be wrong; that is said, too.
            let ours: Vec<&str> = said.stderr.lines().filter(|line| line.contains("relaymesh")).collect();
            assert!(ours.is_empty(), "{ours:?}");
            assert_eq!(said.code, 0, "{}", said.stderr);
        }
        Err(error) => eprintln!("SKIPPED: the unit was not verified, systemd-analyze cannot be run: {error}"),
    }
}

/// How much of the system the service can reach, as systemd rates it: 10 is everything.
#[test]
fn the_unit_is_closed_as_far_as_agents_can_live_with() {
    let folder = tempfile::tempdir().unwrap();
    let unit = folder.path().join("relaymesh.service");
    let text = fs::read_to_string(deploy("relaymesh.service")).unwrap();
    fs::write(&unit, text.replace("/usr/local/bin/relaymesh", env!("CARGO_BIN_EXE_relaymesh"))).unwrap();
    let mut rate = Command::new("systemd-analyze");
    rate.args(["security", "--offline=true", "--threshold=40", "--no-pager"]).arg(&unit);
    match rate.output() {
        Ok(output) if String::from_utf8_lossy(&output.stderr).contains("option") => {
            eprintln!("SKIPPED: the unit was not rated, this systemd-analyze is too old");
        }
        Ok(output) => {
            let said = Said::of(output);
            assert!(said.stdout.contains("Overall exposure level"), "{}", said.stderr);
            assert_eq!(said.code, 0, "{}", said.stdout);
        }
        Err(error) => eprintln!("SKIPPED: the unit was not rated, systemd-analyze cannot be run: {error}"),
    }
    // What agents and the daemon need stays open.
    for line in ["Delegate=yes", "WatchdogSec=60", "Environment=RELAYMESH_HTTP_ADDR=127.0.0.1:8080"] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    for closed in ["MemoryDenyWriteExecute", "RestrictNamespaces", "ProtectControlGroups"] {
        assert!(!text.contains(&format!("\n{closed}=")), "{closed}");
    }
}

/// Both files start the daemon with options that it has.
#[test]
fn what_the_files_start_is_a_command_that_there_is() {
    let unit = fs::read_to_string(deploy("relaymesh.service")).unwrap();
    let started = unit.lines().find_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/relaymesh ")).unwrap();
    let container = fs::read_to_string(deploy("Containerfile")).unwrap();
    let words = container.lines().find_map(|line| line.strip_prefix("CMD ")).unwrap();
    let words: Vec<String> = serde_json::from_str(words).unwrap();
    assert_eq!(started.split(' ').collect::<Vec<_>>(), words);
    let house = House::new();
    let parsed = house.run(&[&words.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--help"]].concat());
    assert_eq!(parsed.code, 0, "{}", parsed.stderr);
}
