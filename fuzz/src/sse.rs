//! What a server answers as a stream of events.

use relaymesh_cli::fuzzing::{self, Heard};

/// An answer comes to the same, however it is cut into pieces on its way, and to no more than was sent.
pub fn target(data: &[u8]) {
    let Some((cut, bytes)) = data.split_first() else { return };
    let whole = fuzzing::answers(&[bytes]);
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    assert_eq!(fuzzing::answers(&[first, second]), whole, "cut at {cut}");
    let single: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(fuzzing::answers(&single), whole, "byte by byte");
    for Heard { said, end, .. } in &whole {
        // What cannot be read as text takes up to three bytes for each.
        assert!(said.len() <= 3 * bytes.len(), "{} bytes out of {}", said.len(), bytes.len());
        assert!(!end.is_empty());
    }
}

/// Answers in the words of each api, whole and cut off.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "\0data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":null}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        "\u{5}event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":3}}}\r\n\r\nevent: content_block_delta\r\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\r\n\r\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\r\n\r\ndata: {\"type\":\"message_stop\"}\r\n\r\n",
        "\u{7}data: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[]}}\n\n",
        "\u{3}: awake\n\ndata: half way\n\nevent: result\ndata: {\"a\":\ndata: 1}\n\n",
        "\u{1}event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"try again in 3 hours\"}}\n\n",
        "\u{9}\u{feff}data: cut off",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
