//! The lines of a bulk submit.

use crate::ERROR_BYTES_MAX;
use relaymesh_cli::fuzzing::api;

/// The longest line in here: short enough to be reached.
const LINE_BYTES_MAX: usize = 512;

/// A bulk submit comes to the same however it is cut on its way: an answer for each line that is not empty, up to one that is too long.
pub fn target(data: &[u8]) {
    let Some((cut, body)) = data.split_first() else { return };
    let whole = api::bulk(&[body], LINE_BYTES_MAX);
    let (first, second) = body.split_at(usize::from(*cut).min(body.len()));
    assert_eq!(api::bulk(&[first, second], LINE_BYTES_MAX), whole, "cut at {cut}");
    let single: Vec<&[u8]> = body.chunks(1).collect();
    assert_eq!(api::bulk(&single, LINE_BYTES_MAX), whole, "byte by byte");
    let mut expected = 0;
    for line in body.split(|byte| *byte == b'\n') {
        let is_long = line.len() > LINE_BYTES_MAX;
        expected += usize::from(is_long || !line.trim_ascii().is_empty());
        if is_long {
            assert!(
                whole
                    .get(expected - 1)
                    .is_some_and(|last| last.as_ref().is_err_and(|error| error.contains("too_long")))
            );
            break;
        }
    }
    assert_eq!(whole.len(), expected, "one answer for each line");
    for answer in whole {
        match answer {
            Ok((fingerprint, steps)) => assert!(fingerprint.len() == 64 && steps > 0),
            Err(problem) => {
                assert!(problem.len() <= 2 * ERROR_BYTES_MAX, "a refusal of {} bytes: {problem:.300}", problem.len());
                let _: serde_json::Value = serde_json::from_str(&problem).expect("a problem is JSON");
            }
        }
    }
}

/// Lines that are taken, and some that are not.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "\u{9}{\"agent\": \"echo\", \"input\": {\"a\": [1, 2]}}\n{\"agent\": \"echo\", \"key\": \"order-7\"}\n",
        "\u{3}{\"agent\": \"hash\", \"input\": \"é\", \"priority\": \"high\", \"retry\": {\"max_attempts\": 2}, \"timeout_ms\": 5}",
        "\u{40}\r\n\n  \n{\"flow\": {\"name\": \"n\", \"steps\": [{\"id\": \"a\", \"agent\": \"echo\"}, {\"id\": \"b\", \"agent\": \"echo\", \"depends_on\": [\"a\"]}]}, \"input\": 1}\nnonsense\n",
        "\u{1}{\"agent\": \"echo\", \"request_id\": \"req_01M7NG05E3BXGNSWJW7VBSE1Q3\", \"namespace\": \"team-a\"}\n{\"agent\": \"nobody\"}",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
