use super::{forms::base64, *};
use proptest::prelude::*;

fn secrets(texts: &[&str]) -> Vec<Secret> {
    texts.iter().map(|text| Secret::new((*text).to_owned())).collect()
}

/// What comes out when the text comes in pieces of this length.
fn in_pieces(secrets: &[Secret], text: &str, length: usize) -> String {
    let mut redactor = Redactor::new(secrets);
    let mut out = Vec::new();
    for piece in text.as_bytes().chunks(length) {
        out.extend(redactor.take_in(piece));
    }
    out.extend(redactor.finish());
    String::from_utf8(out).unwrap()
}

#[test]
fn a_secret_is_found_wherever_the_pieces_end() {
    let known = secrets(&["s3cr3t-value", "s3cr3t-value-longer", "aaaaaaab"]);
    let cases = [
        ("a s3cr3t-value b", "a *** b"),
        ("s3cr3t-value-longer", "***"),
        ("s3cr3t-value-long", "***"),
        ("s3cr3t-value-", "***"),
        ("s3cr3t-", "s3cr3t-"),
        ("s3cr3t-v!", "s3cr3t-v!"),
        ("s3cs3cr3t-values3cr3t-value.", "s3c******."),
        ("aaaaaaaaaaab", "aaaa***"),
        ("aaaaaaaaa", "aaaaaaaaa"),
        ("", ""),
    ];
    for (text, clean) in cases {
        for length in 1..=text.len().max(1) {
            assert_eq!(in_pieces(&known, text, length), clean, "{text} in pieces of {length}");
        }
    }
}

#[test]
fn the_forms_of_a_secret_are_found_too() {
    let text = "pass\"word\nwith lines ÿ>?";
    let known = secrets(&[text]);
    for form in [
        "pass\\\"word\\nwith lines ÿ>?",
        "cGFzcyJ3b3JkCndpdGggbGluZXMgw78+Pw==",
        "cGFzcyJ3b3JkCndpdGggbGluZXMgw78-Pw",
        "7061737322776f72640a77697468206c696e657320c3bf3e3f",
        "7061737322776F72640A77697468206C696E657320C3BF3E3F",
        "with lines ÿ>?",
        text,
    ] {
        let clean = in_pieces(&known, &format!("<{form}>"), 5);
        assert!(clean.starts_with("<***"), "{form}: {clean}");
        assert!(clean.trim_end_matches(['>', '=']).len() == "<***".len(), "{form}: {clean}");
    }
}

#[test]
fn a_secret_is_found_behind_a_name_in_base64_and_in_a_url() {
    let text = "s3cr3t+value/ÿ";
    let known = secrets(&[text]);
    for before in ["", "u", "us", "user:"] {
        let printed = String::from_utf8(base64(format!("{before}{text}, and more").as_bytes(), b"+/")).unwrap();
        let clean = in_pieces(&known, &printed, 7);
        // The letters at its edges have bits of what stands beside it.
        assert!(clean.contains("***") && clean.len() + 12 < printed.len(), "{before}: {printed} {clean}");
    }
    for form in ["s3cr3t%2Bvalue%2F%C3%BF", "s3cr3t%2bvalue%2f%c3%bf"] {
        assert_eq!(in_pieces(&known, &format!("?key={form}&b"), 3), "?key=***&b");
    }
}

#[test]
fn nothing_is_held_back_that_cannot_be_a_secret() {
    let mut redactor = Redactor::new(&secrets(&["s3cr3t-value"]));
    assert_eq!(redactor.take_in(b"working s3c"), b"working ");
    assert_eq!(redactor.take_in(b"ond step\n"), b"s3cond step\n");
    assert_eq!(Redactor::new(&[]).take_in(b"as it is"), b"as it is");
}

fn json(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn python(text: &str) -> String {
    let unit = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect::<String>();
    json(text).chars().map(|c| if c.is_ascii() { c.to_string() } else { unit(c) }).collect()
}

fn php(text: &str) -> String {
    python(text).replace('/', "\\/")
}

/// As the encoder of Go writes it.
fn go(text: &str) -> String {
    json(text).replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e")
}

fn percent(text: &str) -> String {
    let one =
        |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(one).collect()
}

fn form(text: &str) -> String {
    percent(text).replace("%20", "+").to_lowercase_escapes()
}

trait LowercaseEscapes {
    fn to_lowercase_escapes(self) -> String;
}

impl LowercaseEscapes for String {
    fn to_lowercase_escapes(self) -> String {
        let mut left = 0;
        let lower = |c: char| {
            left = if c == '%' { 3 } else { usize::saturating_sub(left, 1) };
            if left > 0 { c.to_ascii_lowercase() } else { c }
        };
        self.chars().map(lower).collect()
    }
}

fn html(text: &str) -> String {
    let one = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#x27;".to_owned(),
        c if c.is_ascii() => c.to_string(),
        c => format!("&#{};", u32::from(c)),
    };
    text.chars().map(one).collect()
}

