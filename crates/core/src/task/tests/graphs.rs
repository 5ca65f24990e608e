//! R3: graphs run in the order of their dependencies, and what is no graph is refused.

use super::world::{Say, World, name, step};
use crate::task::{
    Refusal, Status, TaskRows,
    graph::{Error, STEPS_MAX, check},
    spec::StepSpec,
};

/// Steps that can be taken together, wave by wave.
type Waves = Vec<Vec<u16>>;

/// Runs whatever can be run, one step at a time, and gives the waves of steps that could be taken together.
fn waves(steps: Vec<StepSpec>) -> (Waves, TaskRows) {
    let mut world = World::new(steps);
    let mut waves = Vec::new();
    while !world.ended().is_terminal() {
        let wave = world.claimable();
        wave.iter().for_each(|index| world.run(*index));
        waves.push(wave);
    }
    (waves, world.rows.unwrap())
}

fn error(steps: &[StepSpec]) -> Error {
    let error = check(steps).unwrap_err();
    let refused = World::try_new(steps).err();
    assert_eq!(refused, Some(Refusal::Graph(error.clone())), "the op is refused for the same reason");
    error
}

#[test]
fn every_shape_runs_to_success_in_order_of_dependencies() {
    let shapes: [(&str, Vec<StepSpec>, Waves); 6] = [
        ("single", vec![step("a")], vec![vec![0]]),
        ("chain", vec![step("a"), step("b").after(&[0]), step("c").after(&[1])], vec![vec![0], vec![1], vec![2]]),
        (
            "chain backwards",
            vec![step("c").after(&[1]), step("b").after(&[2]), step("a")],
            vec![vec![2], vec![1], vec![0]],
        ),
        ("fan-out", vec![step("a"), step("b").after(&[0]), step("c").after(&[0])], vec![vec![0], vec![1, 2]]),
        ("fan-in", vec![step("a"), step("b"), step("c").after(&[0, 1])], vec![vec![0, 1], vec![2]]),
        (
            "diamond",
            vec![step("a"), step("b").after(&[0]), step("c").after(&[0]), step("d").after(&[1, 2])],
            vec![vec![0], vec![1, 2], vec![3]],
        ),
    ];
    for (shape, steps, expected) in shapes {
        let (found, rows) = waves(steps);
        assert_eq!(found, expected, "{shape}");
        assert_eq!(rows.task.status, Status::Success, "{shape}");
        assert!(rows.steps.iter().all(|step| step.status == Status::Success), "{shape}");
    }
}

#[test]
fn a_step_cannot_be_claimed_before_all_its_dependencies_succeeded() {
    let mut world = World::new([step("a"), step("b"), step("c").after(&[0, 1])]);
    world.run(1);
    assert_eq!(world.claim(2), Err(Refusal::NotReady { name: name("c") }));
    world.run(0);
    world.run(2);
    assert_eq!(world.ended(), Status::Success);
}

#[test]
fn unused_compensations_do_not_hold_up_success() {
    let (_, rows) = waves(vec![step("a"), step("b").after(&[0]), step("undo-a").undoes(0)]);
    assert_eq!(rows.task.status, Status::Success);
    assert_eq!(rows.steps[2].status, Status::Skipped);
}

#[test]
fn a_cycle_is_refused_with_the_names_on_it() {
    let steps = [
        step("start"),
        step("a").after(&[0, 3]),
        step("b").after(&[1]),
        step("c").after(&[2]),
        step("end").after(&[3]),
    ];
    let error = error(&steps);
    let Error::Cycle { circle } = &error else { panic!("{error}") };
    assert_eq!(circle.len(), 4);
    assert_eq!(circle.first(), circle.last());
    // Each one on the circle is waited for by the next one.
    let text = error.to_string();
    let round = ["a → b → c → a", "b → c → a → b", "c → a → b → c"];
    assert!(round.iter().any(|round| text.ends_with(round)), "{text}");
}

#[test]
fn a_step_that_waits_for_itself_is_refused() {
    for steps in [vec![step("a").after(&[0])], vec![step("z"), step("a").after(&[0, 1])]] {
        assert!(error(&steps).to_string().ends_with("in a circle: a → a"));
    }
}

#[test]
fn a_long_circle_is_told_in_few_words() {
    let last = u16::try_from(STEPS_MAX).unwrap() - 1;
    let before = |index: u16| if index == 0 { last } else { index - 1 };
    let long = |index: u16| format!("{index:064}");
    let steps: Vec<StepSpec> = (0..=last).map(|index| step(&long(index)).after(&[before(index)])).collect();
    let error = check(&steps).unwrap_err();
    assert!(matches!(&error, Error::Cycle { circle } if circle.len() == STEPS_MAX + 1), "the whole circle is kept");
    let said = error.to_string();
    assert!(said.len() < 1_500 && said.contains("… 1009 more …"), "{said}");
}

#[test]
fn dependencies_that_do_not_exist_are_refused() {
    for steps in
        [vec![step("a").after(&[1])], vec![step("b"), step("a").after(&[7])], vec![step("b"), step("a").undoes(2)]]
    {
        assert!(matches!(error(&steps), Error::Unknown { name, .. } if name.as_str() == "a"));
    }
}

#[test]
fn two_steps_of_one_name_are_refused() {
    assert_eq!(error(&[step("a"), step("b"), step("a")]), Error::Duplicate { name: name("a") });
}

#[test]
fn nothing_and_too_much_are_refused() {
    let many = |count: usize| (0..count).map(|n| step(&format!("s{n}"))).collect::<Vec<_>>();
    assert_eq!(error(&[]), Error::Empty);
    assert_eq!(check(&many(STEPS_MAX)), Ok(()));
    assert_eq!(error(&many(STEPS_MAX + 1)), Error::TooMany { found: STEPS_MAX + 1 });
}

#[test]
fn a_step_without_attempts_is_refused() {
    assert_eq!(error(&[step("a").attempts(0)]), Error::NoAttempt { name: name("a") });
    assert_eq!(error(&[step("b"), step("a").attempts(0)]), Error::NoAttempt { name: name("a") });
}

#[test]
fn misused_compensations_are_refused() {
    let misuses: [(&str, Vec<StepSpec>); 7] = [
        ("alone", vec![step("u").undoes(0)]),
        ("of itself", vec![step("a"), step("u").undoes(1)]),
        ("of a compensation", vec![step("a"), step("v").undoes(0), step("u").undoes(1)]),
        ("with a dependency", vec![step("a"), step("u").undoes(0).after(&[0])]),
        ("with an approval", vec![step("a"), step("u").undoes(0).asks("ok?", None)]),
        ("of a step that has one", vec![step("a"), step("v").undoes(0), step("u").undoes(0)]),
        ("depended on", vec![step("a"), step("v").undoes(0), step("u").after(&[1])]),
    ];
    for (misuse, steps) in misuses {
        assert_eq!(error(&steps), Error::Compensation { name: name("u") }, "{misuse}");
    }
}

#[test]
fn a_refused_submit_leaves_no_task_and_a_second_submit_changes_nothing() {
    let mut world = World::new([step("a")]);
    let schedule = crate::task::spec::Schedule {
        name: name("other"),
        key: crate::task::spec::IdempotencyKey::Given(name("other").into()),
        fingerprint: crate::hash::Hash::default(),
        trace_id: 0,
        input: None,
        steps: vec![step("a")],
    };
    assert_eq!(world.say(crate::task::Body::ScheduleJob { schedule }), Err(Refusal::TaskExists));
    world.rows = None;
    assert_eq!(world.cancel(crate::op::CancelMode::Hard), Err(Refusal::NoTask));
}
