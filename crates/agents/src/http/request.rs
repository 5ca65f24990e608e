//! What is sent: the body in the words of each api, and the headers.
//!
//! An input that has `messages` (or, for responses, an `input`) is a request in the api's own words, and whatever else it says goes with it. What the
//! agent's entry in `agents.toml` decides (model, the longest answer) is not for the input to change: it is what budgets are worked out from.

use super::config::{Api, Http};
use crate::{
    TRACEPARENT,
    tool::{in_a_form, prompt},
};
use serde_json::{Map, Value, json};

/// What the makers of messages expect if nobody says how long an answer may be.
const MESSAGES_TOKENS: u64 = 4096;

/// A body, and what it asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Body {
    /// The bytes.
    pub(crate) bytes: Vec<u8>,
    /// The same in parts; `Null` if it is not for a model.
    pub(crate) value: Value,
    /// Whether the answer is to be JSON.
    pub(crate) wants_json: bool,
}

/// The body for this input. A model is told what its result must be like, unless the input is a request in the api's own words.
pub(crate) fn body(http: &Http, input: &str, schema: Option<&str>) -> Body {
    if http.api == Api::Json {
        return Body { bytes: input.as_bytes().to_vec(), value: Value::Null, wants_json: false };
    }
    let mut fields = match serde_json::from_str::<Value>(input) {
        Ok(Value::Object(fields)) if is_request(http.api, &fields) => fields,
        _ => {
            let prompt = prompt(input);
            asked(http.api, &schema.map_or_else(|| prompt.clone(), |schema| in_a_form(&prompt, schema)))
        }
    };
    if let Some(model) = &http.model {
        fields.insert("model".to_owned(), model.as_str().into());
    }
    fields.insert("stream".to_owned(), true.into());
    match http.api {
        Api::Chat => {
            fields.insert("stream_options".to_owned(), json!({ "include_usage": true }));
            // Several answers would be mixed in one stream.
            fields.remove("n");
            if let (Some(system), Some(Value::Array(messages))) = (&http.system, fields.get_mut("messages")) {
                messages.insert(0, json!({ "role": "system", "content": system }));
            }
        }
        Api::Responses => {
            if let Some(messages) = fields.remove("messages") {
                fields.insert("input".to_owned(), messages);
            }
            fields.remove("background");
            fields.entry("store").or_insert(false.into());
            if let Some(system) = &http.system {
                fields.insert("instructions".to_owned(), system.as_str().into());
            }
        }
        Api::Messages => {
            if let Some(system) = &http.system {
                fields.insert("system".to_owned(), system.as_str().into());
            }
        }
        Api::Json => {}
    }
    bound(http, &mut fields);
    let wants_json =
        ["/response_format/type", "/text/format/type", "/output_format/type", "/output_config/format/type"];
    let value = Value::Object(fields);
    let asks = |place: &str| value.pointer(place).and_then(Value::as_str).is_some_and(|kind| kind != "text");
    let wants_json = wants_json.into_iter().any(asks);
    Body { bytes: value.to_string().into_bytes(), value, wants_json }
}

/// Whether these are a request in the api's own words.
fn is_request(api: Api, fields: &Map<String, Value>) -> bool {
    let has_input = api == Api::Responses && fields.contains_key("input");
    has_input || fields.get("messages").is_some_and(Value::is_array)
}

fn asked(api: Api, prompt: &str) -> Map<String, Value> {
    let (name, value) = match api {
        Api::Responses => ("input", json!(prompt)),
        Api::Json | Api::Chat | Api::Messages => ("messages", json!([{ "role": "user", "content": prompt }])),
    };
    Map::from_iter([(name.to_owned(), value)])
}

/// The longest answer: as the agent has it, or shorter if the input says so.
fn bound(http: &Http, fields: &mut Map<String, Value>) {
    let names = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let said = names.iter().filter_map(|name| fields.remove(*name)?.as_u64()).min();
    let most = said.into_iter().chain(http.max_tokens).min();
    let host = http.url.host_str().unwrap_or_default();
    // Who began it has another word for it by now, and its newer models refuse the old one; others know only the old one.
    let is_first = ["openai.com", "azure.com"].iter().any(|end| host == *end || host.ends_with(&format!(".{end}")));
    let (name, most) = match http.api {
        Api::Messages => ("max_tokens", Some(most.unwrap_or(MESSAGES_TOKENS))),
        Api::Responses => ("max_output_tokens", most),
        Api::Chat if is_first => ("max_completion_tokens", most),
        Api::Chat | Api::Json => ("max_tokens", most),
    };
    if let Some(most) = most {
        fields.insert(name.to_owned(), most.into());
    }
}

