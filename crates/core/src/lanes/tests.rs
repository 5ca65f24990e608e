//! The policy in numbers, then the promises under any sequence of calls.

use super::*;
use Priority::{High, Low, Normal};
use proptest::prelude::*;
use std::collections::VecDeque;

/// The namespace of everything here but where turns are told of.
fn nobody() -> Name {
    "default".parse().unwrap()
}

fn filled(max_consecutive_high: u32, counts: [usize; 3]) -> Lanes<usize> {
    let mut lanes = Lanes::new(max_consecutive_high);
    for (priority, count) in Priority::ALL.into_iter().zip(counts) {
        (0..count).for_each(|n| lanes.push(priority, &nobody(), n));
    }
    lanes
}

fn served(lanes: &mut Lanes<usize>, pops: usize) -> Vec<Priority> {
    (0..pops).map_while(|_| lanes.pop()).map(|(priority, _)| priority).collect()
}

fn count(served: &[Priority], priority: Priority) -> usize {
    served.iter().filter(|served| **served == priority).count()
}

/// The longest run of high in `pops` pops, when high and what else is counted here wait all the time.
fn longest_high_run(max_consecutive_high: u32, normal: usize, low: usize) -> (usize, u64) {
    let mut lanes = filled(max_consecutive_high, [1000, normal, low]);
    let served = served(&mut lanes, 240);
    let longest = served.split(|priority| *priority != High).map(<[Priority]>::len).max();
    (longest.unwrap(), lanes.low_starvation_count())
}

#[test]
fn full_lanes_share_eight_three_one_in_every_cycle() {
    let mut lanes = filled(DEFAULT_MAX_CONSECUTIVE_HIGH, [1000, 1000, 1000]);
    let served = served(&mut lanes, 600);
    for window in served.windows(12) {
        assert_eq!(Priority::ALL.map(|priority| count(window, priority)), [8, 3, 1]);
    }
    assert_eq!(served[..12], CYCLE);
    assert_eq!(lanes.low_starvation_count(), 0);
}

#[test]
fn within_each_lane_namespaces_share_by_their_weights_and_lanes_keep_their_own_shares() {
    let mut lanes = Lanes::default();
    let [big, small] = ["big", "small"].map(|text| text.parse::<Name>().unwrap());
    lanes.set_weights(&Weights::from([(small.clone(), 3)]));
    for priority in Priority::ALL {
        for namespace in [&big, &small] {
            (0..1_000).for_each(|_| lanes.push(priority, namespace, namespace.clone()));
        }
    }
    let served: Vec<(Priority, Name)> = (0..480).map_while(|_| lanes.pop()).collect();
    let count = |priority, namespace: &Name| {
        served.iter().filter(|served| (served.0, &served.1) == (priority, namespace)).count()
    };
    for (priority, of_big, of_small) in [(High, 80, 240), (Normal, 30, 90), (Low, 10, 30)] {
        assert_eq!((count(priority, &big), count(priority, &small)), (of_big, of_small), "{priority}");
    }
}

#[test]
fn an_idle_slot_goes_to_the_highest_lane_that_has_something() {
    for (counts, expected) in [
        ([20, 0, 0], [High; 12].to_vec()),
        ([0, 20, 0], [Normal; 12].to_vec()),
        ([0, 0, 20], [Low; 12].to_vec()),
        ([20, 20, 0], vec![High, High, Normal, High, High, Normal, High, High, High, High, High, Normal]),
        ([20, 0, 20], vec![High, High, High, High, High, High, High, High, Low, High, High, High]),
        ([0, 20, 20], [[Normal; 8].as_slice(), &[Low], &[Normal; 3]].concat()),
    ] {
        assert_eq!(served(&mut filled(100, counts), 12), expected, "{counts:?}");
    }
}

#[test]
fn cycle_alone_bounds_the_run_of_high() {
    assert_eq!(longest_high_run(100, 1000, 1000), (2, 0));
    assert_eq!(longest_high_run(100, 1000, 0), (5, 0));
    assert_eq!(longest_high_run(100, 0, 1000), (11, 0));
}

#[test]
fn rule_fires_only_below_the_run_that_the_cycle_lets_pass() {
    for (max, normal, low, fires) in [
        (2, 1000, 1000, false),
        (1, 1000, 1000, true),
        (5, 1000, 0, false),
        (4, 1000, 0, true),
        (11, 0, 1000, false),
        (10, 0, 1000, true),
    ] {
        let (longest, count) = longest_high_run(max, normal, low);
        assert!(longest <= usize::try_from(max).unwrap(), "limit {max}, run {longest}");
        assert_eq!(count > 0, fires, "limit {max}, {normal} normal, {low} low");
    }
}

#[test]
fn rule_prefers_low_and_counts() {
    let mut lanes = filled(1, [10, 10, 10]);
    assert_eq!(served(&mut lanes, 2), [High, Low]);
    assert_eq!(lanes.low_starvation_count(), 1);
    let mut lanes = filled(1, [10, 10, 0]);
    assert_eq!(served(&mut lanes, 2), [High, Normal]);
    assert_eq!(lanes.low_starvation_count(), 1);
}

#[test]
fn high_items_popped_while_nothing_lower_waits_starve_nobody() {
    let mut lanes = filled(3, [1000, 0, 0]);
    assert_eq!(count(&served(&mut lanes, 120), High), 120);
    lanes.push(Low, &nobody(), 0);
    assert_eq!(served(&mut lanes, 4), [High, High, High, Low]);
}

