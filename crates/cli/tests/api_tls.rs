//! The HTTP API with TLS: no other way in, and another certificate without a restart.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{house::House, web::Web};
use rustls::{
    ClientConfig, ClientConnection, RootCertStore, StreamOwned,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName},
};
use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    path::Path,
    sync::Arc,
};

/// A certificate for this machine, in its files; and itself, to be trusted.
fn certificate(folder: &Path) -> CertificateDer<'static> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    for (name, text) in [("key.pem", made.signing_key.serialize_pem()), ("cert.pem", made.cert.pem())] {
        std::fs::write(folder.join(format!("{name}.new")), text).unwrap();
        std::fs::rename(folder.join(format!("{name}.new")), folder.join(name)).unwrap();
    }
    made.cert.der().clone()
}

/// What is answered to a request by whoever trusts this certificate and no other.
fn ask(web: &Web, trusted: &CertificateDer<'static>, request: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let config =
        config.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots).with_no_client_auth();
    let client = ClientConnection::new(Arc::new(config), ServerName::try_from("localhost").unwrap()).unwrap();
    let port = web.host.rsplit_once(':').unwrap().1;
    let mut stream = StreamOwned::new(client, TcpStream::connect(format!("127.0.0.1:{port}"))?);
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer); // an end without farewell is an end
    Ok(answer)
}

fn house(address: &str, more: &[&str]) -> (House, CertificateDer<'static>, crate::common::Said) {
    let house = House::new();
    assert_eq!(house.run(&["init"]).code, 0);
    let trusted = certificate(&house.0.root());
    for arguments in more {
        assert_eq!(house.run(&arguments.split(' ').collect::<Vec<_>>()).code, 0);
    }
    let address = format!("http_addr={address}");
    let set = [
        "up",
        "--detach",
        "--set",
        &address,
        "--set",
        "http_tls_cert=cert.pem",
        "--set",
        "http_tls_key=key.pem",
        "--set",
        "http_hosts=localhost",
    ];
    let said = house.run(&set);
    (house, trusted, said)
}

#[test]
fn with_a_certificate_there_is_tls_alone_and_another_one_is_taken_up_without_a_restart() {
    let (house, first, said) = house("127.0.0.1:0", &[]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let (web, pid) = (Web::of(&house), house.pid());
    assert!(house.json(&["status"])["http"].as_str().unwrap().starts_with("https://"));
    let request = web.request("GET", "/tasks", &[], None);
    let answer = ask(&web, &first, &request).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(answer.to_ascii_lowercase().contains("strict-transport-security: max-age="), "{answer}");
    let mut plain = web.connect();
    plain.write_all(request.as_bytes()).unwrap();
    let mut bytes = Vec::new();
    let _ = plain.read_to_end(&mut bytes);
    assert!(!String::from_utf8_lossy(&bytes).contains("HTTP/1.1 200"), "nothing is said in the clear");

    let second = certificate(&house.0.root());
    house.0.until("the new certificate is shown", |_| ask(&web, &second, &request).is_ok());
    assert!(ask(&web, &first, &request).is_err(), "and the old one is not");
    assert_eq!(house.pid(), pid, "without a restart");
    std::fs::write(house.0.root().join("cert.pem"), "nonsense").unwrap();
    let log = house.0.root().join("daemon.log");
    house.0.until("it is refused", |_| std::fs::read_to_string(&log).unwrap().contains("http_certificate_refused"));
    assert!(ask(&web, &second, &request).is_ok(), "one that cannot be used changes nothing");
}

#[test]
fn an_open_address_needs_a_token_too_and_is_asked_by_its_known_names_alone() {
    let (_house, _, said) = house("0.0.0.0:0", &[]);
    assert!(said.stderr.contains("no valid token"), "{}", said.stderr);
    let (house, trusted, said) = house("0.0.0.0:0", &["token create ops --scope admin", "down"]);
    assert_eq!(said.code, 0, "{}", said.stderr);
    let endpoint = std::fs::read_to_string(house.0.root().join("daemon.json")).unwrap();
    let port = endpoint.split("https://0.0.0.0:").nth(1).unwrap().split('"').next().unwrap();
    let web = Web { host: format!("localhost:{port}"), token: None };
    assert!(ask(&web, &trusted, &web.request("GET", "/health", &[], None)).unwrap().starts_with("HTTP/1.1 200"));
    let by_address = web.request("GET", "/health", &[("Host", "127.0.0.1")], None);
    assert!(ask(&web, &trusted, &by_address).unwrap().starts_with("HTTP/1.1 421"));
}
