use super::*;
use serde_json::json;

fn now() -> Zoned {
    "2026-09-21T08:00:00[UTC]".parse().unwrap()
}

fn streamed(api: Api, events: &[Value]) -> Answer {
    let mut answer = Answer::new(api);
    for event in events {
        let data = event.as_str().map_or_else(|| event.to_string(), str::to_owned);
        answer.take_in(&sse::Message { name: String::new(), data }, &now());
    }
    answer
}

fn chunk(delta: Value, reason: Value) -> Value {
    json!({ "model": "m1", "choices": [{ "index": 0, "delta": delta, "finish_reason": reason }] })
}

fn whole(api: Api, value: &Value) -> Answer {
    let mut answer = Answer::new(api);
    answer.take_whole(value.to_string().as_bytes(), &now());
    answer
}

/// The same answer in the words of each api: "Hello there", 100 tokens in with 40 of them cached, 20 out.
fn streams() -> [(Api, Vec<Value>); 3] {
    let chat = vec![
        chunk(json!({ "role": "assistant", "reasoning_content": "hm" }), Value::Null),
        chunk(json!({ "content": "Hello" }), Value::Null),
        chunk(json!({ "content": " there" }), Value::Null),
        chunk(json!({}), json!("stop")),
        json!({ "choices": [], "usage": { "prompt_tokens": 100, "completion_tokens": 20, "prompt_tokens_details": { "cached_tokens": 40 } } }),
        json!("[DONE]"),
    ];
    let usage = json!({ "input_tokens": 100, "output_tokens": 20, "input_tokens_details": { "cached_tokens": 40 } });
    let responses = vec![
        json!({ "type": "response.created", "response": { "status": "in_progress" } }),
        json!({ "type": "response.output_text.delta", "delta": "Hello" }),
        json!({ "type": "response.output_text.delta", "delta": " there" }),
        json!({ "type": "response.completed", "response": { "object": "response", "status": "completed", "model": "m1", "output": [], "usage": usage } }),
    ];
    let begun = json!({ "input_tokens": 50, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 40, "output_tokens": 1 });
    let messages = vec![
        json!({ "type": "message_start", "message": { "model": "m1", "usage": begun } }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "ping" }),
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": "Hello" } }),
        json!({ "type": "content_block_delta", "delta": { "type": "text_delta", "text": " there" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    [(Api::Chat, chat), (Api::Responses, responses), (Api::Messages, messages)]
}

#[test]
fn a_stream_comes_to_its_words_its_model_and_what_it_used() {
    for (api, events) in streams() {
        let answer = streamed(api, &events);
        let said = answer.said().clone();
        assert_eq!(
            (said.text.as_str(), said.model.as_deref(), said.unknown),
            ("Hello there", Some("m1"), 0),
            "{api:?}"
        );
        let Usage { input_tokens, cached_tokens, output_tokens, turns, .. } = said.usage;
        assert_eq!((input_tokens, cached_tokens, output_tokens, turns), (100, 40, 20, 1), "{api:?}");
        assert_eq!(answer.judge(false), End::Done { media: Media::Text, result: b"Hello there".to_vec() });
    }
}

/// Wherever a stream is cut, it is no result; what counts as its end is the word about it.
#[test]
fn a_stream_without_its_end_is_cut_off_wherever_it_is_cut() {
    for (api, events) in streams() {
        let end = match api {
            Api::Chat => 4,
            Api::Json | Api::Responses | Api::Messages => events.len(),
        };
        for length in 0..events.len() {
            let end_is_there = length >= end;
            match streamed(api, &events[..length]).judge(false) {
                End::Done { .. } => assert!(end_is_there, "{api:?} after {length} events"),
                End::Failed { error, retryable } => {
                    assert!(!end_is_there && retryable && error.contains("cut off"), "{api:?} {length}: {error}");
                }
                other @ End::Limited { .. } => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn an_answer_in_one_document_is_understood_as_well() {
    let chat = json!({ "model": "m1", "choices": [{ "index": 0, "message": { "content": "Hello" }, "finish_reason": "stop" }] });
    let part = json!({ "type": "output_text", "text": "Hello" });
    let responses = json!({ "object": "response", "status": "completed", "model": "m1", "output": [{ "type": "message", "content": [part] }] });
    let messages = json!({ "type": "message", "model": "m1", "content": [{ "type": "text", "text": "Hello" }], "stop_reason": "end_turn" });
    for (api, value) in [(Api::Chat, chat), (Api::Responses, responses), (Api::Messages, messages)] {
        assert_eq!(
            whole(api, &value).judge(false),
            End::Done { media: Media::Text, result: b"Hello".to_vec() },
            "{api:?}"
        );
    }
    for api in [Api::Chat, Api::Responses, Api::Messages] {
        for body in [json!({}), json!([]), json!("text")] {
            assert!(matches!(whole(api, &body).judge(false), End::Failed { retryable: true, .. }), "{api:?} {body}");
        }
    }
}

#[test]
fn errors_in_a_stream_fail_it_or_hold_its_provider() {
    let error = |kind: &str, message: &str| json!({ "type": "error", "error": { "type": kind, "message": message } });
    let failed = |api, event: Value| match streamed(api, &[event]).judge(false) {
        End::Failed { error, retryable } => (error, retryable),
        other @ (End::Done { .. } | End::Limited { .. }) => panic!("{other:?}"),
    };
    for api in [Api::Chat, Api::Messages, Api::Responses] {
        assert_eq!(failed(api, error("api_error", "It broke")), ("It broke".to_owned(), true));
        assert_eq!(failed(api, error("invalid_request_error", "Too long")), ("Too long".to_owned(), false));
        let end = streamed(api, &[error("overloaded_error", "Overloaded")]).judge(false);
        assert!(matches!(end, End::Limited { until_ms: None, .. }), "{api:?} {end:?}");
    }
    let response = json!({ "object": "response", "status": "failed", "error": { "code": "rate_limit_exceeded", "message": "Try again in 20s." } });
    let End::Limited { until_ms: Some(until_ms), .. } =
        streamed(Api::Responses, &[json!({ "type": "response.failed", "response": response })]).judge(false)
    else {
        panic!("it is a limit")
    };
    assert_eq!(until_ms, now().timestamp().as_millisecond() as u64 + 20_000);
}

#[test]
fn an_answer_that_was_cut_short_on_purpose_is_no_result() {
    let reason = |api, reason: &str| match api {
        Api::Messages => streamed(
            api,
            &[
                json!({ "type": "message_delta", "delta": { "stop_reason": reason } }),
                json!({ "type": "message_stop" }),
            ],
        ),
        Api::Chat | Api::Responses | Api::Json => streamed(api, &[chunk(json!({ "content": "Half" }), json!(reason))]),
    };
    for (api, word, words) in [
        (Api::Chat, "length", "max_tokens"),
        (Api::Chat, "content_filter", "refuses"),
        (Api::Chat, "tool_calls", "nobody here"),
        (Api::Messages, "max_tokens", "max_tokens"),
        (Api::Messages, "refusal", "refuses"),
        (Api::Messages, "tool_use", "nobody here"),
    ] {
        let End::Failed { error, retryable: false } = reason(api, word).judge(false) else {
            panic!("{word} is no end")
        };
        assert!(error.contains(words), "{word}: {error}");
    }
    let response = json!({ "object": "response", "status": "incomplete", "incomplete_details": { "reason": "max_output_tokens" } });
    assert!(matches!(whole(Api::Responses, &response).judge(false), End::Failed { retryable: false, .. }));
}

#[test]
fn json_that_was_asked_for_is_json_or_a_failure() {
    let said = |text: &str| streamed(Api::Chat, &[chunk(json!({ "content": text }), json!("stop"))]);
    assert_eq!(said("{\"a\":1}").judge(true), End::Done { media: Media::Json, result: b"{\"a\":1}".to_vec() });
    assert!(matches!(said("Sure!").judge(true), End::Failed { retryable: true, .. }));
    assert_eq!(said("{\"a\":1}").judge(false), End::Done { media: Media::Text, result: b"{\"a\":1}".to_vec() });
}

#[test]
fn a_server_of_ones_own_may_stream_its_progress() {
    let mut answer = Answer::new(Api::Json);
    let mut event =
        |name: &str, data: &str| answer.take_in(&sse::Message { name: name.to_owned(), data: data.to_owned() }, &now());
    assert_eq!(event("", "half way"), [Event::Text("half way\n".to_owned())]);
    assert_eq!(event("result", "{\"a\": 1}"), []);
    assert_eq!(answer.judge(false), End::Done { media: Media::Json, result: b"{\"a\": 1}".to_vec() });
    let mut answer = Answer::new(Api::Json);
    answer.take_in(&sse::Message { name: "error".to_owned(), data: "no such file".to_owned() }, &now());
    assert_eq!(answer.judge(false), End::Failed { error: "no such file".to_owned(), retryable: true });
    assert!(matches!(Answer::new(Api::Json).judge(false), End::Failed { error, .. } if error.contains("cut off")));
}
