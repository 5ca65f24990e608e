//! Backups made beside a daemon that works, and roots made out of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Mesh, Said, house::House};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

/// Long enough to be a blob.
const LONG: usize = 20_000;
const CANARY: &str = "canary-in-a-backup-51c0de";

/// A second root in the same folder.
struct Other<'a> {
    house: &'a House,
    root: &'static str,
}

impl Other<'_> {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.house.command(arguments);
        command.env("RELAYMESH_ROOT", self.root);
        command
    }

    fn run(&self, arguments: &[&str]) -> Said {
        Said::of(self.command(arguments).output().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.house.0.folder.path().join(self.root)
    }
}

impl Drop for Other<'_> {
    fn drop(&mut self) {
        if self.path().join("daemon.json").exists() {
            self.run(&["down"]);
        }
    }
}

fn ok(said: &Said) -> &Said {
    assert_eq!(said.code, 0, "{}{}", said.stdout, said.stderr);
    said
}

fn submit(house: &House, input: &str, more: &[&str]) -> String {
    let said = house.run(&[&["submit", "--agent", "echo", "--new", "--json", "--input", input], more].concat());
    ok(&said);
    let first = said.stdout.lines().next().unwrap_or_default();
    serde_json::from_str::<serde_json::Value>(first).unwrap()["task"].as_str().unwrap().to_owned()
}

/// Inputs short and long, none like another.
fn input(house: &House, who: usize, number: usize) -> String {
    let text =
        format!("\"{who}-{number}-{}\"", if number.is_multiple_of(3) { "x".repeat(LONG) } else { String::new() });
    let file = house.0.folder.path().join(format!("input-{who}.json"));
    fs::write(&file, text).unwrap();
    format!("@{}", file.display())
}

