//! What a model was asked and said in an attempt, as an artifact of its step (L11).
//!
//! The snapshot is one document, and its hash is the inference's. What it cost stands beside it in a few words, so that whoever adds up
//! need not read documents.

use crate::driver::Recorded;
use relaymesh_agents::{Audit, Inference as Asked, Key, tool::Usage};
use relaymesh_core::{
    content::Media,
    hash::Hash,
    name::Name,
    task::artifact::inference::{Inference, KIND, SourceJob},
};
use relaymesh_store::{Blobs, Content};
use serde_json::{Value, json};

/// What a model is called that nobody named.
const UNKNOWN: &str = "unknown";

/// The longest name of a model that stands beside its snapshot.
const MODEL_BYTES_MAX: usize = 128;

/// The artifact, if one is to be kept. It is durable when this returns.
pub(crate) fn recorded<B: Blobs>(asked: Asked, (step, epoch): Key, audit: Audit, blobs: &B) -> Option<Recorded> {
    let kept = |value: Value| match audit {
        Audit::Hashes => hashed(&value),
        Audit::Full | Audit::Off => value,
    };
    if audit == Audit::Off {
        return None;
    }
    let name: Name = KIND.parse().ok()?;
    let about = about(&asked);
    let model = if asked.model.is_empty() { UNKNOWN.to_owned() } else { asked.model };
    let source = SourceJob { task: step.task, step: step.index, epoch };
    let snapshot =
        |output| Inference::new(kept(asked.prompt.clone()), &model, asked.parameters.clone(), output, source);
    // A number that others would round cannot stand in a snapshot; as text it can.
    let document = snapshot(kept(asked.output.clone())).to_content();
    let document = document.or_else(|_| snapshot(kept(asked.output.to_string().into())).to_content());
    let (bytes, _) = document.ok()?;
    let content = Content::stow(bytes, blobs).ok()?;
    Some(Recorded { kind: name.clone(), name, media: Media::Json, content, about })
}

/// What stands for content of which only the hash is kept.
fn hashed(value: &Value) -> Value {
    let bytes = value.as_str().map_or_else(|| value.to_string(), str::to_owned).into_bytes();
    json!({ "sha256": Hash::sha256(&bytes).to_string(), "bytes": bytes.len() })
}

/// When it was, and what it used, in the order of the words.
fn about(asked: &Asked) -> Vec<(Name, String)> {
    let Usage { input_tokens, cached_tokens, output_tokens, turns, cost_micros } = asked.usage;
    let number = |number: Option<u64>| number.map(|number| number.to_string());
    let words = [
        ("began_ms", number(Some(asked.began_ms))),
        ("cached_tokens", number(Some(cached_tokens))),
        ("cost_micros", number(cost_micros)),
        ("ended_ms", number(Some(asked.ended_ms))),
        ("input_tokens", number(Some(input_tokens))),
        ("model", Some(asked.model.clone()).filter(|model| (1..=MODEL_BYTES_MAX).contains(&model.len()))),
        ("output_tokens", number(Some(output_tokens))),
        ("turns", number(Some(turns))),
    ];
    words.into_iter().filter_map(|(word, value)| Some((word.parse().ok()?, value?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::id::{StepId, TaskId};
    use relaymesh_store::memory::MemoryStore;

    fn asked(output: Value) -> Asked {
        Asked {
            model: String::new(),
            parameters: serde_json::Map::new(),
            prompt: json!("2+2?"),
            output,
            usage: Usage { input_tokens: 7, cost_micros: Some(3), ..Usage::default() },
            began_ms: 1,
            ended_ms: 2,
        }
    }

    fn kept(output: Value, audit: Audit) -> Option<(Inference, Recorded)> {
        let blobs = relaymesh_store::Store::blobs(&MemoryStore::new(relaymesh_core::id::NodeId::new(1, 1)));
        let found = recorded(asked(output), (StepId { task: TaskId::new(1, 2), index: 3 }, 4), audit, &blobs)?;
        let Content::Inline(bytes) = &found.content else { panic!("it is short") };
        Some((Inference::parse(bytes).unwrap(), found))
    }

    #[test]
    fn a_snapshot_has_everything_and_what_it_used_stands_beside_it() {
        let (inference, recorded) = kept(json!("4"), Audit::Full).unwrap();
        assert_eq!(
            (inference.prompt, inference.output, inference.model.as_str()),
            (json!("2+2?"), json!("4"), UNKNOWN)
        );
        assert_eq!((inference.source_job.step, inference.source_job.epoch), (3, 4));
        let words: Vec<String> = recorded.about.iter().map(|(word, value)| format!("{word}={value}")).collect();
        let expected =
            "began_ms=1 cached_tokens=0 cost_micros=3 ended_ms=2 input_tokens=7 output_tokens=0 turns=0".split(' ');
        assert_eq!(words, expected.collect::<Vec<_>>());
    }

    #[test]
    fn hashes_alone_say_nothing_and_off_keeps_nothing() {
        let (inference, _) = kept(json!("4"), Audit::Hashes).unwrap();
        assert_eq!(inference.output["bytes"], 1);
        assert_eq!(inference.output["sha256"], Hash::sha256(b"4").to_string());
        assert!(!serde_json::to_string(&inference).unwrap().contains("2+2"));
        assert!(kept(json!("4"), Audit::Off).is_none());
    }

    #[test]
    fn a_number_that_others_would_round_is_kept_as_text() {
        let (inference, _) = kept(json!({ "n": u64::MAX }), Audit::Full).unwrap();
        assert_eq!(inference.output, json!(format!("{{\"n\":{}}}", u64::MAX)));
    }
}
