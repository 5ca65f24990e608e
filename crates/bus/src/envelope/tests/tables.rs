//! The tables of states and of entity types, word for word.

use super::*;

#[test]
fn f19_the_states_are_those_of_the_contract_and_ends_are_ends() {
    let moves: Vec<String> =
        State::ALL.into_iter().flat_map(|from| from.next().iter().map(move |to| format!("{from}>{to}"))).collect();
    let expected = "intent>committed intent>rejected intent>queued queued>committed queued>rejected queued>reconciled";
    assert_eq!(moves.join(" "), expected);
    for state in State::ALL {
        assert_eq!(serde_json::to_value(state).unwrap(), state.to_string());
        for next in State::ALL {
            assert_eq!(state.may_become(next), expected.contains(&format!("{state}>{next}")));
        }
        assert!(!state.may_become(state), "nothing happens twice");
    }
}

#[test]
fn only_what_is_written_with_a_class_travels_with_it() {
    let classes = [WriteClass::Strong, WriteClass::AppendOnly, WriteClass::Queued, WriteClass::Local];
    for entity in EntityType::ALL {
        for class in classes {
            let written = Order::ALL.into_iter().any(|order| class_of(entity, order) == class);
            let travels = sealed(|header| (header.entity_type, header.write_class) = (entity, class)).is_ok();
            assert_eq!(travels, written && class != WriteClass::Local, "{entity:?} {class:?}");
        }
    }
}

#[test]
fn a_fence_token_reads_as_the_contract_says() {
    let token = FenceToken { epoch: 7, coordinator: node(1), sequence: 99 };
    assert_eq!(token.to_string(), format!("7:{}:99", node(1)));
    assert_eq!(token.to_string().parse(), Ok(token));
    for text in ["", "7", "7:99", "7:node_a:99", &format!("7:{}:", node(1)), &format!("+7:{}:9", node(1))] {
        assert!(text.parse::<FenceToken>().is_err(), "{text}");
    }
}
