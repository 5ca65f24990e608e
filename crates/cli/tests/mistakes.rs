//! Commands that nobody meant like that: what is said about them, and how they exit.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{Mesh, house::House};
use insta::assert_snapshot;

#[test]
fn without_a_command_the_help_is_the_answer() {
    let mesh = Mesh::new();
    for (arguments, usage) in [
        (&[][..], "Usage: relaymesh [OPTIONS] <COMMAND>"),
        (&["task"], "Usage: relaymesh task [OPTIONS] <COMMAND>"),
        (&["ns"], "Usage: relaymesh ns [OPTIONS] <COMMAND>"),
    ] {
        let said = mesh.run(arguments);
        assert_eq!((said.code, said.stdout.as_str()), (2, ""), "{arguments:?}");
        assert!(said.stderr.contains(usage) && !said.stderr.contains("error["), "{arguments:?}: {}", said.stderr);
    }
    let error = mesh.run(&["task", "--json"]).error();
    assert_eq!((&error["code"], &error["message"]), (&"usage".into(), &"a command is missing".into()));
    assert_eq!(error["hints"][0], "usage: relaymesh task [OPTIONS] <COMMAND>");
}

#[test]
fn what_the_parser_advises_is_a_hint() {
    let mesh = Mesh::new();
    assert_snapshot!(mesh.run(&["task", "show"]).seen(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage] RM0001: the following required arguments were not provided:
      <ID>
      hint: usage: relaymesh task show <ID>
      hint: `--help` shows all arguments, with examples
      page: docs/reference/errors.md#usage
    ");
    let error = mesh.run(&["task", "lsit", "--json"]).error();
    assert_eq!(error["message"], "unrecognized subcommand 'lsit'");
    assert_eq!(error["hints"][0], "a similar subcommand exists: 'list'");
    let error = mesh.run(&["completions", "tcsh", "--json"]).error();
    let message = error["message"].as_str().unwrap();
    assert!(message.contains("'tcsh'") && message.contains("[possible values: bash"), "{message}");
}

/// Whichever file of the root a command would look for first.
#[test]
fn a_root_that_is_a_file_is_said_to_be_one() {
    let house = House::new();
    house.0.file("file", "");
    for root in ["file", "file/in/it"] {
        for arguments in [
            &["submit", "--agent", "echo"][..],
            &["init"],
            &["up"],
            &["task", "list"],
            &["doctor"],
            &["settings", "show"],
            &["demo"],
        ] {
            let said = house.run(&[&["--root", root], arguments].concat());
            assert_eq!(said.code, 2, "{arguments:?}: {}", said.stderr);
            let message = format!("error[usage] RM0001: the root cannot be {root}: file is not a folder\n");
            assert!(said.stderr.starts_with(&message), "{arguments:?}: {}", said.stderr);
        }
        assert_eq!(house.run(&["--root", root, "explain", "RM0001"]).code, 0, "it needs no root");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_root_that_cannot_be_made_is_named() {
    let house = House::new();
    let said = house.run(&["--root", "/proc/relaymesh/root", "submit", "--agent", "echo"]);
    assert_eq!(said.code, 9);
    let message = "error[store_io] RM0028: cannot create the root /proc/relaymesh/root: ";
    assert!(said.stderr.starts_with(message), "{}", said.stderr);
}

#[test]
fn a_daemon_in_the_way_can_be_stopped_and_the_hint_says_how() {
    let house = House::new();
    assert_eq!(house.run(&["submit", "--agent", "echo"]).code, 0);
    let said = house.run(&["log", "recover"]);
    assert_eq!(said.code, 5, "{}", said.stderr);
    assert!(said.stderr.contains("a daemon: `relaymesh down`"), "{}", said.stderr);
}

#[test]
fn flows_that_are_none() {
    let mesh = Mesh::new();
    let seen = |text: &str| mesh.run(&["flow", "check", mesh.file("flow.yaml", text)]).seen();
    assert_snapshot!(seen(""), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: flow.yaml: the flow is empty
      hint: a flow is a mapping with `name` and `steps`: `relaymesh flow --help` shows one
      page: docs/reference/errors.md#bad_flow
    ");
    assert_snapshot!(seen("just text\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: expected a mapping
        --> flow.yaml:1:1
      1 | just text
        | ^
      hint: a flow is a mapping with `name` and `steps`: `relaymesh flow --help` shows one
      page: docs/reference/errors.md#bad_flow
    ");
    assert_snapshot!(seen("name: n\nsteps:\n\t- id: a\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: tabs disallowed within this context (block indentation)
        --> flow.yaml:3:2
      3 |  - id: a
        |  ^
      hint: indent YAML with spaces, not tabs
      page: docs/reference/errors.md#bad_flow
    ");
    assert_snapshot!(seen("name: n\nsteps: [{id: a, agent: echo}]\n---\nname: m\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_flow] RM0003: a file can contain only one flow, but another document begins here
        --> flow.yaml:3:1
      3 | ---
        | ^
      page: docs/reference/errors.md#bad_flow
    ");
    let deep = format!("{}1{}", "[".repeat(70), "]".repeat(70));
    let said = seen(&format!("name: n\nsteps: [{{id: a, agent: echo, input: {deep}}}]\n"));
    assert!(said.contains("lists and mappings are nested more than 64 deep"), "{said}");
    let many: String = (0..50_000).map(|n| format!("  - {{id: s{n}, agent: echo}}\n")).collect();
    let said = seen(&format!("name: n\nsteps:\n{many}"));
    assert!(said.contains("the flow is too large: the maximum is 200000 values and keys"), "{said}");
    assert_snapshot!(mesh.run(&["flow", "check", "."]).seen(), @"
    exit 3
    --- stdout
    --- stderr
    error[no_file] RM0007: . is a folder, not a file
      page: docs/reference/errors.md#no_file
    ");
}

#[test]
fn inputs_that_are_none() {
    let mesh = Mesh::new();
    let seen = |input: &str| mesh.run(&["submit", "--agent", "echo", "--input", input]).seen();
    assert_snapshot!(seen(""), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_input] RM0002: --input is empty; it must be JSON
      hint: to pass no input, leave out --input or give `null`
      page: docs/reference/errors.md#bad_input
    ");
    mesh.file("empty.json", " \n");
    assert_eq!(seen("@empty.json"), seen(""));
    assert_eq!(seen("-"), seen(""));
    assert_snapshot!(seen("@."), @"
    exit 3
    --- stdout
    --- stderr
    error[no_file] RM0007: . is a folder, not a file
      page: docs/reference/errors.md#no_file
    ");
    std::fs::write(mesh.folder.path().join("bytes.json"), [0xff, 0xfe]).unwrap();
    assert_snapshot!(seen("@bytes.json"), @"
    exit 2
    --- stdout
    --- stderr
    error[bad_input] RM0002: bytes.json is not UTF-8: invalid byte at position 0
      page: docs/reference/errors.md#bad_input
    ");
    assert!(!mesh.root().exists(), "a refused submit makes no root");
}

/// A file may be as long as an input may be, and not a byte longer.
#[test]
fn a_long_input_is_taken_and_one_that_is_too_long_is_refused() {
    const MIB: usize = 1 << 20;
    let mesh = Mesh::new();
    mesh.file("long.json", &format!("\"{}\"", "x".repeat(10 * MIB - 2)));
    let said = mesh.run(&["submit", "--agent", "echo", "--input", "@long.json"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    mesh.file("longer.json", &format!("\"{}\"", "x".repeat(10 * MIB - 1)));
    assert_snapshot!(mesh.run(&["submit", "--agent", "echo", "--input", "@longer.json"]).seen(), @"
    exit 4
    --- stdout
    --- stderr
    error[too_long] RM0019: the content has 10485761 bytes; the maximum is 10485760
      hint: put it into a file that the agent can read, and pass its path
      page: docs/reference/errors.md#too_long
    ");
}