#[test]
fn rule_fires_at_the_default_when_waiting_items_are_swapped_away_before_their_slot() {
    let mut lanes = filled(DEFAULT_MAX_CONSECUTIVE_HIGH, [1000, 0, 0]);
    const LOWER: usize = usize::MAX;
    for pop in 0..100 {
        // Whoever owns the coming slot is never the one that waits.
        lanes.retain(|item| *item != LOWER);
        lanes.push(if CYCLE[pop % 12] == Low { Normal } else { Low }, &nobody(), LOWER);
        assert_eq!(lanes.pop().unwrap().0, High, "pop {pop}");
    }
    assert_eq!((lanes.pop(), lanes.low_starvation_count()), (Some((Low, LOWER)), 1));
}

#[test]
fn limit_of_zero_does_not_starve_high() {
    assert_eq!(Lanes::<u8>::new(0), Lanes::new(1));
    assert_eq!(count(&served(&mut filled(0, [50, 50, 50]), 12), High), 4);
}

#[test]
fn counting_draining_and_putting_back() {
    let mut lanes = filled(100, [1, 2, 3]);
    assert_eq!((lanes.len(), Priority::ALL.map(|priority| lanes.len_of(priority))), (6, [1, 2, 3]));
    lanes.push_front(Normal, &nobody(), 9);
    lanes.retain(|item| *item != 1);
    assert_eq!(lanes.drain(), [(High, 0), (Normal, 9), (Normal, 0), (Low, 0), (Low, 2)]);
    assert!(lanes.is_empty() && lanes.pop().is_none());
    lanes.push(Low, &nobody(), 1);
    lanes.clear();
    assert_eq!(lanes.len(), 0);
}

#[test]
fn empty_pop_consumes_no_slot() {
    let mut lanes = Lanes::default();
    assert_eq!(lanes.pop(), None::<(Priority, u8)>);
    assert_eq!(lanes, Lanes::default());
}

#[test]
fn priorities_have_one_name_and_one_number() {
    for priority in Priority::ALL {
        assert_eq!(priority.to_string().parse(), Ok(priority));
        assert_eq!(Priority::from_u8(priority.as_u8()), Some(priority));
        assert_eq!(serde_json::to_string(&priority).unwrap(), format!("\"{priority}\""));
        assert_eq!(postcard::to_allocvec(&priority).unwrap(), [priority.as_u8()]);
    }
    assert_eq!((Priority::from_u8(3), Priority::default()), (None, Normal));
    let error = "urgent".parse::<Priority>().unwrap_err().to_string();
    assert_eq!(error, "`urgent` is not a priority: use high, normal or low");
    assert!("High".parse::<Priority>().is_err());
}

#[derive(Debug, Clone)]
enum Call {
    Push(Priority),
    Pop,
    /// Takes away the items whose number is a multiple of this.
    Remove(usize),
}

fn any_priority() -> impl Strategy<Value = Priority> {
    prop_oneof![3 => Just(High), 1 => Just(Normal), 1 => Just(Low)]
}

fn any_calls() -> impl Strategy<Value = Vec<Call>> {
    let call = prop_oneof![5 => any_priority().prop_map(Call::Push), 4 => Just(Call::Pop), 1 => (2..9usize).prop_map(Call::Remove)];
    prop::collection::vec(call, 0..300)
}

proptest! {
    #[test]
    fn lanes_are_fifo_and_lose_and_double_nothing(max in 0..15u32, calls in any_calls()) {
        let mut lanes = Lanes::new(max);
        let mut model: [VecDeque<usize>; 3] = Default::default();
        for (number, call) in calls.into_iter().enumerate() {
            match call {
                Call::Push(priority) => {
                    lanes.push(priority, &nobody(), number);
                    model[priority.index()].push_back(number);
                }
                Call::Pop => match lanes.pop() {
                    Some((priority, item)) => prop_assert_eq!(model[priority.index()].pop_front(), Some(item)),
                    None => prop_assert!(model.iter().all(VecDeque::is_empty), "something waits and nothing is served"),
                },
                Call::Remove(of) => {
                    lanes.retain(|item| item % of != 0);
                    model.iter_mut().for_each(|lane| lane.retain(|item| item % of != 0));
                }
            }
            prop_assert_eq!(Priority::ALL.map(|priority| lanes.len_of(priority)), model.each_ref().map(VecDeque::len));
        }
    }

    #[test]
    fn every_item_is_served_within_its_bound(max in 0..15u32, calls in any_calls()) {
        let mut lanes = Lanes::new(max);
        let (mut pops, mut limits) = (0_usize, Vec::new());
        let rest = std::iter::repeat_n(Call::Pop, calls.len());
        for call in calls.into_iter().chain(rest) {
            match call {
                Call::Push(priority) => {
                    let limit = pops + priority.pops_until_served(lanes.len_of(priority));
                    lanes.push(priority, &nobody(), limits.len());
                    limits.push(limit);
                }
                Call::Pop | Call::Remove(_) => if let Some((priority, item)) = lanes.pop() {
                    pops += 1;
                    prop_assert!(pops <= limits[item], "{} item {} at pop {}, due {}", priority, item, pops, limits[item]);
                },
            }
        }
        prop_assert!(lanes.is_empty());
    }

    #[test]
    fn no_run_of_high_exceeds_the_limit_while_something_lower_waits(max in 1..15u32, calls in any_calls()) {
        let mut lanes = Lanes::new(max);
        let mut run = 0;
        for call in calls {
            match call {
                Call::Push(priority) => lanes.push(priority, &nobody(), 0),
                Call::Remove(_) => lanes.retain(|_| false),
                Call::Pop => {
                    let lower_waits = lanes.len_of(Normal) + lanes.len_of(Low) > 0;
                    let high = lanes.pop().is_some_and(|(priority, _)| priority == High);
                    run = if high && lower_waits { run + 1 } else { 0 };
                    prop_assert!(run <= max);
                }
            }
        }
    }
}
