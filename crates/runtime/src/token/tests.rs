use super::*;
use relaymesh_core::{
    hlc::Hlc,
    id::{LeaseToken, NodeId, OpId, StepId, TaskId, WorkerId},
    kernel::apply_task,
    name::Name,
    op::{Header, Hold, Op, Scope as OpScope, WriteClass},
    task::{self, TaskRows, request::Request},
};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[test]
fn both_tokens_are_good_while_one_is_changed_for_the_other_and_neither_is_kept() {
    let root = tempfile::tempdir().unwrap();
    let mut tokens = Pair::read(root.path()).unwrap();
    assert!(!tokens.allows("", 0) && !tokens.allows(PREFIX, 0), "without a token nobody may register");
    let first = tokens.rotate([1; 32], 1_000, 0);
    assert!(tokens.allows(&first, u64::MAX) && !tokens.allows(&first[1..], 0));
    let second = tokens.rotate([2; 32], 1_000, 5_000);
    assert!(tokens.allows(&first, 5_999) && !tokens.allows(&first, 6_000) && tokens.allows(&second, 6_000));
    tokens.write(root.path()).unwrap();
    let text = std::fs::read_to_string(root.path().join(FILE)).unwrap();
    assert!(!text.contains(&second[PREFIX.len()..]), "{text}");
    let again = Pair::read(root.path()).unwrap();
    assert_eq!(again, tokens);
    let third = tokens.rotate([3; 32], 0, 7_000);
    assert!(!tokens.allows(&second, 7_000) && tokens.allows(&third, 7_000), "no overlap, no second one");
    assert!(!Pair::default().allows(&third, 0));
}

#[test]
fn a_scope_suffices_for_itself_and_for_less_and_an_agent_for_agents_alone() {
    use Scope::{Admin, Agent, Ro, Rw};
    let table = [
        (Ro, &[Ro][..], true),
        (Ro, &[Rw], false),
        (Rw, &[Ro], true),
        (Rw, &[Admin], false),
        (Admin, &[Rw], true),
        (Admin, &[Agent], false),
        (Admin, &[Rw, Agent], true),
        (Agent, &[Ro], false),
        (Agent, &[Rw, Agent], true),
        (Admin, &[], false),
    ];
    for (have, wanted, expected) in table {
        assert_eq!(have.suffices(wanted), expected, "{have} where {wanted:?} is wanted");
    }
    for scope in Scope::ALL {
        assert_eq!(scope.as_str().parse(), Ok(scope));
    }
}

#[test]
fn named_tokens_are_found_rotated_and_revoked_and_the_file_holds_none_of_them() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(Tokens::read(root.path()).unwrap(), None);
    let grant = Grant { scope: Scope::Rw, namespaces: Some(vec![name("team-a")]), agent: None };
    let made = |tokens: &mut Tokens| tokens.create(name("ci"), grant.clone(), Some(10_000), [7; 32], 0);
    let token = Tokens::change(root.path(), made).unwrap().unwrap();
    assert_eq!(Tokens::change(root.path(), made).unwrap(), None, "a name is given once");
    let text = std::fs::read_to_string(root.path().join(NAMED_FILE)).unwrap();
    assert!(!text.contains(&token[5..]), "{text}");
    let mut tokens = Tokens::read(root.path()).unwrap().unwrap();
    let found = tokens.find(&token, 9_999).unwrap();
    assert_eq!((found.name, &found.grant), (name("ci"), &grant));
    assert!(grant.admits(&name("team-a")) && !grant.admits(&name("default")));
    assert_eq!(tokens.find(&token, 10_000), None, "its time is over");
    assert_eq!(tokens.find("", 0), None);
    let second = tokens.rotate(&name("ci"), [8; 32], 100, 1_000).unwrap();
    assert!(tokens.find(&token, 1_099).is_some() && tokens.find(&token, 1_100).is_none());
    assert!(tokens.find(&second, 1_100).is_some());
    assert_eq!(tokens.rotate(&name("nobody"), [8; 32], 100, 0), None);
    assert!(tokens.revoke(&name("ci")) && !tokens.revoke(&name("ci")));
    assert_eq!(tokens.find(&second, 1_100), None);
}

