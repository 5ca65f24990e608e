use super::*;
use crate::{Audit, Confirm, Kind, Protocol, Retry, agent::Agent, confine::Confine, limits::Limits, tool::Tool};
use std::collections::BTreeMap;

#[test]
fn a_file_beside_becomes_a_full_path_and_other_words_stay() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.py"), "").unwrap();
    let text = "[agents.a]\ncommand = [\"python3\", \"a.py\", \"../a.py\", \"b.py\"]\n";
    let agents = Agents::parse(text, folder.path()).unwrap();
    let agent = agents.get(&"a".parse().unwrap()).unwrap();
    let process = agent.process().unwrap();
    let full = folder.path().join("a.py").display().to_string();
    assert_eq!(process.command, ["python3", full.as_str(), "../a.py", "b.py"]);
    assert_eq!((agent.terms.concurrency, process.grace_ms), (Some(4), 5_000));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        ("[agents.a]\ncomand = []\n", (2, 1), "unknown field `comand`"),
        ("[agents.a]\ncommand = []\n", (1, 1), "needs a `command`, a `tool` or a `url`"),
        ("[agents.a]\ncommand = [\"x\"]\nconcurrency = 0\n", (1, 1), "at least 1"),
        ("[agents.\"a b\"]\ncommand = [\"x\"]\n", (1, 1), "is not a valid name"),
        ("[agents.a]\ncommand = [\"x\"]\nenv = [\"A=B\"]\n", (1, 1), "`…` is not a valid variable name"),
        ("[agents.a]\ncommand = \"rm -rf\"\n", (2, 11), "expected a sequence"),
        (
            "[agents.a]\ncommand = [\"x\"]\nenv = [\"RELAYMESH_SECRET_KEY\"]\n",
            (1, 1),
            "decrypts all secrets and cannot be passed on",
        ),
        (
            "[agents.a]\ncommand = [\"x\"]\nset = {A = \"1\"}\nsecrets = {A = \"b\"}\n",
            (1, 1),
            "in both `set` and `secrets`",
        ),
        ("[agents.a]\ncommand = [\"x\"]\nsecrets = {A = \"b c\"}\n", (3, 16), "is not a valid name"),
        ("[agents.a]\ncommand = [\"x\"]\nenv = [\"LD_PRELOAD\"]\n", (1, 1), "to use it, give it a value in `set`"),
        ("[agents.a]\ncommand = [\"x\"]\nlimits = {processes = 0}\n", (1, 1), "`processes` is 0; the minimum is 1"),
        ("[agents.a]\ncommand = [\"x\"]\nlimits = {procs = 1}\n", (3, 11), "unknown field `procs`"),
        ("[agents.a]\ncommand = [\"x\"]\nconfine = \"reads\"\n", (3, 11), "true, false or \"writes\""),
        ("[agents.a]\ncommand = [\"x\"]\nwritable = [\"~bob\"]\n", (1, 1), "the home folders of other users"),
        ("[agents.a]\ninbox = true\ncommand = [\"x\"]\n", (1, 1), "an agent with `inbox` runs nothing"),
        ("[agents.a]\ncommand = [\"x\"]\nkind = \"cli\"\n", (1, 1), "the other fields describe the kind `script`"),
        ("[agents.a]\ncommand = [\"x\"]\nkind = \"shell\"\n", (3, 8), "unknown word, expected"),
        ("[agents.a]\ncommand = [\"x\"]\ntimeout = \"soon\"\n", (3, 11), "is not a duration"),
        ("[agents.a]\ncommand = [\"x\"]\nretry = {max_attempts = 0}\n", (1, 1), "at least 1"),
        ("[agents.a]\ncommand = [\"x\"]\nretry = {attempts = 2}\n", (3, 10), "unknown field `attempts`"),
        ("[agents.a]\ncommand = [\"x\"]\nfolder = \"gone\"\n", (1, 1), "the folder /nowhere/gone does not exist"),
        ("[agents.a]\ncommand = [\"x\"]\nconfirm = \"yes\"\n", (3, 11), "true, false, or a list of words"),
        ("[agents.a]\ncommand = [\"x\"]\nconfirm = []\n", (1, 1), "an empty list"),
        ("[agents.a]\ntool = \"codex\"\ncli = {}\n", (1, 1), "this `tool` is known: remove one of them"),
        ("[agents.a]\ncommand = [\"x\"]\ncli = { text = \"message\" }\n", (1, 1), "beginning with `/`"),
        ("[agents.a\n", (1, 10), ""),
    ];
    for (text, place, words) in cases {
        let error = Agents::parse(text, Path::new("/nowhere")).unwrap_err();
        assert_eq!(error.place, Some(place), "{text}: {error}");
        assert!(error.message.contains(words), "{text}: {error}");
    }
}

