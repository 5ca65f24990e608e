//! The vault and the references into it.

use super::*;
use relaymesh_agents::{Agents, Given, Terms};
use std::{os::unix::fs::PermissionsExt as _, path::Path};

const CANARY: &str = "canary-0123456789";

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

fn name(text: &str) -> relaymesh_core::name::Name {
    text.parse().unwrap()
}

fn vault(root: &Path) -> Vault {
    Vault::new(root, KeyPlace::Beside)
}

#[test]
fn secrets_come_back_and_no_file_holds_one_in_the_clear() {
    let root = tempfile::tempdir().unwrap();
    let vault = vault(root.path());
    assert_eq!(vault.names().unwrap(), []);
    assert!(!vault.set(&name("openai"), secret(CANARY)).unwrap());
    assert!(!vault.set(&name("mail"), secret("another-secret")).unwrap());
    assert!(vault.set(&name("mail"), secret("a-newer-secret")).unwrap());
    assert_eq!(vault.names().unwrap(), [name("mail"), name("openai")]);
    let all = vault.read().unwrap();
    assert_eq!((all[&name("openai")].expose(), all[&name("mail")].expose()), (CANARY, "a-newer-secret"));
    for entry in std::fs::read_dir(root.path()).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("canary"), "{}", path.display());
        assert!(
            !String::from_utf8_lossy(&bytes).contains("openai"),
            "names are not readable either: {}",
            path.display()
        );
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", path.display());
    }
    vault.remove(&name("mail")).unwrap();
    assert!(matches!(vault.remove(&name("mail")), Err(Error::Missing(_))));
    assert_eq!(vault.names().unwrap(), [name("openai")]);
}

#[test]
fn without_its_key_or_with_one_bit_changed_nothing_opens_and_no_new_key_is_made() {
    let root = tempfile::tempdir().unwrap();
    let vault = vault(root.path());
    vault.set(&name("a"), secret(CANARY)).unwrap();
    let (file, key) = (root.path().join("secrets"), root.path().join(KEY_FILE));
    let (bytes, digits) = (std::fs::read(&file).unwrap(), std::fs::read_to_string(&key).unwrap());
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        std::fs::write(&file, changed).unwrap();
        assert!(matches!(vault.read(), Err(Error::Key(_))), "byte {at}");
    }
    std::fs::write(&file, &bytes).unwrap();
    let other = "ab".repeat(32);
    for (text, words) in
        [("", "64 hexadecimal digits"), ("zz", "64 hexadecimal digits"), (other.as_str(), "cannot be decrypted")]
    {
        std::fs::write(&key, text).unwrap();
        let error = vault.set(&name("b"), secret(CANARY)).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
        let mut given = Vault::new(root.path(), KeyPlace::Given(secret(text)));
        assert!(matches!(given.read(), Err(Error::Key(_))));
        given = Vault::new(root.path(), KeyPlace::Given(secret(&digits)));
        assert_eq!(given.names().unwrap(), [name("a")], "the key may be given instead");
    }
    std::fs::remove_file(&key).unwrap();
    assert!(matches!(vault.set(&name("b"), secret(CANARY)), Err(Error::Key(_))));
    assert!(!key.exists());
    std::fs::write(root.path().join("elsewhere"), &digits).unwrap();
    let elsewhere = Vault::new(root.path(), KeyPlace::File(root.path().join("elsewhere")));
    assert_eq!(elsewhere.names().unwrap(), [name("a")]);
}

#[test]
fn what_cannot_be_a_secret_is_refused() {
    let root = tempfile::tempdir().unwrap();
    for text in ["", "1234567", "with\0zero-bytes", &"x".repeat((64 << 10) + 1)] {
        assert!(matches!(vault(root.path()).set(&name("a"), secret(text)), Err(Error::Unfit(_))));
    }
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

fn terms(extra: &str) -> Terms {
    let agents = Agents::parse(&format!("[agents.a]\ncommand = [\"x\"]\n{extra}"), Path::new("/nowhere")).unwrap();
    agents.get(&name("a")).unwrap().terms.clone()
}

fn given(input: &str, extra: &str, vault: &Vault) -> Result<Given, String> {
    reference::given(input.as_bytes().to_vec(), &terms(extra), vault)
}

#[test]
fn references_are_resolved_for_stdin_and_stay_in_what_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let vault = vault(root.path());
    vault.set(&name("a"), secret("first \"secret\"")).unwrap();
    vault.set(&name("b"), secret("second-secret")).unwrap();
    let input = r#"{"x":[1,{"$secret":"a"}],"y":{"deep":{"$secret":"a"}},"z":"$secret"}"#;
    let Given { input: kept, stdin, env, secrets } =
        given(input, "secrets = { KEY = \"b\" }\ninput_secrets = [\"a\"]\n", &vault).unwrap();
    assert_eq!(String::from_utf8(kept).unwrap(), input);
    let resolved = r#"{"x":[1,"first \"secret\""],"y":{"deep":"first \"secret\""},"z":"$secret"}"#;
    assert_eq!(stdin.unwrap().expose(), resolved);
    assert_eq!((env.len(), env[0].0.as_str(), env[0].1.expose()), (1, "KEY", "second-secret"));
    let mut hidden: Vec<&str> = secrets.iter().map(Secret::expose).collect();
    hidden.sort_unstable();
    assert_eq!(hidden, ["first \"secret\"", "second-secret"]);
}

#[test]
fn what_an_agent_may_not_have_or_nobody_has_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    let vault = vault(root.path());
    vault.set(&name("a"), secret(CANARY)).unwrap();
    let cases = [
        (r#"{"$secret":"a"}"#, "", "`a`, which `input_secrets`"),
        (
            r#"{"$secret":"b"}"#,
            "input_secrets = [\"b\"]",
            "there is no secret `b`; set it with `relaymesh secret set b`",
        ),
        ("1", "secrets = { KEY = \"c\" }", "there is no secret `c`"),
        (r#"{"$secret":"a","more":1}"#, "input_secrets = [\"a\"]", "without other keys"),
        (r#"{"$secret":7}"#, "input_secrets = [\"a\"]", "without other keys"),
    ];
    for (input, extra, words) in cases {
        let error = given(input, extra, &vault).unwrap_err();
        assert!(error.contains(words) && !error.contains(CANARY), "{input}: {error}");
    }
}

#[test]
fn whoever_needs_no_secret_needs_no_vault() {
    let nowhere = vault(Path::new("/no/such/root"));
    for input in ["null", "{\"secret\":\"a\"}", "\"a text\"", "not even JSON"] {
        let given = given(input, "", &nowhere).unwrap();
        assert!(given.stdin.is_none() && given.env.is_empty() && given.secrets.is_empty());
    }
}
