//! The form of the words. The two ends together are tested with the whole program.

use super::*;
use relaymesh_core::{name::Name, task::request::Request};
use relaymesh_runtime::driver::Until;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[test]
fn a_question_has_these_bytes() {
    let caller = Caller::new(name("ann"), name("cli"));
    let reason = "wrong".to_owned();
    let task = relaymesh_core::id::TaskId::from_bytes([7; 16]);
    let command = Command::Cancel { task, mode: relaymesh_core::op::CancelMode::Soft, reason };
    let mut out = Vec::new();
    frame::append(&Question { id: 3, ask: Ask::Command { caller, command: Box::new(command) } }, &mut out).unwrap();
    let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
    insta::assert_snapshot!(hex, @"23000000030003616e6e03636c69000807070707070707070707070707070707010577726f6e67");
}

#[test]
fn a_submit_has_these_bytes() {
    let request = Request::single(name("echo"), Some(serde_json::json!(1)));
    let submit = Submit::new(name("default"), request.prepare(&name("default"), None, 1).unwrap(), Until::Accepted);
    let gaps = crate::flow::retry_gaps(&request);
    assert_eq!(gaps.len(), 1);
    let ask = Ask::Submit { caller: Caller::new(name("ann"), name("cli")), submit: Box::new(submit), gaps };
    let mut out = Vec::new();
    frame::append(&Question { id: 3, ask }, &mut out).unwrap();
    let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
    insta::assert_snapshot!(hex, @"a0000000030703616e6e03636c69000764656661756c74046563686f0030f05fdde4eb72d85781ccc82fa1f331e559606eb29dadcf113c14324c1c41cb30f05fdde4eb72d85781ccc82fa1f331e559606eb29dadcf113c14324c1c41cb010001046563686f046563686f010000016b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b010003e807e0d4030000000001000131000100000000");
}

#[test]
fn what_operators_ask_and_are_told_has_these_bytes() {
    let hex = |out: &[u8]| out.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut out = Vec::new();
    frame::append(&Question { id: 1, ask: Ask::Status }, &mut out).unwrap();
    frame::append(&Question { id: 2, ask: Ask::Metrics { open: true } }, &mut out).unwrap();
    frame::append(&Question { id: 3, ask: Ask::Stop }, &mut out).unwrap();
    insta::assert_snapshot!(hex(&out), @"02000000010403000000020501020000000306");
    let held = HeldAgent { who: "p".to_owned(), until_ms: 7, because: "429".to_owned() };
    let status = Status { pid: 9, version: "0".to_owned(), held: vec![held], ..Status::new(NodeId::new(1, 1)) };
    let mut out = Vec::new();
    for said in [Said::Status(Box::new(status)), Said::Metrics("m".to_owned())] {
        frame::append(&Word::Answer { id: 1, result: Ok(said) }, &mut out).unwrap();
    }
    insta::assert_snapshot!(hex(&out), @"3200000000010001090130000000000001000000000000000000010000000000000000000000000000000000000101700703343239000600000000010002016d");
}