#[test]
fn the_first_token_is_made_once_and_only_its_owner_reads_it() {
    let root = tempfile::tempdir().unwrap();
    assert!(Tokens::make_first(root.path(), [1; 32], 5).unwrap());
    assert!(!Tokens::make_first(root.path(), [2; 32], 5).unwrap(), "there is one already");
    let token = std::fs::read_to_string(root.path().join(FIRST_FILE)).unwrap();
    let found = Tokens::read(root.path()).unwrap().unwrap().find(token.trim(), 6).unwrap();
    assert_eq!((found.name, found.grant.scope), (name(FIRST_NAME), Scope::Rw));
    for file in [FIRST_FILE, NAMED_FILE] {
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(root.path().join(file)).unwrap());
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    Tokens::change(root.path(), |tokens| tokens.revoke(&name(FIRST_NAME))).unwrap();
    assert!(!Tokens::make_first(root.path(), [3; 32], 7).unwrap(), "what was revoked does not come back");
}

#[test]
fn a_start_that_was_killed_between_the_two_files_is_made_good_by_the_next() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    assert!(Tokens::make_first(root.path(), [1; 32], 5).unwrap());
    let whole = std::fs::read_to_string(path(FIRST_FILE)).unwrap();
    // Killed before each of the two renames.
    for left in [&[][..], &[FIRST_FILE]] {
        for name in [FIRST_FILE, NAMED_FILE] {
            if !left.contains(&name) {
                std::fs::remove_file(path(name)).unwrap();
            }
            std::fs::write(path(&format!("{name}.new")), "half").unwrap();
        }
        assert!(Tokens::make_first(root.path(), [2; 32], 6).unwrap(), "{left:?}");
        let token = std::fs::read_to_string(path(FIRST_FILE)).unwrap();
        assert_ne!(token, whole);
        assert!(Tokens::read(root.path()).unwrap().unwrap().find(token.trim(), 6).is_some(), "{left:?}");
    }
}

#[test]
fn a_changed_byte_of_a_file_of_tokens_opens_nothing() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(NAMED_FILE);
    let grant = Grant { scope: Scope::Ro, namespaces: Some(vec![name("team-a")]), agent: Some(name("coder")) };
    let make = |tokens: &mut Tokens| tokens.create(name("ci"), grant.clone(), Some(10_000), [7; 32], 0);
    Tokens::change(root.path(), make).unwrap();
    let (good, bytes) = (Tokens::read(root.path()).unwrap(), std::fs::read(&path).unwrap());
    for at in 0..bytes.len() {
        for flip in [1_u8, 2, 4, 32, 64] {
            let mut bytes = bytes.clone();
            bytes[at] ^= flip;
            std::fs::write(&path, &bytes).unwrap();
            // A space may become another one.
            assert!(Tokens::read(root.path()).is_err() || Tokens::read(root.path()).unwrap() == good, "byte {at}");
        }
    }
    for text in ["", " \n", "{}", "[]", "{\"tokens\": {}, \"sun\": \"\"}", "{\"tokens\": {}, \"sum\": 7}"] {
        std::fs::write(&path, text).unwrap();
        let error = Tokens::read(root.path()).unwrap_err();
        assert!(Tokens::change(root.path(), |_| ()).is_err() && Tokens::seal(root.path()).is_err(), "{text}: {error}");
    }
    std::fs::remove_file(&path).unwrap();
    let mut pair = Pair::default();
    pair.rotate([1; 32], 0, 5);
    pair.write(root.path()).unwrap();
    let path = root.path().join(FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("\"until_ms\": null", "\"until_ms\": 7000", 1)).unwrap();
    assert!(Pair::read(root.path()).is_err());
}

