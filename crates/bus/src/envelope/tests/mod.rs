//! What envelopes promise: every byte counts, additions are kept, and each refusal has its reason.

mod bytes;
mod carriers;
mod fields;
mod tables;

use super::*;
use crate::{
    contract::samples::signer,
    write_class::{EntityType, Order, class_of},
};
use relaymesh_core::{hash::Hash, op::WriteClass};

pub(crate) use crate::contract::samples::{SENDER, US, expected, fingerprint, header, node, stamp};

pub(crate) fn sealed(change: impl Fn(&mut Header)) -> Result<Vec<u8>, Error> {
    let mut header = header();
    change(&mut header);
    seal(&signer(SENDER), &header, b"payload")
}

/// A good envelope after a change of its header's text, signed anew.
fn rewritten(change: impl Fn(String) -> String) -> Vec<u8> {
    let bytes = sealed(|_| {}).unwrap();
    let length = u32::from_be_bytes(bytes[64..68].try_into().unwrap()) as usize;
    let text = change(String::from_utf8(bytes[68..68 + length].to_vec()).unwrap());
    seal::sealed(&signer(SENDER), text.as_bytes(), b"payload")
}