fn shell(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || !c.is_ascii() || c == '\n';
    text.chars().map(|c| if is_plain(c) { c.to_string() } else { format!("\\{c}") }).collect()
}

/// How something prints a text, and its name.
type Encoder = (&'static str, fn(&str) -> String);

const ENCODERS: [Encoder; 9] = [
    ("as it is", str::to_owned),
    ("json", json),
    ("python", python),
    ("php", php),
    ("go", go),
    ("percent", percent),
    ("form", form),
    ("html", html),
    ("shell", shell),
];

#[test]
fn the_escapes_of_other_languages_are_known() {
    let text = "sk/é😀 \"quoted\" & <b>'50%'";
    let known = secrets(&[text]);
    assert_eq!(php("sk/é"), "sk\\/\\u00e9");
    for (name, encode) in ENCODERS {
        for (around, wrap) in ENCODERS {
            let printed = format!("{{\"key\": \"{}\"}}", wrap(&encode(text)));
            for length in [1, 2, 3, 5, 7, 4096] {
                assert_eq!(in_pieces(&known, &printed, length), "{\"key\": \"***\"}", "{name} in {around}: {printed}");
            }
        }
    }
}

#[test]
fn a_result_is_looked_at_again_as_a_whole() {
    let known = secrets(&["s3cr3t/vàlue"]);
    let ended = |media, result: &str| {
        let end = End::Done { media, result: result.as_bytes().to_vec() };
        let End::Done { result, .. } = clean_ended(end.into(), &known).end else { panic!("{result}") };
        String::from_utf8(result).unwrap()
    };
    let untouched = "{\"a\": 1.50, \"a\": 12345678901234567890123}";
    assert_eq!(ended(Media::Json, untouched), untouched);
    assert_eq!(ended(Media::Json, "{\"s3cr3t\\/v\\u00e0lue\": [\"x s3cr3t/v\\u00E0lue\"]}"), "{\"***\": [\"x ***\"]}");
    assert_eq!(ended(Media::Text, "it is s3cr3t%2Fv%C3%A0lue."), "it is ***.");
    let failed = End::Failed { error: "no s3cr3t\\/v\\u00e0lue".to_owned(), retryable: true };
    assert_eq!(clean_ended(failed.into(), &known).end, End::Failed { error: "no ***".to_owned(), retryable: true });
}

#[test]
fn text_full_of_escapes_takes_no_longer_than_it_may() {
    let known = secrets(&["\\\\%25\\\\%25\\\\%25 a secret with \\ and %"]);
    for unit in ["\\", "%25", "&amp;", "\\u005c", "\\\\%25", "plain text, and more of it. "] {
        let text = unit.repeat(40_000 / unit.len());
        let clean = in_pieces(&known, &text, 16 << 10);
        // At the very end, what may begin the secret is hidden.
        let kept = clean.strip_suffix(HIDDEN).unwrap_or(&clean);
        assert!(text.starts_with(kept) && kept.len() + 80 > text.len(), "{unit}: {} of {}", kept.len(), text.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// However it is encoded, twice over, and wherever the pieces end.
    #[test]
    fn no_encoding_carries_a_secret(
        text in r#"[a-zA-Z0-9]["'\\/&<>%+ =:;#$a-zé😀]{6,20}[a-zA-Z0-9]"#,
        first in 0..ENCODERS.len(),
        second in 0..ENCODERS.len(),
        length in 1_usize..40,
    ) {
        let printed = format!("<{}>", ENCODERS[second].1(&ENCODERS[first].1(&text)));
        prop_assert_eq!(in_pieces(&secrets(&[&text]), &printed, length), "<***>", "{}", printed);
    }

    /// Any bytes: nothing panics, and it does not matter where the pieces end.
    #[test]
    fn pieces_of_any_bytes_make_the_same_whole(
        parts in prop::collection::vec(prop_oneof![
            prop::collection::vec(any::<u8>(), 1..8),
            prop::sample::select(vec!["s3cr3t-", "value", "\\\\", "\\u00", "%5C", "%25", "&amp;", "&#x", "\\ud83d", "\\u{1"])
                .prop_map(|part| part.as_bytes().to_vec()),
        ], 0..20),
        length in 1_usize..20,
    ) {
        let (known, bytes) = (secrets(&["s3cr3t-value", "\\é%value&s3"]), parts.concat());
        let mut redactor = Redactor::new(&known);
        let whole = redactor.whole(&bytes);
        let mut pieces: Vec<u8> = bytes.chunks(length).flat_map(|piece| redactor.take_in(piece)).collect();
        pieces.extend(redactor.finish());
        prop_assert_eq!(pieces, whole);
    }

    /// What holds no secret comes out as it went in.
    #[test]
    fn other_text_is_left_alone(text in r#"[a-f%&\\;u0-9+"{}é]{0,60}"#, length in 1_usize..20) {
        prop_assert_eq!(in_pieces(&secrets(&["s3cr3t-value", "%\\zz-zz-zz"]), &text, length), text);
    }
}
