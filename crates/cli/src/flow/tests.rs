use super::*;
use std::fmt::Write as _;

fn bad_yaml(text: &str) -> Error {
    yaml::parse(text).unwrap_err()
}

fn at(error: &Error) -> (usize, usize) {
    let place = error.place.as_ref().unwrap_or_else(|| panic!("no place: {error:?}"));
    (place.line, place.column)
}

#[test]
fn a_flow_is_the_same_in_both_languages() {
    let yaml = "name: n\nsteps:\n  - id: a\n    agent: echo\n    input: {text: no, n: 3}\n  - {id: b, agent: hash, depends_on: [a]}\n";
    let json = r#"{"name":"n","steps":[{"id":"a","agent":"echo","input":{"text":"no","n":3}},
        {"id":"b","agent":"hash","depends_on":["a"]}]}"#;
    assert_eq!(yaml::parse(yaml).unwrap(), json::parse(json).unwrap());
}

#[test]
fn an_unknown_field_is_shown_with_what_was_meant() {
    let error = bad_yaml("name: n\nsteps:\n  - id: a\n    agnet: echo\n");
    assert_eq!(error.message, "unknown field `agnet`");
    assert_eq!(at(&error), (4, 5));
    assert_eq!(error.hints[0], "did you mean `agent`?");
    let error = json::parse("{\"name\":\"n\",\n\"steps\":[{\"id\":\"a\",\"agnet\":\"echo\"}]}").unwrap_err();
    assert_eq!((error.message.as_str(), at(&error).0), ("unknown field `agnet`", 2));
    assert_eq!(error.hints[0], "did you mean `agent`?");
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let error = bad_yaml("name: n\nname: m\nsteps: []\n");
    assert!(error.message.contains("`name` occurs twice"), "{error}");
    assert_eq!(at(&error).0, 2);
    assert!(
        bad_yaml("name: n\nsteps:\n  - {id: a, agent: echo, input: {x: 1, x: 2}}\n")
            .message
            .contains("`x` occurs twice")
    );
    let error = json::parse("{\"name\":\"n\",\n\"name\":\"m\",\"steps\":[]}").unwrap_err();
    assert!(error.message.contains("`name` occurs twice"), "{error}");
    assert_eq!(at(&error).0, 2);
}

/// A number and a text are two keys in YAML, and one in everything that the input becomes.
#[test]
fn two_keys_that_become_one_are_refused() {
    let error = bad_yaml("name: n\nsteps:\n  - {id: a, agent: echo, input: {1: x, \"1\": y}}\n");
    assert!(error.message.contains("`1` occurs twice"), "{error}");
}

#[test]
fn an_alias_bomb_is_refused_soon() {
    let mut text = "name: n\nsteps:\n- id: a\n  agent: echo\n  input:\n    a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for n in 1..9 {
        let _ = writeln!(text, "    a{n}: &a{n} [{}]", vec![format!("*a{}", n - 1); 10].join(","));
    }
    let error = bad_yaml(&text);
    assert_eq!(error.code, Code::BadFlow, "{error}");
}

#[test]
fn an_integer_that_others_would_round_is_refused() {
    let steps = |input: &str| format!("name: n\nsteps:\n  - {{id: a, agent: echo, input: {input}}}\n");
    for fine in ["9007199254740993", "18446744073709551615", "-9223372036854775808"] {
        let request = yaml::parse(&steps(fine)).unwrap();
        let prepared = request.prepare(&"default".parse().unwrap(), None, 1).unwrap();
        assert_eq!(prepared.inputs, [(0, fine.as_bytes().to_vec())], "it is carried as it is");
    }
    for digits in [
        "18446744073709551616",
        "-9223372036854775809",
        "99999999999999999999999",
        "-1000000000000000000000001",
        "+1000000000000000000000",
    ] {
        let error = bad_yaml(&format!("name: n\nsteps:\n  - {{id: a, agent: echo, input: [{digits}]}}\n"));
        assert!(error.message.contains(digits) && error.message.contains("would be rounded"), "{error}");
        assert_eq!(at(&error), (3, 34));
    }
    for fine in ["1e23", "99999999999999999999999.0", "'99999999999999999999999'", "[1e22, '99999999999999999999999']"]
    {
        yaml::parse(&format!("name: n\nsteps:\n  - {{id: a, agent: echo, input: {fine}}}\n")).unwrap();
    }
    let json = r#"{"name":"n","steps":[{"id":"a","agent":"echo","input":18446744073709551616}]}"#;
    assert!(json::parse(json).unwrap_err().message.contains("would be rounded"));
}

#[test]
fn rubbish_never_panics_and_always_has_a_place() {
    for text in ["", "[", "name: [", "a: b: c", "\t", "name: n\nsteps: 3\n", "--- \n---\n", "name: ''\nsteps: []"] {
        let error = bad_yaml(text);
        assert_eq!(error.code, Code::BadFlow, "{text:?}: {error}");
    }
    assert!(bad_yaml("name: n\nsteps:\n  - id: a\n   agent: echo\n").place.is_some());
    assert!(json::parse("{").unwrap_err().place.is_some());
}

#[test]
fn the_line_that_names_the_agent_is_found() {
    let text = "steps:\n  - id: a\n    agent: echo\n  - {id: b, agent: \"ehco\"}\n";
    let step =
        StepRequest { agent: "ehco".parse().unwrap(), ..Request::single("b".parse().unwrap(), None).steps.remove(0) };
    let place = agent_place(text, "f", &step).unwrap();
    assert_eq!((place.line, place.column), (4, 21));
}

#[test]
fn a_long_file_makes_no_long_error() {
    let long = "x".repeat(100_000);
    let step = |field: &str| format!(r#"{{"name":"n","steps":[{{"id":"a",{field}}}]}}"#);
    let texts = [
        step(&format!(r#""agent":"echo","{long}":1"#)),
        step(&format!(r#""agent":"echo","`{long}`, expected `y":1"#)),
        step(&format!(r#""agent":"echo","priority":"{long}""#)),
        step(&format!(r#""agent":"echo","timeout_ms":"{long}""#)),
        step(&format!(r#""agent":"echo","input":{{"{long}":1,"{long}":2}}"#)),
        step(&format!(r#""agent":"ehco","input":"{long}""#)),
        format!("{long}: {long}\n{long}"),
        format!("name: n\nsteps: [{{id: a, agent: !!int {long}}}]"),
    ];
    for (text, is_json) in texts.iter().flat_map(|text| [(text, true), (text, false)]) {
        let error = parse(text.clone(), "f".to_owned(), is_json, Some(&Agents::default())).unwrap_err();
        assert!(crate::error::to_text(&error).len() < 2_000, "{}", &crate::error::to_text(&error)[..300]);
        assert!(error.to_json().to_string().len() < 2_000);
    }
}

/// The place of a number stands in the text of an error, and a key may read like another place.
#[test]
fn a_key_that_looks_like_a_place_is_none() {
    let text = r#"{"name":"n","steps":[{"id":"a","agent":"echo","timeout_ms":9007199254740993,"input":{"line 1 column 99999999999999":18446744073709551616}}]}"#;
    let error = json::parse(text).unwrap_err();
    assert_eq!(at(&error), (1, 117), "where the number stands");
    assert!(crate::error::to_text(&error).contains("18446744073709551616"));
}
