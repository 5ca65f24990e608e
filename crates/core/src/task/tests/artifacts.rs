//! L11: what a step leaves behind besides its result.

use super::world::{LEASE_MS, Say, World, name, result, step};
use crate::{
    content::{ContentRef, Media},
    op::{CancelMode, ExpireReason, Hold},
    task::{
        Body, Refusal, Status,
        artifact::{ABOUT_BYTES_MAX, ABOUT_PAIRS_MAX, ARTIFACTS_MAX, Error},
    },
};

fn body(held: Hold<u16>, kind: &str, called: &str, about: &[(&str, &str)]) -> Body {
    let about = about.iter().map(|(word, value)| (name(word), (*value).to_owned())).collect();
    Body::RecordArtifact { held, kind: name(kind), name: name(called), content: result(9), about }
}

fn record(world: &mut World, held: Hold<u16>, called: &str) -> Result<(), Refusal> {
    world.say(body(held, "file", called, &[("path", "out/a.txt"), ("size", "7")]))
}

fn listed(world: &World) -> Vec<(u32, String)> {
    world.step(0).output_artifacts.iter().map(|a| (a.epoch, a.name.to_string())).collect()
}

#[test]
fn an_artifact_is_listed_with_all_that_was_said_about_it() {
    let mut world = World::new([step("a"), step("b").after(&[0])]);
    let held = world.take(0);
    record(&mut world, held, "report").unwrap();
    assert_eq!((world.status(0), world.effects.len()), (Status::Running, 0), "it moves nothing");
    let artifact = &world.step(0).output_artifacts[0];
    assert_eq!((artifact.kind.as_str(), artifact.name.as_str(), artifact.content), ("file", "report", result(9)));
    assert_eq!(artifact.about, [(name("path"), "out/a.txt".to_owned()), (name("size"), "7".to_owned())]);
    assert!(artifact.pos > 0, "where its content lies");
    world.complete(held).unwrap();
    assert_eq!(listed(&world), [(1, "report".to_owned())], "the list outlives the run");
}

#[test]
fn only_the_holder_records() {
    let mut world = World::new([step("a")]);
    let old = world.take(0);
    world.wait(2 * LEASE_MS);
    world.expire(old, ExpireReason::DeadlinePassed).unwrap();
    assert!(matches!(record(&mut world, old, "late"), Err(Refusal::Fenced { found: Status::Retrying, .. })));
    world.wait(1000);
    let new = world.take(0);
    assert!(matches!(record(&mut world, old, "late"), Err(Refusal::Fenced { epoch: 2, given: 1, .. })));
    record(&mut world, new, "mine").unwrap();
    world.complete(new).unwrap();
    assert!(matches!(record(&mut world, new, "after"), Err(Refusal::Fenced { found: Status::Success, .. })));
    assert_eq!(listed(&world), [(2, "mine".to_owned())]);
}

#[test]
fn a_name_is_used_once_in_an_attempt_and_attempts_share_the_list() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    record(&mut world, held, "report").unwrap();
    let again = Error::Exists { step: name("a"), name: name("report"), found: result(9) };
    assert_eq!(record(&mut world, held, "report"), Err(Refusal::Artifact(again)));
    world.fail(held, true).unwrap();
    world.wait(1000);
    let held = world.take(0);
    record(&mut world, held, "report").unwrap();
    assert_eq!(listed(&world), [(1, "report".to_owned()), (2, "report".to_owned())]);
}

#[test]
fn a_step_that_starts_over_starts_with_an_empty_list() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    record(&mut world, held, "report").unwrap();
    world.cancel(CancelMode::Hard).unwrap();
    assert_eq!(listed(&world).len(), 1);
    world.redrive().unwrap();
    assert_eq!(listed(&world), []);
}

#[test]
fn a_list_that_is_full_takes_no_more() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    for number in 0..ARTIFACTS_MAX {
        record(&mut world, held, &format!("n{number}")).unwrap();
    }
    let full = Error::TooMany { step: name("a") };
    assert_eq!(record(&mut world, held, "one-more"), Err(Refusal::Artifact(full)));
    world.complete(held).unwrap();
}

#[test]
fn what_is_said_about_an_artifact_is_short_and_in_order() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    let mut say = |about: &[(&str, &str)]| world.say(body(held, "file", "x", about));
    for about in [&[("b", ""), ("a", "")][..], &[("a", "1"), ("a", "2")]] {
        assert_eq!(say(about), Err(Refusal::Artifact(Error::AboutOrder { word: name("a") })));
    }
    let words: Vec<String> = (0..=ABOUT_PAIRS_MAX).map(|n| format!("w{n:02}")).collect();
    let many: Vec<(&str, &str)> = words.iter().map(|word| (word.as_str(), "")).collect();
    let expected = Error::AboutTooLong { pairs: ABOUT_PAIRS_MAX + 1, bytes: 3 * (ABOUT_PAIRS_MAX + 1) };
    assert_eq!(say(&many), Err(Refusal::Artifact(expected)));
    let long = "x".repeat(ABOUT_BYTES_MAX);
    let expected = Error::AboutTooLong { pairs: 1, bytes: ABOUT_BYTES_MAX + 1 };
    assert_eq!(say(&[("a", &long)]), Err(Refusal::Artifact(expected)));
    say(&many[1..]).unwrap();
}

#[test]
fn an_inference_is_json() {
    let mut world = World::new([step("a")]);
    let held = world.take(0);
    let with = |media| {
        let content = ContentRef::of(media, b"{}");
        Body::RecordArtifact { held, kind: name("inference"), name: name("call"), content, about: Vec::new() }
    };
    let expected = Refusal::Artifact(Error::NotJson { found: Media::Text });
    assert_eq!(world.say(with(Media::Text)), Err(expected));
    world.say(with(Media::Json)).unwrap();
}
