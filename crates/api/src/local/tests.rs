//! The form of the words. The two ends together are tested with the whole program.

use super::*;
use relaymesh_core::name::Name;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

#[test]
fn a_question_has_these_bytes() {
    let caller = Caller { author: name("ann"), source: name("cli") };
    let reason = "wrong".to_owned();
    let task = relaymesh_core::id::TaskId::from_bytes([7; 16]);
    let command = Command::Cancel { task, mode: relaymesh_core::op::CancelMode::Soft, reason };
    let mut out = Vec::new();
    frame::append(&Question { id: 3, ask: Ask::Command { caller, command: Box::new(command) } }, &mut out).unwrap();
    let hex: String = out.iter().map(|byte| format!("{byte:02x}")).collect();
    insta::assert_snapshot!(hex, @"22000000030003616e6e03636c690807070707070707070707070707070707010577726f6e67");
}
