//! Parsing, bounds, precedence; the history.

use super::{
    history::{self, Entry},
    *,
};
use std::path::Path;

fn layers(variables: &[(&str, &str)], flags: &[(&str, &str)]) -> Layers {
    let owned = |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
    Layers { root: Path::new("/nowhere").into(), variables: owned(variables), flags: owned(flags) }
}

fn parsed(text: &str) -> Result<Loaded, Error> {
    layers(&[], &[]).over(Some(text))
}

#[test]
fn r18_names_and_defaults_are_those_of_the_contract() {
    let contract = [
        ("max_attempts", "3"),
        ("base_backoff_ms", "1000"),
        ("max_backoff_ms", "60000"),
        ("reclaim_scan_interval_ms", "5000"),
        ("lease_heartbeat_ms", "2000"),
        ("lease_timeout_ms", "15000"),
        ("suspect_recover_min_ms", "5000"),
        ("dead_recover_min_ms", "30000"),
        ("pause_worker_when_local_not_alive", "true"),
        ("mesh_prune_older_than_ms", "604800000"),
        ("mesh_prune_limit", "256"),
        ("mesh_prune_interval_ms", "3600000"),
        ("payload_max_bytes", "10485760"),
        ("done_retention_days", "7"),
        ("idempotency_ttl_days", "7"),
        ("queue_capacity", "100"),
        ("thread_pool_core", "4"),
        ("thread_pool_max", "8"),
        ("llm_parallel_limit", "4"),
        ("gossip_sync_sample_size", "32"),
        ("max_consecutive_high", "100"),
    ];
    let ours: Vec<(&str, String)> =
        TABLE.iter().map(|setting| (setting.name, setting.default.to_string())).take(contract.len()).collect();
    assert_eq!(ours, contract.map(|(name, value)| (name, value.to_owned())));
}

#[test]
fn defaults_are_what_the_parts_that_use_them_have_anyway() {
    let settings = Settings::default();
    assert_eq!(settings.config(), Config::default());
    assert_eq!(settings.retention(), Retention::default());
    assert_eq!(settings.retry(), RetryPolicy::default());
    assert_eq!(settings.max_clock_drift_ms, relaymesh_core::hlc::MAX_CLOCK_DRIFT_MS);
    assert_eq!(settings.payload_max_bytes, relaymesh_core::content::CONTENT_BYTES_DEFAULT as u64);
    for (setting, value) in TABLE.iter().zip(settings.values()) {
        assert_eq!(setting.default, value, "{}", setting.name);
        if let (Value::Number(number), Some((min, max))) = (&value, setting.bound) {
            assert!((min..=max).contains(number), "{}", setting.name);
        }
        assert_eq!(!matches!(value, Value::Number(_)), setting.bound.is_none(), "{}", setting.name);
    }
    assert_eq!(layers(&[], &[]).load(), Ok(Loaded::default()), "without a file");
}

#[test]
fn every_setting_can_be_set_in_every_layer_and_the_later_one_wins() {
    for (index, setting) in TABLE.iter().enumerate() {
        // Between the bounds, where no rule between two settings is broken.
        let other = match (setting.default.clone(), setting.name) {
            (Value::Flag(flag), _) => (!flag).to_string(),
            (Value::Number(number), "payload_max_bytes" | "lease_heartbeat_ms" | "trace_sample_per_mille") => {
                (number - 100).to_string()
            }
            (Value::Number(number), "base_backoff_ms" | "suspect_recover_min_ms" | "thread_pool_core") => {
                (number + 1).to_string()
            }
            (Value::Number(number), _) => (number + 2).to_string(),
            (Value::Text(_), "http_addr") => "[::1]:8080".to_owned(),
            (Value::Text(_), "synchronous") => "normal".to_owned(),
            (Value::Text(_), "otlp_endpoint") => "http://a.example".to_owned(),
            (Value::Text(_), "otlp_headers_secret") => "collector".to_owned(),
            (Value::Text(_), "namespace_weights") => "team-a=3,b=1000".to_owned(),
            (Value::Text(_), _) => "a.example,b.example".to_owned(),
        };
        let (default, variable) = (setting.default.to_string(), setting.variable());
        let in_json = |value: &str| match setting.default {
            Value::Text(_) => format!("{{\"{}\": \"{value}\"}}", setting.name),
            Value::Number(_) | Value::Flag(_) => format!("{{\"{}\": {value}}}", setting.name),
        };
        let (in_file, in_default) = (in_json(&other), in_json(&default));
        let cases = [
            (layers(&[], &[]), in_file.as_str(), other.as_str(), Source::File),
            (layers(&[(&variable, &other)], &[]), &in_default, &other, Source::Environment),
            (layers(&[(&variable, &default)], &[]), &in_file, &default, Source::Environment),
            (layers(&[(&variable, &default)], &[(setting.name, &other)]), &in_default, &other, Source::Flag),
            (layers(&[(&variable, &other)], &[(setting.name, &default)]), &in_file, &default, Source::Flag),
        ];
        for (layers, text, value, source) in cases {
            let loaded = layers.over(Some(text)).unwrap();
            assert_eq!(loaded.settings.values()[index].to_string(), value, "{} {text}", setting.name);
            assert_eq!(loaded.sources[index], source, "{} {text}", setting.name);
            let changed: &[&str] = if value == default { &[] } else { &[setting.name] };
            assert_eq!(loaded.changed_fields(&Settings::default()), changed);
        }
    }
}