#[test]
fn an_agent_that_works_in_one_folder_works_alone_unless_it_says_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("app")).unwrap();
    let read = |more: &str| {
        let text = format!("[agents.a]\ncommand = [\"x\"]\nfolder = \"app\"\nlabels = {{ team = \"a\" }}\n{more}\n");
        Agents::parse(&text, folder.path()).unwrap().get(&"a".parse().unwrap()).unwrap().clone()
    };
    let alone = read("");
    assert_eq!(alone.terms.concurrency, Some(1));
    assert_eq!(alone.process().unwrap().folder, Some(folder.path().join("app")));
    assert_eq!(read("concurrency = 3").terms.concurrency, Some(3));
    assert_eq!(alone.terms.labels.into_values().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn without_a_file_there_are_no_agents() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Agents::read(folder.path()), Ok(Agents::default()));
}

fn read(text: &str) -> Result<Agent, String> {
    let agents = Agents::parse(&format!("[agents.a]\n{text}\n"), Path::new("/nowhere"));
    agents.map(|agents| agents.get(&"a".parse().unwrap()).unwrap().clone()).map_err(|error| error.message)
}

/// The least that makes an entry one of each kind.
const KINDS: [(&str, &str); 4] = [
    ("script", "command = [\"x\"]"),
    ("cli", "tool = \"codex\""),
    ("http", "url = \"https://a.example/\"\napi = \"chat\""),
    ("inbox", "inbox = true"),
];

#[test]
fn a_field_of_another_kind_of_agent_is_refused_by_name() {
    let fields: [(&str, &[&str]); 29] = [
        ("args = [\"x\"]", &["cli"]),
        ("cli = {}", &[]),
        ("model = \"m\"", &["cli", "http"]),
        ("result = \"text\"", &["script"]),
        ("env = [\"A\"]", &["script", "cli"]),
        ("set = { A = \"1\" }", &["script", "cli"]),
        ("grace_ms = 1", &["script", "cli"]),
        ("confine = false", &["script", "cli"]),
        ("writable = [\"out\"]", &["script", "cli"]),
        ("limits = { processes = 1 }", &["script", "cli"]),
        ("folder = \"/\"", &["script", "cli"]),
        ("output_bytes_max = 1", &["script", "cli", "http"]),
        ("secrets = { a = \"b\" }", &["script", "cli", "http"]),
        ("input_secrets = [\"b\"]", &["script", "cli", "http"]),
        ("concurrency = 1", &["script", "cli", "http"]),
        ("key = \"k\"", &["http"]),
        ("key_header = \"k\"\nkey = \"k\"", &["http"]),
        ("headers = { a = \"b\" }", &["http"]),
        ("system = \"s\"", &["http"]),
        ("max_tokens = 1", &["http"]),
        ("allow = [\"private\"]", &["http"]),
        ("connect_timeout = 1", &["http"]),
        ("first_byte_timeout = 1", &["http"]),
        ("idle_timeout = 1", &["http"]),
        ("timeout = 1", &["script", "cli", "http", "inbox"]),
        ("retry = { max_attempts = 1 }", &["script", "cli", "http", "inbox"]),
        ("confirm = true", &["script", "cli", "http", "inbox"]),
        ("provider = \"p\"\nabout = \"a\"\nlabels = { a = \"b\" }", &["script", "cli", "http", "inbox"]),
        ("budget = {}\naudit = \"off\"\nllm = true", &["script", "cli", "http", "inbox"]),
    ];
    for (field, owners) in fields {
        for (kind, least) in KINDS {
            let found = read(&format!("{least}\nkind = \"{kind}\"\n{field}"));
            let name = field.split(' ').next().unwrap();
            match found {
                Ok(agent) => assert!(owners.contains(&kind), "{kind} has `{name}`: {agent:?}"),
                Err(why) => {
                    assert!(!owners.contains(&kind), "{kind} has no `{name}`: {why}");
                    assert!(why.contains(&format!("`{name}`")) && !why.contains("unknown field"), "{kind}: {why}");
                }
            }
        }
    }
}

#[test]
fn two_kinds_at_once_are_refused() {
    let cases = [
        ("inbox = true\ncommand = [\"x\"]", "an agent with `inbox` runs nothing: remove `command`"),
        ("inbox = true\ntool = \"codex\"", "an agent with `inbox` runs nothing: remove `tool`"),
        ("inbox = true\nurl = \"https://a.example/\"", "an agent with `inbox` runs nothing: remove `url`"),
        ("url = \"https://a.example/\"\ncli = {}", "`cli` is only for agents that are processes"),
        ("command = [\"x\"]\napi = \"chat\"", "`api` is only for agents with a `url`"),
        ("command = [\"x\"]\nargs = [\"y\"]", "`args` is only for agents with a `tool`"),
        ("tool = \"codex\"\nresult = \"text\"", "`result` is only for agents without a `tool`"),
        ("tool = \"generic\"", "`command` does not name a program"),
        ("inbox = true\nkind = \"script\"", "the other fields describe the kind `inbox`"),
        ("command = [\"x\"]\nkind = \"builtin\"", "built-in agents need no entry"),
    ];
    for (text, words) in cases {
        let why = read(text).unwrap_err();
        assert!(why.contains(words), "{text}: {why}");
    }
}

