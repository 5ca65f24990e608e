//! Requests and responses carry envelopes both ways (F19).

use super::{super::sync::*, *};
use crate::envelope::tests::sealed;
use proptest::prelude::*;

fn peer(number: u128) -> PeerInfo {
    PeerInfo { node_id: node(number), node_url: format!("https://n{number}.example"), last_seen: stamp(5) }
}

fn request(replication: Vec<Sealed>) -> PeerSyncRequest {
    let url = "https://n1.example".to_owned();
    PeerSyncRequest {
        sender_node_id: node(1),
        sender_node_url: url,
        known_peers: vec![peer(2)],
        timestamp: stamp(9),
        replication,
    }
}

fn response(replication: Vec<Sealed>) -> PeerSyncResponse {
    PeerSyncResponse {
        sender_node_id: node(2),
        sender_node_url: "https://n2.example".to_owned(),
        known_peers: vec![peer(1), peer(3)],
        new_peers: vec![peer(3)],
        timestamp: stamp(10),
        replication,
    }
}

#[test]
fn f19_envelopes_go_both_ways_and_one_that_is_refused_does_not_stop_the_others() {
    let good = |sequence| Sealed(sealed(|header| header.sequence = sequence).unwrap());
    let mut bad = good(2);
    bad.0[70] ^= 1;
    let all = vec![good(1), bad, good(3)];
    let opened: Vec<Option<u64>> =
        request(all.clone()).open(expected()).map(|one| one.ok().map(|one| one.header().sequence)).collect();
    assert_eq!(opened, [Some(1), None, Some(3)]);
    let back: Vec<Option<u64>> =
        response(all.clone()).open(expected()).map(|one| one.ok().map(|one| one.header().sequence)).collect();
    assert_eq!(back, opened);
    let (request, response) = (request(all.clone()), response(all));
    let text = serde_json::to_string(&request).unwrap();
    assert!(
        text.contains(r#""senderNodeId""#) && text.contains(r#""knownPeers""#) && text.contains(r#""replication":[""#)
    );
    assert_eq!(serde_json::from_str::<PeerSyncRequest>(&text).unwrap(), request);
    let text = serde_json::to_string(&response).unwrap();
    assert!(text.contains(r#""newPeers""#));
    assert_eq!(serde_json::from_str::<PeerSyncResponse>(&text).unwrap(), response);
    let binary = postcard::to_allocvec(&response).unwrap();
    assert_eq!(postcard::from_bytes::<PeerSyncResponse>(&binary).unwrap(), response);
    let old = r#"{"senderNodeId":"NODE","senderNodeUrl":"","knownPeers":[],"timestamp":HLC}"#
        .replace("NODE", &node(1).to_string())
        .replace("HLC", &serde_json::to_string(&stamp(1)).unwrap());
    assert!(serde_json::from_str::<PeerSyncRequest>(&old).unwrap().replication.is_empty(), "without envelopes");
}

#[test]
fn carriers_are_bounded() {
    let good = Sealed(vec![0; 10]);
    assert_eq!(request(vec![good.clone(); ENVELOPES_MAX]).check(), Ok(()));
    let what = |checked: Result<(), TooMuch>| checked.unwrap_err().what;
    assert_eq!(what(request(vec![good; ENVELOPES_MAX + 1]).check()), "envelopes");
    let mut many = response(vec![]);
    assert_eq!(many.check(), Ok(()));
    many.new_peers = vec![peer(1); PEERS_MAX + 1];
    assert_eq!(what(many.check()), "peers");
    let mut long = request(vec![]);
    long.known_peers[0].node_url = "x".repeat(URL_BYTES_MAX + 1);
    assert_eq!(what(long.check()), "bytes in an address");
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), text in ".{0,100}") {
        let _ = postcard::from_bytes::<PeerSyncRequest>(&bytes);
        let _ = serde_json::from_slice::<PeerSyncResponse>(&bytes);
        let _ = serde_json::from_value::<Sealed>(text.into());
    }
}
