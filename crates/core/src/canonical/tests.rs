//! The vectors of RFC 8785, then the refusals, then what holds for any value and any bytes.

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

/// RFC 8785, appendix B: a double by its bits, and how it is written.
const NUMBERS: [(u64, &str); 24] = [
    (0x0000_0000_0000_0000, "0"),
    (0x8000_0000_0000_0000, "0"),
    (0x0000_0000_0000_0001, "5e-324"),
    (0x8000_0000_0000_0001, "-5e-324"),
    (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
    (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
    (0x4340_0000_0000_0000, "9007199254740992"),
    (0xc340_0000_0000_0000, "-9007199254740992"),
    (0x4430_0000_0000_0000, "295147905179352830000"),
    (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
    (0x44b5_2d02_c7e1_4af6, "1e+23"),
    (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
    (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
    (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
    (0x444b_1ae4_d6e2_ef50, "1e+21"),
    (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
    (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
    (0x41b3_de43_5555_5553, "333333333.3333332"),
    (0x41b3_de43_5555_5554, "333333333.33333325"),
    (0x41b3_de43_5555_5555, "333333333.3333333"),
    (0x41b3_de43_5555_5556, "333333333.3333334"),
    (0x41b3_de43_5555_5557, "333333333.33333343"),
    (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
    (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
];

#[test]
fn numbers_are_written_as_in_the_rfc_and_checked_by_how_they_are_written() {
    for (bits, expected) in NUMBERS {
        let value = Value::from(f64::from_bits(bits));
        assert_eq!(text(encode(&value).unwrap()), expected, "{bits:016x}");
        let plain_digits = expected.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
        let rounded = plain_digits && expected.len() >= 16;
        assert_eq!(to_vec(&value).is_err(), rounded, "{expected}");
        let fits = expected.parse::<i64>().is_ok() || expected.parse::<u64>().is_ok();
        assert_eq!(parse(expected.as_bytes()).is_err(), plain_digits && !fits, "{expected}");
    }
}

#[test]
fn sample_object_of_the_rfc() {
    let sample = br#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let numbers = "[333333333.3333333,1e+30,4.5,0.002,1e-27]";
    let string = r#""€$\u000f\nA'B\"\\\\\"/""#;
    let expected = format!(r#"{{"literals":[null,true,false],"numbers":{numbers},"string":{string}}}"#);
    assert_eq!(text(to_vec(&parse(sample).unwrap()).unwrap()), expected);
}

#[test]
fn keys_sort_by_utf16_units_as_in_the_rfc() {
    let unsorted = br#"{"\u20ac": "Euro Sign", "\r": "Carriage Return", "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One", "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"}"#;
    let sorted = text(to_vec(&parse(unsorted).unwrap()).unwrap());
    let words = ["Carriage", "One", "Control", "Latin", "Euro", "Emoji", "Hebrew"];
    let places = words.map(|word| sorted.find(&format!(":\"{word}")).unwrap());
    assert!(places.is_sorted(), "{sorted}");
    assert!(sorted.starts_with("{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u{80}\":\"Control\",\"ö\":"), "{sorted}");
}

#[test]
fn sha256_is_that_of_the_canonical_bytes() {
    // printf '{"a":1,"b":[]}' | sha256sum
    let hex: String = sha256(&json!({"b": [], "a": 1.0})).unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, "f87e4099e9be5e75094e0a4f46d3dc18a9c37429314a5a2490fb78d31e7e170c");
}

#[test]
fn integers_at_the_bound_pass_and_beyond_it_the_rfc_form_refuses_them_by_place() {
    for safe in
        [json!(MAX_SAFE_INTEGER), json!(-9_007_199_254_740_991_i64), json!(9_007_199_254_740_991.0), json!(1e21)]
    {
        assert_eq!(to_vec(&parse(&to_vec(&safe).unwrap()).unwrap()), to_vec(&safe), "{safe}");
        assert_eq!(check(&safe), Ok(Numbers::Safe));
    }
    for beyond in [
        json!(1_u64 << 53),
        json!(-(1_i64 << 53)),
        json!(u64::MAX),
        json!(i64::MIN),
        json!(2_f64.powi(53)),
        json!(-1e20),
    ] {
        let error = to_vec(&json!({"a/b": [0, {"~": beyond}]})).unwrap_err().to_string();
        assert!(error.contains("at `/a~1b/1/~0`") && error.contains("as a string"), "{error}");
        assert!(to_vec(&beyond).unwrap_err().to_string().contains("at the top level"));
        assert_eq!(parse(beyond.to_string().as_bytes()), Ok(beyond.clone()), "it is carried as it is");
        assert_eq!(check(&json!([beyond])), Ok(Numbers::Large));
    }
}

#[test]
fn a_large_integer_is_tagged_in_the_fingerprint_and_nothing_else_changes() {
    let digest = |text: &str| -> [u8; 32] { Sha256::digest(text).into() };
    let value =
        parse(br##"{"\ud83d\ude00": 1.50, "\ufb33": [9007199254740993, -9223372036854775808], "a": "#1", "b": 1e19}"##);
    let expected =
        "{\"a\":\"#1\",\"b\":10000000000000000000,\"😀\":1.5,\"\u{fb33}\":[#9007199254740993,#-9223372036854775808]}";
    assert_eq!(sha256(&value.unwrap()), Ok(digest(expected)));
    let different =
        ["9007199254740992", "9007199254740993", "9007199254740992.0", "9007199254740994", "\"#9007199254740992\""];
    let all: std::collections::BTreeSet<_> =
        different.iter().map(|text| sha256(&parse(text.as_bytes()).unwrap()).unwrap()).collect();
    assert_eq!(all.len(), different.len());
    let safe = json!({"b": [1, 9_007_199_254_740_991_u64, null], "a": {"\u{e9}": -0.0, "c": 1e21}});
    assert_eq!(tagged::to_vec(&safe), to_vec(&safe), "the same form where the RFC keeps numbers apart");
}

#[test]
fn an_integer_of_more_than_64_bits_is_refused_and_never_rounded() {
    let long = "1000000000000000000000000000001";
    let text = format!("{{\"\\\"1\\\\\":\n  [0, -{long}]}}");
    let error = Error::Integer { found: format!("-{long}"), at: "line 2 column 7".to_owned() };
    assert_eq!(parse(text.as_bytes()), Err(error.clone()));
    assert_eq!(validate(text.as_bytes()), Err(error));
    for beyond in ["18446744073709551616", "-9223372036854775809"] {
        assert!(matches!(parse(beyond.as_bytes()), Err(Error::Integer { .. })), "{beyond}");
    }
    for fine in ["18446744073709551615", "-9223372036854775808", "1700000000123456789"] {
        assert_eq!(parse(fine.as_bytes()).unwrap().to_string(), fine);
    }
    for spelled_as_float in
        [format!("{long}.0"), format!("\"{long}\""), "1e30".to_owned(), format!("{{\"{long}\":-0}}")]
    {
        assert!(parse(spelled_as_float.as_bytes()).is_ok(), "{spelled_as_float}");
    }
}

#[test]
fn a_second_equal_key_is_refused_however_it_is_spelled() {
    let error = parse(b"[{\"a\": 1},\n {\"a\": {\"b\": 1, \"\\u0062\": 2}}]").unwrap_err();
    assert!(matches!(&error, Error::DuplicateKey { key, line: 2, .. } if key == "b"), "{error:?}");
    assert!(parse(br#"{"a":{"a":1},"b":{"a":1}}"#).is_ok());
}

#[test]
fn depth_is_bounded_on_both_sides() {
    for (open, close) in [("[", "]"), ("{\"k\":", "}")] {
        let nested = |depth: usize| format!("{}{}{}{}", open.repeat(depth - 1), "[", "]", close.repeat(depth - 1));
        let deepest = parse(nested(MAX_DEPTH).as_bytes()).unwrap();
        assert_eq!(text(to_vec(&deepest).unwrap()), nested(MAX_DEPTH));
        let error = parse(nested(MAX_DEPTH + 1).as_bytes()).unwrap_err();
        assert!(matches!(&error, Error::Depth { at } if at.starts_with("line 1 column ")), "{error:?}");
        let deeper = json!([deepest]);
        assert!(matches!(to_vec(&deeper), Err(Error::Depth { .. })));
    }
    assert!(matches!(parse("[".repeat(1_000_000).as_bytes()), Err(Error::Depth { .. })));
}

#[test]
fn what_is_not_one_json_value_is_refused_with_its_place() {
    for bad in [
        "",
        " ",
        "{",
        "[1,]",
        "1 2",
        "{}x",
        "nul",
        "01",
        "+1",
        ".5",
        "NaN",
        "1e999",
        "-1e999",
        "'a'",
        "\"\\ud800\"",
        "\u{feff}1",
        "[1]//",
    ] {
        let error = parse(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("line ") && error.contains("column "), "{bad}: {error}");
    }
    let digits = "9".repeat(400);
    assert!(matches!(parse(digits.as_bytes()), Err(Error::Syntax { .. })), "overflows to infinity");
    assert!(matches!(parse(b"\"\xff\""), Err(Error::Syntax { .. })));
    assert_eq!(parse(b" 1e-999 "), Ok(json!(0.0)), "too small is zero, not an error");
}

fn any_number() -> impl Strategy<Value = Value> {
    let close_to_the_bound = (-9i64..=9).prop_map(|n| Value::from((1 << 53) + n));
    let floats = any::<u64>().prop_map(|bits| Value::from(f64::from_bits(bits))); // null if not finite
    prop_oneof![any::<i64>().prop_map(Value::from), (-100..100i64).prop_map(Value::from), close_to_the_bound, floats]
}

fn any_value() -> impl Strategy<Value = Value> {
    let key = prop_oneof!["[a-c]{0,2}", any::<String>()];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any_number(),
        any::<String>().prop_map(Value::from)
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// The value as text with all keys in reverse order.
fn reversed(value: &Value) -> String {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
        Value::Array(items) => format!("[{}]", items.iter().map(reversed).collect::<Vec<_>>().join(" , ")),
        Value::Object(map) => {
            let entries =
                map.iter().rev().map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), reversed(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(",\n"))
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back_and_written_the_same(value in any_value()) {
        if let Ok(bytes) = to_vec(&value) {
            let again = parse(&bytes).unwrap();
            prop_assert_eq!(to_vec(&again).unwrap(), bytes);
            prop_assert_eq!(sha256(&again), sha256(&value));
        }
    }

    #[test]
    fn order_of_keys_and_white_space_never_matter(value in any_value()) {
        if let Ok(bytes) = to_vec(&value) {
            prop_assert_eq!(to_vec(&parse(reversed(&value).as_bytes()).unwrap()).unwrap(), bytes);
        }
    }

    #[test]
    fn different_integers_never_share_a_form(a: i64, near in -3i64..=3) {
        let b = a.saturating_add(near);
        prop_assert_eq!(a == b, sha256(&json!(a)) == sha256(&json!(b)));
        if let (Ok(a_bytes), Ok(b_bytes)) = (to_vec(&json!(a)), to_vec(&json!(b))) {
            prop_assert_eq!(a == b, a_bytes == b_bytes);
        }
    }

    #[test]
    fn parse_survives_any_bytes_and_accepts_only_what_can_be_written(
        bytes in prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            r#"[\[\]{}",:0-9.eE+\\ntrula -]{0,40}"#.prop_map(String::into_bytes),
        ],
    ) {
        let parsed = parse(&bytes);
        prop_assert_eq!(validate(&bytes), parsed.clone().map(drop));
        if let Ok(value) = parsed {
            prop_assert!(sha256(&value).is_ok());
            prop_assert_eq!(parse(value.to_string().as_bytes()), Ok(value));
        }
    }
}