#[test]
fn numbers_outside_of_their_bounds_are_refused_in_every_layer_and_the_bounds_are_said() {
    for setting in TABLE {
        let Some((min, max)) = setting.bound else { continue };
        for outside in [min.checked_sub(1), max.checked_add(1)].into_iter().flatten() {
            let (variable, outside) = (setting.variable(), outside.to_string());
            let errors = [
                parsed(&format!("{{\"{}\": {outside}}}", setting.name)),
                layers(&[(&variable, &outside)], &[]).over(None),
                layers(&[], &[(setting.name, &outside)]).over(None),
            ];
            for error in errors.map(Result::unwrap_err) {
                let bound = format!("is {outside}; it must be an integer from {min} to {max}");
                assert!(error.message.contains(&bound), "{}: {error}", setting.name);
            }
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let cases = [
        ("{\n  \"queue_capacity\": 0\n}", Some((2, 3)), "`queue_capacity` is 0; it must be"),
        ("{\"queue_capacity\": 1.5}", Some((1, 2)), "must be an integer from 1 to 100000"),
        ("{\"queue_capacity\": \"7\"}", Some((1, 2)), "must be an integer"),
        ("{\"queue_capacity\": true}", Some((1, 2)), "must be an integer"),
        ("{\"pause_worker_when_local_not_alive\": 1}", Some((1, 2)), "must be true or false"),
        ("{\n\"queue_capacity\": 1,\n\"queue_capacity\": 2}", Some((3, 16)), "occurs twice"),
        ("{\"a\": {\"queue_capacity\": 1}}", Some((1, 2)), "there is no setting `a`"),
        ("{\"queue_capacity\": 1,}", Some((1, 22)), "not valid JSON"),
        ("[]", Some((1, 1)), "one JSON object"),
        ("", Some((1, 0)), "not valid JSON"),
        (
            "{\n \"max_backoff_ms\": 5,\n \"base_backoff_ms\": 9}",
            Some((3, 2)),
            "`base_backoff_ms` is 9, but it must not be above",
        ),
        ("{\"lease_timeout_ms\": 4000}", None, "`lease_heartbeat_ms` is 2000, but it must be less than half"),
        (
            "{\"thread_pool_max\": 3}",
            None,
            "`thread_pool_core` is 4, but it must not be above `thread_pool_max`, which is 3",
        ),
        ("{\"dead_recover_min_ms\": 3}", None, "`suspect_recover_min_ms` is 5000"),
    ];
    for (text, place, words) in cases {
        let error = parsed(text).unwrap_err();
        assert_eq!(error.place, place, "{text}: {error}");
        assert!(error.message.contains(words), "{text}: {error}");
    }
    let unknown = parsed("{\"queue_capacty\": 1}").unwrap_err();
    assert_eq!(unknown.unknown.as_deref(), Some("queue_capacty"));
    let flag = layers(&[], &[("nope", "1")]).over(None).unwrap_err();
    assert_eq!((flag.layer, flag.unknown.as_deref()), (Source::Flag, Some("nope")));
}

#[test]
fn a_value_of_another_kind_is_not_repeated_in_the_error() {
    let error = parsed("{\"queue_capacity\": \"hunter2-by-mistake\"}").unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    let error = layers(&[("RELAYMESH_QUEUE_CAPACITY", "hunter2-by-mistake")], &[]).over(None).unwrap_err();
    assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
}

#[test]
fn other_variables_and_the_schema_of_an_editor_are_left_alone() {
    let loaded =
        layers(&[("RELAYMESH_ROOT", "x"), ("QUEUE_CAPACITY", "5")], &[]).over(Some("{\"$schema\": \"x.json\"}"));
    assert_eq!(loaded, Ok(Loaded::default()));
}

fn entry(at_ms: u64) -> Entry {
    Entry { at_ms, source: "file".to_owned(), changed_fields: vec!["queue_capacity".to_owned()] }
}

#[test]
fn the_history_is_newest_first_and_outlives_a_line_that_was_cut_short() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(history::newest(root.path(), 10).unwrap(), []);
    history::append(root.path(), &entry(1)).unwrap();
    let path = root.path().join(history::FILE);
    let mut text = std::fs::read_to_string(&path).unwrap();
    text += "{\"at_ms\": 2, \"sour";
    std::fs::write(&path, text).unwrap();
    history::append(root.path(), &entry(3)).unwrap();
    assert_eq!(history::newest(root.path(), 10).unwrap(), [entry(3), entry(1)]);
    assert_eq!(history::newest(root.path(), 1).unwrap(), [entry(3)]);
}

#[test]
fn the_history_does_not_grow_for_ever() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join(history::FILE);
    let lines: String = (0..2_000).map(|at_ms| serde_json::to_string(&entry(at_ms)).unwrap() + "\n").collect();
    std::fs::write(&path, lines).unwrap();
    history::append(root.path(), &entry(2_000)).unwrap();
    let kept = std::fs::read_to_string(&path).unwrap();
    assert_eq!(kept.lines().count(), history::ENTRIES_MAX);
    let newest = history::newest(root.path(), usize::MAX).unwrap();
    assert_eq!((newest.first(), newest.last()), (Some(&entry(2_000)), Some(&entry(1_001))));
}