/// Whoever was told that its task is accepted before the backup began finds it in the restored root; and all of it is as it was written.
#[test]
fn what_was_acknowledged_before_a_backup_is_in_it_whatever_goes_on_meanwhile() {
    let house = House::new();
    ok(&house.run(&["up", "--detach"]));
    let (acknowledged, is_over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    let restored = Other { house: &house, root: "restored" };
    thread::scope(|scope| {
        let (house, acknowledged, is_over) = (&house, &acknowledged, &is_over);
        for who in 0..2 {
            scope.spawn(move || {
                for number in (0usize..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                    let task = submit(house, &input(house, who, number), &[]);
                    acknowledged.lock().unwrap().push(task);
                }
            });
        }
        // Blobs come and go all the time.
        scope.spawn(move || {
            for number in (0usize..).take_while(|_| !is_over.load(Ordering::Relaxed)) {
                let task = submit(house, &input(house, 2, number * 3), &["--wait"]);
                ok(&house.run(&["purge", &task, "--yes"]));
                ok(&house.run(&["log", "compact"]));
            }
        });
        house.0.until("there is some work", |_| acknowledged.lock().unwrap().len() >= 24);
        let before = acknowledged.lock().unwrap().clone();
        let made = house.run(&["backup", "b", "--json"]);
        is_over.store(true, Ordering::Relaxed);
        let made = ok(&made).json();
        assert!(made["blobs"].as_u64() > Some(0), "{made}");
        ok(&restored.run(&["restore", "b"]));
        for check in ["verify", "rebuild", "scrub"] {
            ok(&restored.run(&["log", check, "--json"]));
        }
        for task in before {
            ok(&restored.run(&["task", "wait", &task]));
        }
    });
    let shown = restored.run(&["log", "verify", "--json"]).json();
    assert!(shown["origin_epoch"].as_u64() > Some(1_000_000_000), "{shown}");
    ok(&restored.run(&["submit", "--agent", "echo", "--input", "1", "--wait"]));
    ok(&restored.run(&["down"]));
    ok(&restored.run(&["log", "verify"]));
    ok(&house.run(&["down"]));
    ok(&house.run(&["log", "verify"]));
}

/// A drill beside the original: its processes go on, and what was under way in the backup is begun again.
#[test]
fn a_restored_root_touches_nothing_of_its_original_and_revokes_its_leases() {
    let house = House::new();
    fs::create_dir_all(house.0.root()).unwrap();
    let script = "echo $$ > pid; while [ ! -e ../../../go ]; do sleep 0.05; done; echo 1";
    let agents = format!("[agents.long]\ncommand = [\"sh\", \"-c\", \"{script}\"]\n");
    fs::write(house.0.root().join("agents.toml"), agents).unwrap();
    let said = house.run(&["submit", "--agent", "long", "--json"]);
    let task = ok(&said).json()["task"].as_str().unwrap().to_owned();
    let attempt = |root: &Path, number: u32| {
        let pid = root.join("attempts").join(&task).join(format!("long.{number}")).join("pid");
        fs::read_to_string(pid).ok().filter(|text| text.ends_with('\n'))
    };
    let original = house.0.root();
    house.0.until("it runs", |_| attempt(&original, 1).is_some());
    ok(&house.run(&["backup", "b"]));
    let restored = Other { house: &house, root: "drill" };
    ok(&restored.run(&["restore", "b"]));
    ok(&restored.run(&["up", "--detach"]));
    let again = restored.path();
    house.0.until("it runs again", |_| attempt(&again, 2).is_some());
    let first = attempt(&original, 1).unwrap();
    assert!(Path::new("/proc").join(first.trim()).exists(), "the original's process goes on");
    let shown = restored.run(&["task", "show", &task, "--history", "--json"]).json();
    assert_eq!(shown["steps"][0]["history"][0]["outcome"], "ABANDONED", "{shown}");
    for root in [&original, &again] {
        fs::write(root.join("go"), "").unwrap();
    }
    ok(&restored.run(&["task", "wait", &task]));
    ok(&house.run(&["task", "wait", &task]));
    let shown = house.json(&["task", "show", &task, "--history"]);
    assert_eq!(shown["steps"][0]["attempt"], 1, "{shown}");
}

fn mesh_with_a_backup() -> Mesh {
    let mesh = Mesh::new();
    let letter = mesh.folder.path().join("letter.json");
    fs::write(&letter, format!("\"{}\"", "x".repeat(LONG))).unwrap();
    ok(&mesh.run(&["submit", "--agent", "echo", "--input", &format!("@{}", letter.display()), "--wait"]));
    let said = mesh.run_with_input(&["secret", "set", "api-key"], &format!("{CANARY}\n"));
    ok(&said);
    ok(&mesh.run(&["backup", "b"]));
    mesh
}

#[test]
fn nothing_is_written_over_and_a_backup_is_no_root() {
    let mesh = mesh_with_a_backup();
    let refused = mesh.run(&["backup", "b"]);
    assert!(refused.code == 4 && refused.stderr.contains("already exists"), "{}", refused.stderr);
    let refused = mesh.run(&["restore", "b"]);
    assert!(refused.code == 4 && refused.stderr.contains("is not empty"), "{}", refused.stderr);
    let nothing = mesh.run(&["--root", "elsewhere", "restore", "root"]);
    assert!(nothing.code == 3 && nothing.stderr.contains("root is not a backup"), "{}", nothing.stderr);
    let used = mesh.run(&["--root", "b", "submit", "--agent", "echo"]);
    assert!(used.code == 6 && used.stderr.contains("sidecar"), "{}", used.stderr);
    fs::create_dir(mesh.folder.path().join("empty")).unwrap();
    ok(&mesh.run(&["--root", "empty", "restore", "b"]));
    ok(&mesh.run(&["--root", "empty", "log", "rebuild"]));
    assert!(!mesh.folder.path().join("empty.new").exists());
}

#[test]
fn secrets_stay_encrypted_and_their_key_goes_along_only_when_somebody_says_so() {
    let mesh = mesh_with_a_backup();
    let folder = mesh.folder.path();
    let names = |backup: &str| {
        let mut names: Vec<_> =
            fs::read_dir(folder.join(backup)).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(names("b"), ["backup.json", "blobs", "relaymesh.db", "secrets"]);
    for name in names("b").into_iter().filter(|name| name != "blobs") {
        let bytes = fs::read(folder.join("b").join(&name)).unwrap();
        assert!(!bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes()), "{name:?}");
    }
    let restored = mesh.run(&["--root", "r", "restore", "b"]);
    assert!(ok(&restored).stderr.contains("key of the secrets is not in the backup"), "{}", restored.stderr);
    assert_eq!(mesh.run(&["--root", "r", "secret", "list"]).code, 4, "without its key nobody reads it");
    fs::copy(mesh.root().join("secrets.key"), folder.join("r/secrets.key")).unwrap();
    assert!(ok(&mesh.run(&["--root", "r", "secret", "list"])).stdout.contains("api-key"));
    let warned = mesh.run(&["backup", "with-key", "--with-key"]);
    assert!(ok(&warned).stderr.contains("contains the key"), "{}", warned.stderr);
    ok(&mesh.run(&["--root", "r2", "restore", "with-key"]));
    assert!(ok(&mesh.run(&["--root", "r2", "secret", "list"])).stdout.contains("api-key"));
}

/// One byte is enough, in any file, and so is one that is missing.
#[test]
fn a_backup_that_is_not_as_it_was_written_makes_no_root() {
    let mesh = mesh_with_a_backup();
    let folder = mesh.folder.path().join("b");
    let blob = fs::read_dir(folder.join("blobs")).unwrap().next().unwrap().unwrap().file_name();
    let blob = format!("blobs/{}", blob.display());
    for name in ["relaymesh.db", "secrets", &blob] {
        let whole = fs::read(folder.join(name)).unwrap();
        for missing in [false, true] {
            let mut bent = whole.clone();
            bent[whole.len() / 2] ^= 1;
            if missing {
                fs::remove_file(folder.join(name)).unwrap();
            } else {
                fs::write(folder.join(name), bent).unwrap();
            }
            let refused = mesh.run(&["--root", "r", "restore", "b", "--json"]);
            assert_eq!(
                (refused.code, &refused.error()["code"]),
                (6, &"store_damaged".into()),
                "{name}: {}",
                refused.stderr
            );
            assert!(refused.stderr.contains("the backup in b cannot be used"), "{name}: {}", refused.stderr);
            for left in ["r", "r.new"] {
                assert!(!mesh.folder.path().join(left).exists(), "{name}: {left} is left");
            }
        }
        fs::write(folder.join(name), whole).unwrap();
    }
    let blobs = mesh.root().join(&blob);
    fs::write(&blobs, b"other bytes").unwrap();
    let refused = mesh.run(&["backup", "c"]);
    assert!(refused.code == 6 && refused.stderr.contains("log scrub"), "{}", refused.stderr);
    assert!(!mesh.folder.path().join("c").exists() && !mesh.folder.path().join("c.new").exists());
}

/// Whoever comes second is refused, however close they are.
#[test]
fn two_backups_to_one_name_are_one_backup() {
    let mesh = mesh_with_a_backup();
    let both: Vec<_> = (0..2)
        .map(|_| mesh.command(&["backup", "same"]).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    let codes: Vec<Said> = both.into_iter().map(|child| Said::of(child.wait_with_output().unwrap())).collect();
    assert!(codes.iter().any(|said| said.code == 0), "{:?}", codes.iter().map(|said| &said.stderr).collect::<Vec<_>>());
    assert!(codes.iter().all(|said| matches!(said.code, 0 | 4 | 5 | 9)), "a defect: {:?}", codes[1].stderr);
    ok(&mesh.run(&["--root", "r", "restore", "same"]));
}
