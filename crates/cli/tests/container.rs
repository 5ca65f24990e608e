//! The container image, built where `buildah` is there. No registry is needed: the stage that compiles is replaced by the binary of this
//! test, and the image that it is put into by what that binary needs of this machine. Every other line is the one that ships.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::Said;
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

/// Storage of its own, so that nothing is left on the machine.
struct Buildah {
    folder: tempfile::TempDir,
}

impl Buildah {
    /// `None` where it cannot be run, or cannot build an image of nothing.
    fn new() -> Option<Self> {
        let buildah = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(buildah.folder.path().join("empty")).unwrap();
        fs::write(buildah.folder.path().join("Containerfile"), "FROM scratch\n").unwrap();
        let built = buildah.command(&["build", "--isolation", "chroot", "-f", "Containerfile", "empty"]).output();
        match built {
            Ok(output) if output.status.success() => Some(buildah),
            Ok(output) => {
                eprintln!("SKIPPED: buildah cannot build here: {}", String::from_utf8_lossy(&output.stderr));
                None
            }
            Err(error) => {
                eprintln!("SKIPPED: buildah cannot be run: {error}");
                None
            }
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("buildah");
        command.args(["--storage-driver", "vfs"]);
        command.arg("--root").arg(self.folder.path().join("store"));
        command.arg("--runroot").arg(self.folder.path().join("run"));
        command.args(arguments).current_dir(self.folder.path());
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        let said = Said::of(self.command(arguments).output().unwrap());
        assert_eq!(said.code, 0, "{arguments:?}: {}{}", said.stdout, said.stderr);
        said.stdout
    }

    /// The files of an image.
    fn mount(&self, image: &str) -> (String, PathBuf) {
        let container = self.run(&["from", "--pull-never", image]).trim().to_owned();
        let place = self.run(&["mount", &container]).trim().into();
        (container, place)
    }
}

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Libraries of the binary, and what it needs to look up users: copied to the same places below `to`.
fn copy_system(to: &Path) {
    let listed = Said::of(Command::new("ldd").arg(env!("CARGO_BIN_EXE_relaymesh")).output().unwrap());
    let libraries: Vec<&str> = listed.stdout.split_whitespace().filter(|word| word.starts_with('/')).collect();
    assert!(!libraries.is_empty(), "{}", listed.stdout);
    for library in libraries {
        let target = to.join(library.trim_start_matches('/'));
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::copy(library, target).unwrap();
    }
    for folder in ["etc", "data", "tmp", "home/relaymesh"] {
        fs::create_dir_all(to.join(folder)).unwrap();
    }
    fs::write(to.join("etc/passwd"), "root:x:0:0::/:/none\nrelaymesh:x:10001:10001::/home/relaymesh:/none\n").unwrap();
    fs::write(to.join("etc/group"), "root:x:0:\nrelaymesh:x:10001:\n").unwrap();
}

/// The file that ships, without what needs a registry or a network.
fn containerfile() -> String {
    let shipped = fs::read_to_string(project().join("deploy/Containerfile")).unwrap();
    let stages: Vec<usize> = shipped.match_indices("\nFROM ").map(|(at, _)| at + 1).collect();
    assert_eq!(stages.len(), 2, "one stage compiles, the other one is the image");
    let image = shipped[stages[1]..].replace("\\\n", " ");
    let mut lines =
        vec!["FROM scratch AS build", "COPY relaymesh /usr/local/bin/relaymesh", "FROM scratch", "COPY system /"];
    lines.extend(image.lines().skip(1).filter(|line| !line.starts_with("RUN ")));
    lines.join("\n") + "\n"
}

#[test]
fn the_image_has_its_address_its_probe_and_a_daemon_that_starts() {
    let Some(buildah) = Buildah::new() else { return };
    let context = buildah.folder.path().join("context");
    copy_system(&context.join("system"));
    fs::copy(env!("CARGO_BIN_EXE_relaymesh"), context.join("relaymesh")).unwrap();
    fs::write(context.join("Containerfile"), containerfile()).unwrap();
    let context = context.to_str().unwrap();
    buildah.run(&["build", "--isolation", "chroot", "--format", "docker", "-t", "relaymesh-test", context]);
    let seen: Value = serde_json::from_str(&buildah.run(&["inspect", "--type", "image", "relaymesh-test"])).unwrap();
    let config = &seen["Docker"]["config"];
    assert_eq!(config["Healthcheck"]["Test"], json!(["CMD", "relaymesh", "status"]));
    assert_eq!(config["ExposedPorts"], json!({ "8080/tcp": {} }));
    assert_eq!((&config["User"], &config["StopSignal"]), (&json!("relaymesh"), &json!("SIGTERM")));
    let environment: Vec<&str> = config["Env"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(environment.contains(&"RELAYMESH_HTTP_ADDR=127.0.0.1:8080"), "{environment:?}");
    assert!(environment.contains(&"RELAYMESH_ROOT=/data/root"), "{environment:?}");
    let (container, files) = buildah.mount("relaymesh-test");
    assert!(files.join("usr/local/bin/relaymesh").exists());
    // It shares the network with this machine, so its daemon gets a free port here.
    let run = |arguments: &[&str]| {
        let settings = ["run", "--isolation", "chroot", "--user", "0", "--env", "RELAYMESH_HTTP_ADDR=127.0.0.1:0"];
        let program = [&container, "--", "/usr/local/bin/relaymesh"];
        buildah.run(&[&settings[..], &program, arguments].concat())
    };
    let submit = ["submit", "--no-daemon", "--agent", "echo", "--input", "7", "--wait", "--json"];
    let ended = run(&submit);
    assert!(ended.contains("\"SUCCESS\""), "{ended}");
    let checked = run(&["doctor"]);
    assert!(checked.contains("/data/root"), "{checked}");
}

/// The context of the build: all that is compiled, and nothing that is not.
#[test]
fn the_context_of_the_image_has_the_sources_and_nothing_private() {
    let ignored = fs::read_to_string(project().join(".dockerignore")).unwrap();
    for name in ["**/target", ".git", "**/.relaymesh", "**/http-token", "**/secrets.key"] {
        assert!(ignored.lines().any(|line| line == name), "{name}");
    }
    let Some(buildah) = Buildah::new() else { return };
    // A copy of the outline, so that no other build disturbs this one: one file of everything that matters.
    let context = buildah.folder.path().join("context");
    let kept = ["Cargo.toml", "Cargo.lock", ".cargo/config.toml", "crates/cli/src/main.rs", "docs/reference/errors.md"];
    let kept =
        [&kept[..], &["crates/runtime/src/secrets/mod.rs", "examples/demo/flow.yaml", "fuzz/Cargo.toml"]].concat();
    let left = ["target/debug/x", "xtask/target/x", ".git/HEAD", ".relaymesh/relaymesh.db", "examples/.relaymesh/head"];
    let left = [&left[..], &["mesh/http-token", "mesh/secrets.key"]].concat();
    for name in kept.iter().chain(&left) {
        let path = context.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "x").unwrap();
    }
    fs::write(context.join(".dockerignore"), ignored).unwrap();
    fs::write(buildah.folder.path().join("Containerfile"), "FROM scratch\nCOPY . /src\n").unwrap();
    buildah.run(&["build", "--isolation", "chroot", "-t", "context", "-f", "Containerfile", context.to_str().unwrap()]);
    let (_, files) = buildah.mount("context");
    for name in kept {
        assert!(files.join("src").join(name).exists(), "{name} is needed");
        assert!(project().join(name).exists(), "{name} is in the project");
    }
    for name in left {
        assert!(!files.join("src").join(name).exists(), "{name} is private or of no use");
    }
}
