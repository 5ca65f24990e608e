//! What is written where, and what happens when nobody can read it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Mesh, Said};
use std::process::{Command, Stdio};

const CLOSED_PIPE: i32 = 141;

/// A pipe that nobody reads.
fn unread() -> Stdio {
    let (_, writer) = std::io::pipe().unwrap();
    writer.into()
}

/// The exit code and what was said in spite of it.
fn ran(command: &mut Command) -> Said {
    Said::of(command.output().unwrap())
}

#[test]
fn talk_that_nobody_hears_changes_nothing() {
    let mesh = Mesh::new();
    let said = ran(mesh.command(&["submit", "--agent", "echo", "--input", "7", "--wait"]).stderr(unread()));
    assert_eq!((said.code, said.stdout.as_str()), (0, "7\n"));
    let said = ran(mesh.command(&["run", &crate::common::example("hello.yaml"), "--watch"]).stderr(unread()));
    assert_eq!(said.code, 0, "{}", said.stdout);
    for (arguments, code) in
        [(&["nonsense"][..], 2), (&["task", "show", "ABCDEF"], 3), (&["task", "lsit", "--json"], 2), (&[], 2)]
    {
        assert_eq!(ran(mesh.command(arguments).stderr(unread())).code, code, "{arguments:?}");
    }
}

#[test]
fn data_that_nobody_reads_ends_the_command_quietly() {
    let mesh = Mesh::new();
    mesh.run(&["init"]);
    for arguments in [&["task", "list"][..], &["--help"], &["--version"], &["task", "list", "--help"]] {
        let said = ran(mesh.command(arguments).stdout(unread()));
        assert_eq!((said.code, said.stderr.as_str()), (CLOSED_PIPE, ""), "{arguments:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn data_that_finds_no_room_is_an_error() {
    let mesh = Mesh::new();
    mesh.run(&["init"]);
    for arguments in [&["task", "list"][..], &["--help"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let said = ran(mesh.command(arguments).stdout(full));
        assert_eq!(said.code, 9, "{arguments:?}: {}", said.stderr);
        assert!(said.stderr.contains("cannot write to stdout"), "{}", said.stderr);
    }
}
