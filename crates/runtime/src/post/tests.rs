//! The post beside a driver on the memory store.

use super::{News, Post};
use crate::{
    clock::{Source as _, System},
    driver::{Answer, Caller, Command, Config, Driver, Letter, MessageCommand},
    host::Host,
};
use relaymesh_agents::Agents;
use relaymesh_core::{
    content::Media,
    id::NodeId,
    lanes::Priority,
    message::{DeadReason, State},
    name::Name,
    op::Scope,
};
use relaymesh_store::{Content, Reader as _, Store as _, memory::MemoryStore};
use std::{
    sync::mpsc,
    time::{Duration, Instant},
};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn caller() -> Caller {
    Caller { author: name("owner"), source: name("test"), via: None, asked_in: None }
}

/// A message that fails is due again after its backoff, to the millisecond; the post asks at that very moment, and a driver whose clock is behind
/// says "not yet". Taken for "somebody else has it", that left messages waiting for ever.
#[test]
fn r8_a_message_that_is_not_due_yet_is_taken_when_it_is() {
    let store = MemoryStore::new(NodeId::new(1, 1));
    let (disk, blobs) = (store.disk(), store.blobs());
    // Its clock is far ahead of the machine's, as after a wall clock was set back.
    let ahead_ms = System.wall_ms() + 3_600_000;
    let driver = Driver::start(store, Config::default(), |handle| {
        Host::new(ahead_ms, blobs.clone(), None, handle.late(), |_| {})
    })
    .unwrap();
    let (news, received) = mpsc::channel();
    let post = Post::new(
        (disk.reader(), blobs),
        (driver.handle().clone(), caller()),
        NodeId::new(1, 1),
        Agents::default(),
        news.clone(),
        |why| panic!("{why}"),
    );
    let posting = std::thread::spawn(move || post.run(&received));
    let letter = Letter {
        namespace: name("default"),
        thread: None,
        message: None,
        from: name("asker"),
        to: name("fail"),
        priority: Priority::Normal,
        reply_to: None,
        asks: None,
        media: Media::Json,
        content: Content::Inline(b"{}".to_vec()),
        trace_id: 7,
        ttl_ms: None,
        max_deliveries: 2,
    };
    let sent = driver.handle().call(caller(), Command::Message(MessageCommand::Send(Box::new(letter))));
    let Ok(Answer::Message { thread, message, .. }) = sent else { panic!("{sent:?}") };
    let mut reader = disk.reader();
    let patience = Instant::now() + Duration::from_secs(60);
    loop {
        let rows = reader.scope(Scope::Thread(thread)).unwrap().unwrap();
        let row = rows.thread().unwrap().messages[&message].clone();
        if row.state == State::Dead {
            assert_eq!((row.dead, row.deliveries), (Some(DeadReason::Exhausted), 2));
            break;
        }
        assert!(Instant::now() < patience, "it waits for ever: {row:?}");
        std::thread::yield_now();
    }
    news.send(News::End).unwrap();
    posting.join().unwrap();
    driver.stop().unwrap();
}
