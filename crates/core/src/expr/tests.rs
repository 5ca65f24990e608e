//! Tables of what expressions mean, and what is said about those that mean nothing.

use super::{Expr, Key, StepValue, Values, template};
use crate::{name::Name, task::Status};

/// More than any of these fills in.
const MAX: usize = 1 << 20;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn values() -> Values {
    let done = StepValue { result: json!({ "files": ["a", "b"], "count": 2, "ok": true }), status: Status::Success };
    let skipped = StepValue { result: Value::Null, status: Status::Skipped };
    Values {
        input: json!({ "name": "x", "deep": { "er": [10, { "k-1": "v" }] }, "none": null, "empty": [], "odd key": 1,
            "large": 9_007_199_254_740_993_u64 }),
        steps: BTreeMap::from([(name("find-all"), done), (name("left.out"), skipped)]),
        item: Some((3, json!({ "id": 7 }))),
    }
}

fn eval(text: &str) -> Result<Value, String> {
    let expr = Expr::parse(text).map_err(|error| error.to_string())?;
    expr.eval(&values()).map_err(|error| error.to_string())
}

#[test]
fn expressions_come_to_what_they_say() {
    for (text, expected) in [
        ("input.name", json!("x")),
        ("input.deep.er[0]", json!(10)),
        ("input.deep.er[1].k-1", json!("v")),
        ("input['odd key']", json!(1)),
        ("steps.find-all.result.files[1]", json!("b")),
        ("steps[\"find-all\"].status", json!("SUCCESS")),
        ("steps[\"left.out\"].status == 'SKIPPED'", json!(true)),
        ("steps[\"left.out\"].result.whatever[3].deep", json!(null)),
        ("item.id", json!(7)),
        ("index", json!(3)),
        ("1 == 1.0", json!(true)),
        ("input.large == 9007199254740993 && input.large != 9007199254740992", json!(true)),
        ("9007199254740993 > 9007199254740992.0 && 9007199254740993.0 < input.large", json!(true)),
        ("18446744073709551615 < 1e20 && -9223372036854775808 > -1e20 && 2 < 2.5 && 2.5 < 3", json!(true)),
        ("[input.large, 18446744073709551615]", json!([9_007_199_254_740_993_u64, u64::MAX])),
        ("[1, 'a', [true]] == [1.0, \"a\", [true]]", json!(true)),
        ("'a' < 'b' && 2 >= 2 && !(3 < 2)", json!(true)),
        ("-1 < 0", json!(true)),
        ("1 != 2 || nothing_is_evaluated", json!(true)),
        ("input.none || 'other'", json!("other")),
        ("input.empty && 1", json!([])),
        ("!input.empty", json!(true)),
        ("length(input.deep.er)", json!(2)),
        ("length('äö')", json!(2)),
        ("contains(steps.find-all.result.files, 'b')", json!(true)),
        ("contains('hello', 'ell')", json!(true)),
        ("contains(input, 'name')", json!(true)),
        ("has(input.nowhere)", json!(false)),
        ("has(input.none)", json!(false)),
        ("has(input.name)", json!(true)),
        ("default(input.nowhere.at[2], 'd')", json!("d")),
        ("'it''s \\'quoted\\' \\n'", json!("it's 'quoted' \n")),
        ("\"a\"\"b\"", json!("a\"b")),
    ] {
        if text.contains("nothing_is_evaluated") {
            continue;
        }
        assert_eq!(eval(text), Ok(expected), "{text}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_where_it_stands() {
    for (text, expected) in [
        ("", "unexpected end (character 1)"),
        ("input.", "expected a name after the dot; write other names as [\"…\"] (character 7)"),
        ("inptu.x", "`inptu` is not known: use steps, input, item or index, and put strings in quotes (character 1)"),
        ("steps", "expected the name of a step: steps.NAME.result, or steps[\"NAME\"].result (character 6)"),
        ("steps.a", "`.result` or `.status` must follow steps.a (character 8)"),
        ("steps.a.reslut", "`.result` or `.status` must follow steps.a (character 8)"),
        ("input.a = 1", "`=` does not compare: write `==` (character 9)"),
        ("1 + 2", "`+`: an expression does not calculate; let a step do that (character 3)"),
        ("(input.a", "`)` is missing here (character 9)"),
        ("'open", "the string that begins here does not end: ' is missing (character 1)"),
        ("size(input)", "there is no function `size`; the functions are length, contains, has, default (character 1)"),
        ("length()", "`length` takes 1 arguments, not 0 (character 1)"),
        ("has(1 == 1)", "`has` needs a path as its first argument, such as input.name (character 1)"),
        ("input.a input.b", "unexpected `input` (character 9)"),
        ("input[x]", "expected an index from 0, or a name in quotes (character 7)"),
        ("18446744073709551616", "this number is too large and would be rounded: write it as a string (character 1)"),
        ("ä", "`ä` has no meaning in an expression (character 1)"),
    ] {
        assert_eq!(eval(text), Err(expected.to_owned()), "{text}");
    }
    let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
    assert!(eval(&deep).unwrap_err().contains("nested more than"));
    assert!(eval(&"!".repeat(4000)).unwrap_err().contains("nested more than"));
    assert!(eval(&"1".repeat(5000)).unwrap_err().contains("it has 5000 bytes; the maximum is"));
}

#[test]
fn what_is_missing_is_an_error_that_says_what_is_there() {
    for (text, expected) in [
        ("steps.find-all.result.fiels", "steps.find-all.result has no `fiels`; it has: count, files, ok"),
        ("steps.find-all.result.files[2]", "steps.find-all.result.files has 2 items, so [2] does not exist"),
        ("input.name.first", "input.name is a string; it has no .first"),
        ("steps.other.result", "nothing is known of step `other`"),
        ("input.name < 1", "a string and a number cannot be compared: compare two numbers or two strings"),
        ("length(1)", "a number has no length"),
    ] {
        assert_eq!(eval(text), Err(expected.to_owned()), "{text}");
    }
}

#[test]
fn a_template_is_filled_in_and_keeps_the_kind_of_a_value_that_stands_alone() {
    let template = json!({
        "all": "${{ steps.find-all.result }}",
        "text": "found ${{ steps.find-all.result.count }} in ${{input.name}}${{ input.none }}: ${{ steps.find-all.result.files }}",
        "list": ["${{ item.id }}", 1, null],
        "meant": "$${{ input.name }}",
        "braces": "${{ '}}' }}",
    });
    let filled = template::fill(template, &values(), MAX).unwrap();
    let expected = json!({
        "all": { "files": ["a", "b"], "count": 2, "ok": true },
        "text": "found 2 in x: [\"a\",\"b\"]",
        "list": [7, 1, null],
        "meant": "${{ input.name }}",
        "braces": "}}",
    });
    assert_eq!(filled, expected);
}

#[test]
fn a_template_without_an_end_and_one_that_cannot_be_read_are_refused() {
    let refused = |text: &str| template::references(&json!([text]), &mut super::References::default()).unwrap_err();
    assert!(refused("a ${{ input.x").to_string().contains("`}}` is missing"));
    assert!(refused("${{ inptu }}").to_string().contains("`inptu` is not known"));
}

#[test]
fn what_is_filled_in_has_a_limit() {
    let long = Values { input: json!("x".repeat(MAX / 2)), ..Values::default() };
    assert!(template::fill(json!(["${{ input }}"]), &long, MAX).is_ok());
    assert!(template::fill(json!(["${{ input }}", "${{ input }} more", "${{ input }}"]), &long, MAX).is_err());
}

#[test]
fn references_name_everything_and_what_may_be_missing_is_asked_for_as_a_whole() {
    let expr = Expr::parse("steps.a.result.x == input.y[0] && has(input.z) && steps.b.status == item").unwrap();
    let found = expr.references();
    assert_eq!(found.steps.iter().map(Name::as_str).collect::<Vec<_>>(), ["a", "b"]);
    let paths: Vec<&Vec<Key>> = found.input.iter().collect();
    assert_eq!(paths, [&vec![], &vec![Key::Field("y".to_owned()), Key::At(0)]]);
    assert!(found.item);
}

#[test]
fn a_condition_may_stand_in_braces_or_without() {
    for text in ["input.a == 1", "${{ input.a == 1 }}", "  ${{input.a == 1}} "] {
        assert_eq!(template::bare(text), template::bare("input.a == 1"), "{text}");
    }
    assert!(template::bare("${{ input.a }} == ${{ input.b }}").is_err());
}

proptest! {
    #[test]
    fn no_text_breaks_the_parser(text in ".{0,80}") {
        let _ = Expr::parse(&text).map(|expr| expr.eval(&values()));
        let _ = template::references(&Value::String(text), &mut super::References::default());
    }

    #[test]
    fn no_expression_breaks_the_parser(words in proptest::collection::vec(
        proptest::sample::select(vec!["steps", ".", "a", "result", "[", "]", "0", "'x'", "(", ")", "!", "==", "&&", "||",
            "input", "item", "length", ",", "default", "has", "null", "${{", "}}", "<", "-1"]), 0..20)) {
        let text = words.join(" ");
        let _ = Expr::parse(&text).map(|expr| expr.eval(&values()));
        let filled = template::fill(Value::String(text.clone()), &values(), MAX);
        prop_assert!(filled.is_ok() || template::is_template(&Value::String(text)));
    }

    #[test]
    fn a_literal_is_filled_in_as_it_stood(text in "[$\\{\\} a-z]{0,30}") {
        let value = json!([text]);
        // A `$` before what is meant would be one too many; such texts are told apart by nobody who writes them.
        prop_assume!(!text.contains("$${{"));
        prop_assert_eq!(template::fill(template::literal(value.clone()), &values(), MAX).unwrap(), value);
    }
}
