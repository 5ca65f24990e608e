//! Expressions of flows: texts that people write, on values that agents made.

use crate::say;
use relaymesh_core::{
    expr::{Expr, References, StepValue, Values, template},
    task::Status,
};
use serde_json::{Value, json};

/// More than is filled in from so few values, unless the text repeats them without end.
const MAX: usize = 10 << 20;

/// The text as an expression, as a condition and as a template, evaluated on a few values.
pub fn target(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let values = values();
    for read in [Expr::parse(text).map_err(|error| say(&error)), template::bare(text).map_err(|error| say(&error))] {
        let Ok(expr) = read else { continue };
        let _ = expr.references();
        match expr.eval(&values) {
            Ok(value) => assert_eq!(expr.eval(&values), Ok(value), "the same again"),
            Err(error) => say(&error),
        }
    }
    let value = json!({ "text": text, "list": [text, 1] });
    let mut found = References::default();
    let read = template::references(&value, &mut found).map_err(|error| say(&error));
    match template::fill(value.clone(), &values, MAX) {
        Ok(filled) => assert!(template::is_template(&value) || filled == value),
        Err(error) => {
            assert!(template::is_template(&value));
            say(&error);
        }
    }
    assert!(read.is_ok() || template::fill(value, &values, MAX).is_err(), "what cannot be read cannot be filled in");
    let meant = json!([text]);
    if !text.contains("$${{") {
        assert_eq!(template::fill(template::literal(meant.clone()), &values, MAX), Ok(meant), "meant as it stands");
    }
}

fn values() -> Values {
    let step = |result, status| StepValue { result, status };
    let steps = [
        ("find", step(json!({ "files": ["a", "b"], "n": 2 }), Status::Success)),
        ("left-out", step(Value::Null, Status::Skipped)),
    ];
    let steps = steps.into_iter().map(|(name, value)| (crate::samples::name(name), value)).collect();
    Values { input: json!({ "x": [1, 2.5, "t"], "deep": { "er": null } }), steps, item: Some((1, json!("b"))) }
}

/// Expressions and templates, right and wrong.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "steps.find.result.files[0] == 'a' && !input.deep.er",
        "${{ length(input.x) >= 2 || contains(steps.find.result, \"n\") }}",
        "found ${{ steps.find.result.n }} for ${{ item }}, ${{ index }}, $${{ meant }}",
        "default(steps[\"left-out\"].result.y, [1, 'b', null]) != has(input.z)",
        "steps.find.reslut",
        "((((((1))))))",
        "${{ '}}' }} ${{ \"a\"\"b\" }}",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