#[test]
fn a_text_must_have_its_form_and_what_was_found_is_not_repeated() {
    let table = [
        ("http_addr", "localhost:80", false),
        ("http_addr", "10.0.0.1", false),
        ("http_addr", "off", true),
        ("synchronous", "NORMAL", false),
        ("synchronous", "off", false),
        ("synchronous", "normal", true),
        ("http_addr", "0.0.0.0:443", true),
        ("http_hosts", "a.example,,b", false),
        ("http_hosts", "http://a.example/", false),
        ("http_hosts", "a.example,[::1]", true),
        ("http_tls_cert", "/etc/relaymesh/cert.pem", true),
        ("http_tls_cert", "a\nb", false),
    ];
    for (name, text, is_right) in table {
        let found = layers(&[], &[(name, text)]).over(None);
        assert_eq!(found.is_ok(), is_right, "{name} = {text:?}");
        if let Err(error) = found {
            assert!(error.message.contains(name) && !error.message.contains(text), "{error}");
        }
    }
    assert!(layers(&[], &[]).over(Some("{\"http_addr\": 80}")).is_err());
    assert!(layers(&[], &[]).over(Some("{\"queue_capacity\": \"many\"}")).is_err());
}

/// What is said to have no effect is only what several nodes need.
#[test]
fn r18_only_settings_of_several_nodes_have_no_effect() {
    let without: Vec<_> =
        TABLE.iter().filter(|setting| setting.effect == Effect::NotYet).map(|setting| setting.name).collect();
    let of_several_nodes = [
        "suspect_recover_min_ms",
        "dead_recover_min_ms",
        "pause_worker_when_local_not_alive",
        "mesh_prune_older_than_ms",
        "mesh_prune_limit",
        "mesh_prune_interval_ms",
        "gossip_sync_sample_size",
        "max_clock_drift_ms",
    ];
    assert_eq!(without, of_several_nodes);
    assert_eq!(Effect::NotYet.as_str(), "no effect yet: for several nodes");
}
