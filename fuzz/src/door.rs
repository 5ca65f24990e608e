//! What a request to the HTTP API says about itself, up to the door's decision.

use crate::ERROR_BYTES_MAX;
use relaymesh_cli::fuzzing::api::{self, ADDED, Heard, Let};

/// What passes was asked of a name of ours, by no page but ours, and in no form that a page could send unasked; and what decides is there once.
pub fn target(data: &[u8]) {
    let Some((switch, request)) = data.split_first() else { return };
    let takes_get = switch & 1 == 1;
    let Some(heard) = api::door(request, takes_get) else { return };
    assert_eq!(api::door(request, takes_get).as_ref(), Some(&heard), "the same again");
    let unmoved =
        api::door(&[request, b"\nx-forwarded-for: 6.6.6.6\ncookie: token=rmt_1\nx-api-key: rmt_1"].concat(), takes_get);
    assert_eq!(unmoved.map(|other| other.decided).as_ref(), Some(&heard.decided), "decided by what nobody decides by");
    if let Some(token) = &heard.token {
        assert!(token.len() <= 256 && token.bytes().all(|byte| byte.is_ascii_graphic()), "{token:?}");
    }
    match &heard.decided {
        Ok(passed) => passes(&heard, passed, takes_get),
        Err(problem) => {
            assert!(problem.len() <= 2 * ERROR_BYTES_MAX, "a refusal of {} bytes: {problem:.300}", problem.len());
            let _: serde_json::Value = serde_json::from_str(problem).expect("a problem is JSON");
        }
    }
}

fn passes(heard: &Heard, passed: &Let, takes_get: bool) {
    let host = heard.host.as_deref().expect("nobody passes who does not say whom they ask");
    assert!(is_ours(host), "{host} is not ours");
    match &heard.origins[..] {
        [] => {}
        [origin] => assert!(origin.eq_ignore_ascii_case(&format!("http://{host}")), "{origin} has asked {host}"),
        _ => panic!("two origins have passed"),
    }
    assert!(heard.sites.len() <= 1, "two pages have passed: {heard:?}");
    assert!(heard.sites.iter().all(|site| matches!(site.as_str(), "same-origin" | "none")), "{heard:?}");
    if passed.is_by_get {
        assert!(takes_get && passed.is_write && heard.method == "GET" && heard.origins.len() == 1, "{heard:?}");
    } else if passed.is_write {
        assert_eq!(heard.method, "POST", "{heard:?}");
        let media = heard.media.as_deref().expect("a write says what form it has");
        assert!(matches!(media, "application/json" | "application/x-ndjson" | "application/octet-stream"), "{heard:?}");
    } else {
        assert!(matches!(heard.method.as_str(), "GET" | "HEAD"), "{heard:?}");
    }
    let open = [
        "/api/v1/health",
        "/api/v1/ready",
        "/api/v1/openapi.json",
        "/api/v1/errors/{code}",
        "/api/v1/session",
        "/api/v1/agents/register",
    ];
    assert_eq!(passed.is_open, open.contains(&passed.route.as_str()), "{heard:?}");
}

/// Written anew, and simpler than what it judges: the parts of an address one by one, and two names.
fn is_ours(host: &str) -> bool {
    let is_port = |text: &str| !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => name,
        _ => host,
    };
    let parts: Vec<&str> = name.split('.').collect();
    let is_four = parts.len() == 4 && parts.iter().all(|part| part.len() <= 3 && part.parse::<u8>().is_ok());
    let is_loopback = is_four && parts[0] == "127";
    let six = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or("");
    let is_six = !six.is_empty() && six.bytes().all(|byte| matches!(byte, b'0' | b'1' | b':' | b'.'));
    is_loopback || is_six || name.eq_ignore_ascii_case("localhost") || name.eq_ignore_ascii_case(ADDED)
}

/// Requests that pass, and some that do not.
pub fn seeds() -> Vec<Vec<u8>> {
    let texts = [
        "\0GET /api/v1/tasks?limit=3\nhost: 127.0.0.1:8080\nauthorization: Bearer rmt_1\nuser-agent: curl/8",
        "\0POST /api/v1/tasks\nhost: localhost:8080\norigin: http://localhost:8080\nsec-fetch-site: same-origin\ncontent-type: application/json; charset=utf-8",
        "\0POST /api/v1/tasks/bulk\nhost: [::1]:1\ncontent-type: application/x-ndjson\nidempotency-key: k",
        "\u{1}GET /api/v1/flows\nhost: relay.example\norigin: http://relay.example\nauthorization: Bearer rmt_1",
        "\0GET http://127.0.0.2:80/api/v1/health\nhost: attacker.example\nsec-fetch-site: none",
        "\0POST /api/v1/tasks/tsk_01M7NG05E3BXGNSWJW7VBSE1Q3/cancel\nhost: 127.0.0.1\ncontent-type: text/plain\norigin: null",
        "\0HEAD /metrics\nhost: attacker.example:80\nsec-fetch-site: cross-site\nreferer: http://attacker.example/?a=b",
        "\u{1}OPTIONS /api/v1/session\nhost: 127.0.0.1\naccess-control-request-method: POST\norigin: http://127.0.0.1",
    ];
    texts.map(|text| text.as_bytes().to_vec()).to_vec()
}