/// Headers that follow from the attempt: what it is, in the words that a process has in its environment, and what makes a repeat of it known.
/// They are for servers of one's own; a model's maker has no use for them, but for where in a trace it is: gateways have.
pub(crate) fn headers(http: &Http, step: &str, environment: &[(String, String)]) -> Vec<(String, String)> {
    let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
    let named = |wanted: &str| environment.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.clone());
    headers.extend(named(TRACEPARENT).map(|context| (TRACEPARENT.to_ascii_lowercase(), context)));
    match http.api {
        Api::Json => {
            headers.push(("accept".to_owned(), "application/json, text/event-stream, */*".to_owned()));
            headers.push(("idempotency-key".to_owned(), step.to_owned()));
            for part in ["TASK", "STEP", "AGENT", "ATTEMPT", "NAMESPACE"] {
                let value = named(&format!("RELAYMESH_{part}"));
                headers.extend(value.map(|value| (format!("x-relaymesh-{}", part.to_ascii_lowercase()), value)));
            }
        }
        Api::Chat | Api::Responses => headers.push(("accept".to_owned(), "text/event-stream".to_owned())),
        Api::Messages => {
            headers.push(("accept".to_owned(), "text/event-stream".to_owned()));
            headers.push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
        }
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn http(text: &str) -> Http {
        let text = format!("[agents.a]\n{text}\n");
        let agents = crate::Agents::parse(&text, Path::new("/nowhere")).unwrap();
        agents.get(&"a".parse().unwrap()).unwrap().http().unwrap().clone()
    }

    fn sent(text: &str, input: &str) -> Value {
        let body = body(&http(text), input, None);
        assert_eq!(serde_json::from_slice::<Value>(&body.bytes).unwrap(), body.value);
        body.value
    }

    const CHAT: &str = "url = \"https://a.example/\"\napi = \"chat\"\nmodel = \"m\"\n";
    const RESPONSES: &str = "url = \"https://a.example/\"\napi = \"responses\"\nmodel = \"m\"\n";
    const MESSAGES: &str = "url = \"https://a.example/\"\napi = \"messages\"\nmodel = \"m\"\n";

    #[test]
    fn the_prompt_is_put_in_the_words_of_each_api() {
        let usage = json!({ "include_usage": true });
        let asked = json!([{ "role": "user", "content": "hello" }]);
        assert_eq!(
            sent(CHAT, "\"hello\""),
            json!({ "model": "m", "messages": asked, "stream": true, "stream_options": usage })
        );
        assert_eq!(
            sent(RESPONSES, "{\"prompt\":\"hello\"}"),
            json!({ "model": "m", "input": "hello", "stream": true, "store": false })
        );
        assert_eq!(
            sent(MESSAGES, "\"hello\""),
            json!({ "model": "m", "messages": asked, "stream": true, "max_tokens": 4096 })
        );
        let more = "system = \"Be brief.\"\nmax_tokens = 9\n";
        let told = json!([{ "role": "system", "content": "Be brief." }, { "role": "user", "content": "hello" }]);
        let chat = sent(&format!("{CHAT}{more}"), "\"hello\"");
        assert_eq!((&chat["messages"], &chat["max_tokens"]), (&told, &json!(9)));
        let responses = sent(&format!("{RESPONSES}{more}"), "\"hello\"");
        assert_eq!((&responses["instructions"], &responses["max_output_tokens"]), (&json!("Be brief."), &json!(9)));
        let messages = sent(&format!("{MESSAGES}{more}"), "\"hello\"");
        assert_eq!((&messages["system"], &messages["max_tokens"]), (&json!("Be brief."), &json!(9)));
        let first = CHAT.replace("a.example", "api.openai.com");
        assert_eq!(sent(&format!("{first}{more}"), "\"x\"")["max_completion_tokens"], 9);
    }

    #[test]
    fn messages_go_through_but_the_agent_decides_on_model_and_length() {
        let input = r#"{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}],"temperature":0,"model":"dear","max_tokens":99,"n":3}"#;
        let chat = sent(&format!("{CHAT}max_tokens = 50\n"), input);
        assert_eq!((&chat["model"], &chat["max_tokens"], &chat["temperature"]), (&json!("m"), &json!(50), &json!(0)));
        assert_eq!((chat["messages"].as_array().unwrap().len(), chat.get("n")), (2, None));
        assert_eq!(sent(&format!("{MESSAGES}max_tokens = 500\n"), input)["max_tokens"], 99);
        let responses = sent(RESPONSES, input);
        assert_eq!((responses["input"].as_array().unwrap().len(), responses.get("messages")), (2, None));
        // A field of that name which holds no messages is something to talk about.
        assert_eq!(sent(CHAT, "{\"messages\":3}")["messages"][0]["content"], "{\"messages\":3}");
    }

    #[test]
    fn a_form_that_is_asked_for_is_remembered() {
        let format = r#""response_format":{"type":"json_schema"}"#;
        let input = format!(r#"{{"messages":[],{format}}}"#);
        assert!(body(&http(CHAT), &input, None).wants_json);
        assert!(!body(&http(CHAT), r#"{"messages":[],"response_format":{"type":"text"}}"#, None).wants_json);
        assert!(!body(&http(CHAT), "\"x\"", None).wants_json);
        let told = body(&http(CHAT), "\"x\"", Some("{\"type\":\"object\"}")).value.to_string();
        assert!(told.contains("x\\n\\n") && told.contains("{\\\"type\\\":\\\"object\\\"}"), "{told}");
        let own = body(&http(CHAT), &input, Some("{\"type\":\"object\"}")).value.to_string();
        assert!(!own.contains("satisfies"), "a request in the api's own words is left as it is: {own}");
    }

    #[test]
    fn a_server_of_ones_own_gets_the_input_as_it_is_and_can_know_a_repeat() {
        let http = http("url = \"https://a.example/\"");
        assert_eq!(body(&http, "{\"a\": 1}", Some("{}")).bytes, b"{\"a\": 1}");
        let environment = [("RELAYMESH_TASK", "tsk_1"), ("RELAYMESH_ATTEMPT", "2"), ("RELAYMESH_ROOT", "/x")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers = headers(&http, "stp_1_0", &environment);
        let header = |wanted: &str| headers.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        assert_eq!(header("idempotency-key"), Some("stp_1_0"));
        assert_eq!((header("x-relaymesh-task"), header("x-relaymesh-attempt")), (Some("tsk_1"), Some("2")));
        assert_eq!(header("x-relaymesh-root"), None, "where we are is nobody's business");
    }
}