#[test]
fn files_of_older_versions_are_read_and_get_their_checksum() {
    let root = tempfile::tempdir().unwrap();
    Tokens::seal(root.path()).and_then(|()| Pair::seal(root.path())).unwrap();
    assert!(!root.path().join(NAMED_FILE).exists() && !root.path().join(FILE).exists());
    let mut tokens = Tokens::default();
    let grant = Grant { scope: Scope::Ro, namespaces: None, agent: None };
    tokens.create(name("ci"), grant, None, [7; 32], 0).unwrap();
    let mut pair = Pair::default();
    pair.rotate([1; 32], 0, 5);
    std::fs::write(root.path().join(NAMED_FILE), serde_json::to_vec_pretty(&tokens).unwrap()).unwrap();
    std::fs::write(root.path().join(FILE), serde_json::to_vec(&pair).unwrap()).unwrap();
    Tokens::seal(root.path()).and_then(|()| Pair::seal(root.path())).unwrap();
    assert_eq!((Tokens::read(root.path()).unwrap(), Pair::read(root.path()).unwrap()), (Some(tokens), pair));
    for name in [NAMED_FILE, FILE] {
        assert!(std::fs::read_to_string(root.path().join(name)).unwrap().contains("\"sum\""), "{name}");
    }
}

type Rows = Option<TaskRows>;

/// A task of one step that runs for the first time, and what its attempt shows.
fn running() -> (Rows, Hold<u16>, impl FnMut(&mut Rows, task::Body)) {
    let (node, task) = (NodeId::new(1, 1), TaskId::new(1, 2));
    let mut seq = 0;
    let mut say = move |rows: &mut Option<TaskRows>, body: task::Body| {
        seq += 1;
        let header = Header {
            op_id: OpId::new(seq, 1),
            origin: node,
            origin_epoch: 1,
            seq,
            hlc: Hlc { wall_ms: seq, logical: 0, node },
            author: name("ann"),
            source: name("test"),
            namespace: name("team-a"),
            scope: OpScope::Task(task),
            write_class: WriteClass::Strong,
            causal_deps: Vec::new(),
            via: None,
        };
        apply_task(rows, &Op { pos: seq, header, body: body.into() }, &mut Vec::new()).unwrap();
    };
    let mut rows = None;
    let prepared = Request::single(name("echo"), None).prepare(&name("team-a"), None, 1).unwrap();
    say(&mut rows, task::Body::ScheduleJob { schedule: prepared.schedule });
    let token = LeaseToken::new(1, 3);
    let claim = |seen| task::Body::ClaimWork {
        step: 0,
        owner: node,
        worker: WorkerId::new(1, 4),
        token,
        lease_ms: 1_000,
        seen,
    };
    say(&mut rows, claim(Hlc { wall_ms: 1, logical: 0, node }));
    (rows, Hold { step: 0, epoch: 1, token }, say)
}

#[test]
fn a_token_of_an_attempt_is_good_for_that_attempt_and_dies_with_it() {
    let (mut rows, held, mut say) = running();
    let task = rows.as_ref().unwrap().task.id;
    let bound = Bound { step: StepId { task, index: 0 }, epoch: 1, namespace: name("team-a"), agent: name("echo") };
    let mut attempts = AttemptTokens::default();
    let token = attempts.issue(bound.clone(), [9; 32]);
    assert_eq!(attempts.find(&token), Some(&bound));
    assert_eq!(attempts.find("rmx_"), None);
    let live = rows.clone().unwrap();
    assert!(bound.is_live(&live));
    let others = [
        Bound { epoch: 2, ..bound.clone() },
        Bound { step: StepId { task, index: 1 }, ..bound.clone() },
        Bound { step: StepId { task: TaskId::new(9, 9), index: 0 }, ..bound.clone() },
        Bound { namespace: name("default"), ..bound.clone() },
        Bound { agent: name("fail"), ..bound.clone() },
    ];
    for other in others {
        assert!(!other.is_live(&live), "{other:?}");
    }
    say(&mut rows, task::Body::YieldWork { held, reason: "given back".to_owned() });
    assert!(!bound.is_live(rows.as_ref().unwrap()), "the attempt is over");
    attempts.forget(&token);
    assert_eq!(attempts.find(&token), None);
}