#[test]
fn what_is_not_said_has_its_usual_value() {
    for (kind, least) in KINDS {
        let agent = read(least).unwrap();
        let terms = &agent.terms;
        assert_eq!((terms.timeout_ms, terms.retry, &terms.confirm), (None, Retry::default(), &Confirm::Each(false)));
        assert_eq!((terms.audit, terms.about.as_str(), terms.labels.len()), (Audit::Full, "", 0));
        assert_eq!((terms.secrets.len(), terms.input_secrets.len()), (0, 0));
        assert_eq!(terms.budget, crate::AgentBudgets::default());
        let expected = match kind {
            "script" => ("agent a", Some(4), false, Some(10 << 20)),
            "cli" => ("openai", Some(4), true, Some(64 << 20)),
            "http" => ("a.example", Some(4), true, Some(10 << 20)),
            _ => ("agent a", None, false, None),
        };
        let found = (terms.provider.as_str(), terms.concurrency, terms.llm, agent.output_bytes_max());
        assert_eq!(found, expected, "{kind}");
        match &agent.kind {
            Kind::Process(process) => {
                assert_eq!(
                    (process.grace_ms, process.confine, process.limits),
                    (5_000, Confine::All, Limits::default())
                );
                assert_eq!((&process.env, &process.set, &process.folder), (&Vec::new(), &BTreeMap::new(), &None));
                assert!(process.writable.is_empty() && !process.opens_root);
            }
            Kind::Http(http) => {
                let times = [http.connect_timeout, http.first_byte_timeout, http.idle_timeout];
                assert_eq!(times.map(|time| time.as_secs()), [10, 300, 120]);
            }
            Kind::Inbox => {}
        }
    }
}

#[test]
fn what_is_said_arrives_where_it_is_used() {
    let agent = read(
        "command = [\"x\", \"y\"]\nresult = \"text\"\ntimeout_ms = 7\nprovider = \"p\"\nllm = true\naudit = \"hashes\"\nconfirm = [\"w\"]\n\
         grace_ms = 1\noutput_bytes_max = 2\nconfine = \"writes\"\nset = { A = \"1\" }\nenv = [\"B\"]\nsecrets = { C = \"c\" }\n\
         input_secrets = [\"d\"]\nabout = \"e\"\nretry = { max_attempts = 3 }\nwritable = [\"/out\"]\nlimits = { processes = 5 }",
    )
    .unwrap();
    let (terms, process) = (&agent.terms, agent.process().unwrap());
    assert_eq!(
        (terms.timeout_ms, terms.provider.as_str(), terms.llm, terms.audit),
        (Some(7), "p", true, Audit::Hashes)
    );
    assert_eq!((&terms.confirm, terms.retry.max_attempts), (&Confirm::Words(vec!["w".to_owned()]), Some(3)));
    assert_eq!((terms.about.as_str(), terms.secrets["C"].as_str(), terms.input_secrets.len()), ("e", "c", 1));
    assert_eq!(process.command, ["x", "y"]);
    assert_eq!((process.grace_ms, process.output_bytes_max, process.confine), (1, 2, Confine::Writes));
    assert_eq!((process.set["A"].as_str(), process.env[0].as_str(), process.writable[0].as_str()), ("1", "B", "/out"));
    assert_eq!((process.limits.processes, &process.protocol), (5, &Protocol::Plain { is_text: true }));
    let agent = read("command = [\"x\"]\ncli = { output = \"json\", text = \"/t\" }\nargs = [\"y\"]\nmodel = \"m\"\noutput_bytes_max = 1").unwrap();
    let setup = agent.tool().unwrap();
    assert_eq!((setup.tool, agent.model(), setup.args.as_slice()), (Tool::Generic, Some("m"), &["y".to_owned()][..]));
    assert_eq!(setup.generic.as_ref().unwrap().text.as_deref(), Some("/t"));
    assert_eq!(
        (agent.process().unwrap().command.as_slice(), agent.output_bytes_max()),
        (&["x".to_owned()][..], Some(64 << 20))
    );
    let agent = read("tool = \"claude\"\ncommand = [\"wrapped\"]").unwrap();
    assert_eq!(
        (agent.process().unwrap().command.as_slice(), agent.terms.provider.as_str()),
        (&["wrapped".to_owned()][..], "anthropic")
    );
}
