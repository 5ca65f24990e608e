//! What every command says of itself, and what is made from it. `cargo xtask gen` makes all of it again.

use crate::common::Mesh;

/// Every command, as one types it.
fn commands(mesh: &Mesh) -> Vec<String> {
    mesh.run(&["reference", "--commands"]).stdout.lines().map(str::to_owned).collect()
}

#[test]
fn every_help_is_as_it_was_and_has_examples() {
    let mesh = Mesh::new();
    let commands = commands(&mesh);
    assert!(commands.len() > 40, "{commands:?}");
    for path in &commands {
        let words: Vec<&str> = path.split(' ').skip(1).collect();
        let said = mesh.run(&[&words[..], &["--help"]].concat());
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{path}");
        assert!(said.stdout.contains("Examples:") || said.stdout.contains("Try it:"), "{path} --help has no examples");
        // `settings-history` and `settings history` are two commands.
        let alone = if words.len() == 1 && words[0].contains('-') { "-alone" } else { "" };
        insta::assert_snapshot!(path.replace(' ', "-") + alone, said.stdout);
    }
}

#[test]
fn the_page_of_all_commands_is_current() {
    let mesh = Mesh::new();
    let made = mesh.run(&["reference"]).stdout;
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/cli.md");
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert!(made == kept, "docs/reference/cli.md is not what the program says: run `cargo xtask gen`");
}

#[test]
fn shells_complete_every_command() {
    let mesh = Mesh::new();
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let said = mesh.run(&["completions", shell]);
        assert_eq!(said.code, 0, "{}", said.stderr);
        for word in ["approvals", "redrive", "namespace"] {
            assert!(said.stdout.contains(word), "{shell} does not know {word}");
        }
    }
    let bash = mesh.folder.path().join("relaymesh.bash");
    std::fs::write(&bash, mesh.run(&["completions", "bash"]).stdout).unwrap();
    let checked = std::process::Command::new("bash").arg("-n").arg(&bash).status();
    assert!(checked.is_ok_and(|status| status.success()), "bash cannot read it");
    assert_eq!(mesh.run(&["completions", "tcsh"]).code, 2);
}

#[test]
fn there_is_a_manual_page_for_every_command() {
    let mesh = Mesh::new();
    let page = mesh.run(&["man"]).stdout;
    assert!(page.contains(".TH relaymesh 1"), "{page}");
    assert_eq!(mesh.run(&["man", "--out", "pages"]).code, 0);
    let commands = commands(&mesh);
    for path in &commands {
        let name = format!("{}.1", path.replace(' ', "-"));
        let text = std::fs::read_to_string(mesh.folder.path().join("pages").join(&name)).unwrap_or_default();
        assert!(text.contains(".SH SYNOPSIS"), "there is no {name}");
        // `settings history` and `settings-history` have one page, which must be about both.
        let words = path.replace('-', "\\-");
        let alone = commands.iter().filter(|other| other.replace(' ', "-") == path.replace(' ', "-")).count() == 1;
        assert!(alone || text.contains(&format!("`{words}`")), "{name} is of another command than {path}");
    }
}
