//! Errors as people and programs see them: a stable code, a message, hints as data, and a page.
//!
//! The kind says what the caller should do and is the exit code; the code says what was found and has its section in
//! `docs/reference/errors.md`. Both are contract: scripts match on them.

mod page;

pub use page::Explained;

use relaymesh_core::{
    lock,
    task::{Refusal, request},
};
use relaymesh_runtime::driver;
use relaymesh_store as store;
use serde_json::{Value, json};

/// What the caller should do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Fix the command or the file. Nothing changed.
    Usage,
    /// Correct the name or the id. Nothing changed.
    NotFound,
    /// The rules do not allow it. Nothing changed.
    Refused,
    /// Wait for the other process, or ask it. Nothing changed.
    InUse,
    /// Stop and look at the store.
    Damaged,
    /// Free some space and try again. Nothing changed.
    DiskFull,
    /// The outcome is unknown: repeat with the same key.
    Indeterminate,
    /// The machine reported an error: permissions, a missing folder, a broken disk.
    Io,
}

impl Kind {
    /// Its name on the page of errors.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NotFound => "not found",
            Self::Refused => "refused",
            Self::InUse => "in use",
            Self::Damaged => "damaged",
            Self::DiskFull => "disk full",
            Self::Indeterminate => "indeterminate",
            Self::Io => "io",
        }
    }

    /// The process exit code.
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Usage => 2,
            Self::NotFound => 3,
            Self::Refused => 4,
            Self::InUse => 5,
            Self::Damaged => 6,
            Self::DiskFull => 7,
            Self::Indeterminate => 8,
            Self::Io => 9,
        }
    }
}

macro_rules! codes {
    ($($number:literal $name:ident $text:literal $kind:ident [$($hint:literal $(=> $http:literal)?),*];)*) => {
        /// What was found. Codes are never renamed.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each has its section in the page of errors")]
        pub enum Code { $($name,)* }

        impl Code {
            /// Every code there is.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// The code as it is printed.
            pub fn as_str(self) -> &'static str {
                match self { $(Code::$name => $text,)* }
            }

            /// The code with this text, if there is one.
            pub fn parse(text: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == text)
            }

            /// Its number, as it is printed: `RM0007`. A number is never given to another code.
            pub fn number(self) -> &'static str {
                match self { $(Code::$name => concat!("RM", $number),)* }
            }

            /// What the caller should do.
            pub fn kind(self) -> Kind {
                match self { $(Code::$name => Kind::$kind,)* }
            }

            /// Hints for every error with this code.
            pub fn hints(self) -> &'static [&'static str] {
                match self { $(Code::$name => &[$($hint),*],)* }
            }

            /// The same in the words of the HTTP API.
            pub fn hints_over_http(self) -> impl Iterator<Item = &'static str> {
                let all: &'static [&'static str] =
                    match self { $(Code::$name => &[$(codes!(@over_http $hint $(, $http)?)),*],)* };
                all.iter().copied().filter(|hint| !hint.is_empty())
            }
        }
    };
    (@over_http $hint:literal) => { $hint };
    (@over_http $hint:literal, $http:literal) => { $http };
}

// Rows stand in the order of the page. A new row takes the next number that no row has had, wherever it stands. A hint is in the words of the
// command line; behind `=>` are those of the HTTP API, or nothing if it says nothing there. What only the daemon's machine can do is said in both.
codes! {
    "0001" Usage          "usage"           Usage         [];
    "0002" BadInput       "bad_input"       Usage         [];
    "0003" BadFlow        "bad_flow"        Usage         [];
    "0004" BadId          "bad_id"          Usage         ["list ids with `relaymesh task list`" => "`GET /api/v1/tasks` lists ids of tasks"];
    "0005" UnknownAgent   "unknown_agent"   Usage         [];
    "0006" BadAgents      "bad_agents"      Usage         [];
    "0030" BadSettings    "bad_settings"    Usage         ["list settings and their bounds with `relaymesh settings show`" => "`GET /api/v1/settings` lists settings and their bounds"];
    "0031" BadSecret      "bad_secret"      Usage         [];
    "0045" WrongMedia       "wrong_media" Usage ["send JSON with `Content-Type: application/json`"];
    "0048" WrongMethod      "wrong_method" Usage ["writes use POST; /api/v1/openapi.json lists every route"];
    "0050" TooSlow          "too_slow" Usage [];
    "0051" OpenAddress      "open_address" Usage ["set `http_tls_cert` and `http_tls_key`, or listen on 127.0.0.1"];
    "0055" InTheClear       "in_the_clear" Usage ["use https://, or a tunnel to 127.0.0.1 (`ssh -L`)"];
    "0056" LocalOnly        "local_only" Usage ["run it on the daemon's machine, without `--url` or RELAYMESH_URL"];
    "0007" NoFile         "no_file"         NotFound      [];
    "0008" NoRoot         "no_root"         NotFound      ["create it with `relaymesh init`", "or name another root with `--root DIR` or RELAYMESH_ROOT"];
    "0009" NoTask         "no_task"         NotFound      ["list ids with `relaymesh task list`" => "`GET /api/v1/tasks` lists ids of tasks"];
    "0010" NoStep         "no_step"         NotFound      [];
    "0034" NoNamespace    "no_namespace"    NotFound      ["list namespaces with `relaymesh ns list`" => "`GET /api/v1/namespaces` lists namespaces"];
    "0032" NoSecret       "no_secret"       NotFound      ["list secrets with `relaymesh secret list`" => "list secrets on the daemon's machine with `relaymesh secret list`"];
    "0047" NoRoute          "no_route" NotFound ["/api/v1/openapi.json lists every route"];
    "0052" NoContent        "no_content" NotFound [];
    "0053" NoToken          "no_token" NotFound ["list tokens with `relaymesh token list`" => "`GET /api/v1/tokens` lists tokens"];
    "0011" Refused        "refused"         Refused       [];
    "0012" Locked         "locked"          Refused       ["list locks and their holders with `relaymesh lock list`" => "`GET /api/v1/locks` lists locks and their holders"];
    "0013" KeyReused      "key_reused"      Refused       ["use another key for a different request", "or run it with a new key: `--new`" => "or run it again with `\"new\": true` and no key"];
    "0014" NotConfirmed   "not_confirmed"   Refused       [];
    "0041" NotAuthenticated "not_authenticated" Refused ["send `Authorization: Bearer TOKEN`; the first token is in http-token in the root"];
    "0042" Forbidden        "forbidden" Refused ["list tokens and their scopes with `relaymesh token list`" => "`GET /api/v1/tokens` lists tokens and their scopes; it needs the scope admin"];
    "0043" WrongHost        "wrong_host" Refused ["if the name is yours, add it to `http_hosts`"];
    "0044" ForeignPage      "foreign_page" Refused [];
    "0049" ChangedMeanwhile "changed_meanwhile" Refused ["read the current state, and repeat the change with its revision"];
    "0015" RootInUse      "root_in_use"     InUse         ["wait until it ends, or stop it (a daemon: `relaymesh down`, a command: Ctrl-C); no work is lost", "`task show`, `task list`, `task wait` and `log` work meanwhile" => ""];
    "0016" Damaged        "store_damaged"   Damaged       ["copy the root before you do anything else", "check the whole store with `relaymesh log verify`" => "on the daemon's machine, `relaymesh log verify` checks the whole store"];
    "0017" Amnesia        "amnesia"         Damaged       ["copy the root before you do anything else", "put the newest copy of the database back, if you have one", "or show and accept the loss with `relaymesh log recover`" => "or show and accept the loss with `relaymesh log recover` on the daemon's machine"];
    "0018" Unusable       "store_unusable"  Damaged       ["copy the root before you do anything else", "use the version of relaymesh that made it, or restore a backup"];
    "0033" SecretKey      "secret_key"      Refused       ["set RELAYMESH_SECRET_KEY (the key) or RELAYMESH_SECRET_KEY_FILE (its file); the default is secrets.key in the root"];
    "0019" TooLong        "too_long"        Refused       ["put it into a file that the agent can read, and pass its path" => "put it into a file that the agent can read and pass its path, or upload it with `POST /api/v1/content`"];
    "0020" OtherVersion   "other_version"   InUse         ["stop it with `relaymesh down`; the next command starts this version, and no work is lost"];
    "0021" DaemonGone     "daemon_gone"     Indeterminate ["repeat the command with the same `--key` or `--request-id`: it takes effect only once" => "repeat the request with the same `Idempotency-Key` or `request_id`: it takes effect only once", "see the end of daemon.log in the root for the reason" => ""];
    "0022" DaemonFailed   "daemon_failed"   Io            ["run `relaymesh up` in another terminal to see the reason"];
    "0023" Stopping       "stopping"        InUse         ["repeat the command: it starts a new daemon" => "the daemon is stopping: repeat the request once it runs again"];
    "0024" NoDaemon       "no_daemon"       NotFound      ["start one with `relaymesh up`"];
    "0054" Unreachable      "unreachable" NotFound ["check `--url` or RELAYMESH_URL; `relaymesh status` on the daemon's machine shows its address"];
    "0025" DiskFull       "disk_full"       DiskFull      ["free some space and repeat the command; reads still work" => "free some space on the daemon's machine and repeat the request; reads still work"];
    "0026" Indeterminate  "indeterminate"   Indeterminate ["repeat the command with the same `--key` or `--request-id`: it takes effect only once" => "repeat the request with the same `Idempotency-Key` or `request_id`: it takes effect only once", "check the store with `relaymesh log verify`" => ""];
    "0027" Busy           "busy"            InUse         ["try again in a moment"];
    "0046" TooMany          "too_many" InUse ["wait as long as `Retry-After` says"];
    "0028" StoreIo        "store_io"        Io            ["check the disk, its free space and the permissions of the root; then repeat the command" => "check the disk, its free space and the permissions of the root on the daemon's machine; then repeat the request"];
    "0029" Internal       "internal"        Io            ["this is a bug in RelayMesh: please report it with the message above"];
}

/// Where in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path of the file.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
    /// The line itself.
    pub text: String,
}

/// What hints that are about one error say on the command line and over HTTP, as far as it differs. A command against a remote daemon reads the second
/// and says the first.
const BY_SURFACE: [(&str, &str); 6] = [
    ("create it with `relaymesh ns create ", "create it by `POST /api/v1/namespaces` with the name `"),
    ("list agents with `relaymesh agent list`", "`GET /api/v1/agents` lists agents"),
    ("list requests with `relaymesh approvals list`", "`GET /api/v1/approvals` lists requests"),
    ("pass it with --input '{…}' or --input @FILE", "pass it in `input`"),
    ("`relaymesh flow --help` shows one", "docs/reference/flow.schema.json is its schema"),
    ("show its schema with `relaymesh flow check FLOW`", "`input` of the flow is its schema"),
];

/// A hint of the HTTP API in the words of the command line.
pub fn on_the_command_line(hint: &str) -> String {
    BY_SURFACE.iter().fold(hint.to_owned(), |hint, (cli, http)| hint.replace(http, cli))
}

/// A hint of the command line in the words of the HTTP API.
fn over_http(hint: &str) -> String {
    BY_SURFACE.iter().fold(hint.to_owned(), |hint, (cli, http)| hint.replace(cli, http))
}

/// Mistakes that are told beside the first.
const MORE_MAX: usize = 63;

/// An error for people and programs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// Details.
    pub code: Code,
    /// The same, for people.
    pub message: String,
    /// What may help, in the words of the command line.
    pub hints: Vec<String>,
    /// The same in the words of the HTTP API.
    pub over_http: Vec<String>,
    /// Where in a file, if it was in one.
    pub place: Option<Box<Place>>,
    /// Further mistakes that were found with it.
    pub more: Box<[Error]>,
}

impl Error {
    /// An error with the hints of its code.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        let hints = code.hints().iter().map(ToString::to_string).collect();
        let over_http = code.hints_over_http().map(ToOwned::to_owned).collect();
        Self { code, message: message.into(), hints, over_http, place: None, more: Box::default() }
    }

    /// One more hint, before those of the code, in the words of the command line.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.over_http.insert(0, over_http(&hint));
        self.hints.insert(0, hint);
        self
    }

    /// One more hint, after all others.
    #[must_use]
    pub fn and_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.over_http.push(hint.clone());
        self.hints.push(hint);
        self
    }

    /// What may help, in the words of the HTTP API.
    pub fn hints_over_http(&self) -> &[String] {
        &self.over_http
    }

    /// Where it was found.
    #[must_use]
    pub fn at(mut self, place: Option<Place>) -> Self {
        self.place = place.map(Box::new);
        self
    }

    /// All of these as one, if there are any: the first, with the others beside it.
    pub fn all(found: impl IntoIterator<Item = Self>) -> Result<(), Self> {
        let mut found = found.into_iter();
        match found.next() {
            None => Ok(()),
            Some(first) => Err(Self { more: found.take(MORE_MAX).collect(), ..first }),
        }
    }

    /// Where more is said about it.
    pub fn page(&self) -> String {
        format!("docs/reference/errors.md#{}", self.code.as_str())
    }

    /// The form that programs read.
    pub fn to_json(&self) -> Value {
        let mut error = json!({
            "code": self.code.as_str(), "number": self.code.number(), "message": self.message, "hints": self.hints, "page": self.page(),
        });
        if let Some(Place { file, line, column, text }) = self.place.as_deref() {
            error["at"] = json!({ "file": file, "line": line, "column": column, "text": text });
        }
        if !self.more.is_empty() {
            error["more"] = self.more.iter().map(|other| other.to_json()["error"].take()).collect();
        }
        json!({ "error": error })
    }
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let (code, detail) = match error {
            store::Error::Full { detail } => (Code::DiskFull, detail),
            store::Error::Conflict { detail } => (Code::Internal, detail),
            store::Error::Poisoned { detail } => (Code::Indeterminate, detail),
            store::Error::InUse { detail } => (Code::RootInUse, detail),
            store::Error::Amnesia { detail } => (Code::Amnesia, detail),
            store::Error::Damaged { detail } => (Code::Damaged, detail),
            store::Error::Unusable { detail } => (Code::Unusable, detail),
            store::Error::Io { detail } => (Code::StoreIo, detail),
        };
        Self::new(code, detail)
    }
}

impl From<driver::Error> for Error {
    fn from(error: driver::Error) -> Self {
        let code = match &error {
            driver::Error::Refused(Refusal::NoTask) => Code::NoTask,
            driver::Error::Refused(Refusal::NoStep { .. }) => Code::NoStep,
            driver::Error::Refused(Refusal::Graph(_)) => Code::BadFlow,
            driver::Error::Lock(lock::Refusal::Conflict { .. }) => Code::Locked,
            driver::Error::NoNamespace { .. } => Code::NoNamespace,
            driver::Error::Refused(_)
            | driver::Error::Lock(_)
            | driver::Error::Message(_)
            | driver::Error::Namespace(_)
            | driver::Error::TooManyNamespaces { .. }
            | driver::Error::NotPurged(_) => Code::Refused,
            driver::Error::TooLong { .. } => Code::TooLong,
            driver::Error::NotAsAsked(_) => Code::Refused,
            driver::Error::KeyReused { .. } => Code::KeyReused,
            driver::Error::DiskFull(_) => Code::DiskFull,
            driver::Error::Busy { .. } => Code::Busy,
            driver::Error::Indeterminate(_) => Code::Indeterminate,
            driver::Error::Stopped => Code::Stopping,
            driver::Error::Store(error) => return error.clone().into(),
        };
        match error {
            driver::Error::DiskFull(why) | driver::Error::Indeterminate(why) => Self::new(code, why),
            driver::Error::Refused(Refusal::Ended { found }) => {
                Self::new(code, format!("the task has already ended: {found}"))
            }
            driver::Error::NoNamespace { ref name, ref near } => {
                let shown =
                    Self::new(code, error.to_string()).hint(format!("create it with `relaymesh ns create {name}`"));
                match near {
                    Some(near) => shown.hint(format!("did you mean `{near}`?")),
                    None => shown,
                }
            }
            driver::Error::Refused(_)
            | driver::Error::Lock(_)
            | driver::Error::Message(_)
            | driver::Error::Namespace(_)
            | driver::Error::TooManyNamespaces { .. }
            | driver::Error::NotPurged(_)
            | driver::Error::KeyReused { .. }
            | driver::Error::TooLong { .. }
            | driver::Error::NotAsAsked(_)
            | driver::Error::Busy { .. }
            | driver::Error::Stopped
            | driver::Error::Store(_) => Self::new(code, error.to_string()),
        }
    }
}

impl From<request::Error> for Error {
    fn from(error: request::Error) -> Self {
        Self::new(Code::BadFlow, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = page::TEXT;

    #[test]
    fn every_code_has_its_section_and_every_section_its_code() {
        let sections: Vec<&str> = PAGE.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let codes: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(sections, codes, "the sections of docs/reference/errors.md, in the order of the table in error.rs");
    }

    /// Scripts and people remember numbers: this list only ever grows at its end.
    #[test]
    fn numbers_never_change() {
        let mut known: Vec<_> = Code::ALL.iter().map(|code| (code.number(), code.as_str())).collect();
        known.sort_unstable();
        let lines: Vec<String> = known.iter().map(|(number, text)| format!("{number} {text}")).collect();
        insta::assert_snapshot!(lines.join("\n"), @r"
        RM0001 usage
        RM0002 bad_input
        RM0003 bad_flow
        RM0004 bad_id
        RM0005 unknown_agent
        RM0006 bad_agents
        RM0007 no_file
        RM0008 no_root
        RM0009 no_task
        RM0010 no_step
        RM0011 refused
        RM0012 locked
        RM0013 key_reused
        RM0014 not_confirmed
        RM0015 root_in_use
        RM0016 store_damaged
        RM0017 amnesia
        RM0018 store_unusable
        RM0019 too_long
        RM0020 other_version
        RM0021 daemon_gone
        RM0022 daemon_failed
        RM0023 stopping
        RM0024 no_daemon
        RM0025 disk_full
        RM0026 indeterminate
        RM0027 busy
        RM0028 store_io
        RM0029 internal
        RM0030 bad_settings
        RM0031 bad_secret
        RM0032 no_secret
        RM0033 secret_key
        RM0034 no_namespace
        RM0041 not_authenticated
        RM0042 forbidden
        RM0043 wrong_host
        RM0044 foreign_page
        RM0045 wrong_media
        RM0046 too_many
        RM0047 no_route
        RM0048 wrong_method
        RM0049 changed_meanwhile
        RM0050 too_slow
        RM0051 open_address
        RM0052 no_content
        RM0053 no_token
        RM0054 unreachable
        RM0055 in_the_clear
        RM0056 local_only
        ");
        known.dedup_by_key(|(number, _)| *number);
        assert_eq!(known.len(), Code::ALL.len(), "two codes have one number");
    }

    /// A client over HTTP has no command line of ours: what only an operator can do says where.
    #[test]
    fn hints_over_http_do_not_speak_of_the_command_line() {
        for code in Code::ALL {
            for hint in code.hints_over_http().filter(|hint| hint.contains("`--") || hint.contains("relaymesh ")) {
                let is_for_operators = hint.contains("on the daemon's machine") || OPERATORS.contains(code);
                assert!(is_for_operators, "{}: {hint}", code.as_str());
            }
        }
    }

    #[test]
    fn a_hint_about_one_error_is_said_in_the_words_of_its_surface_and_back() {
        for (cli, http) in BY_SURFACE {
            assert_eq!((over_http(cli).as_str(), on_the_command_line(http).as_str()), (http, cli));
            let error = Error::new(Code::Refused, "x").hint(cli);
            assert_eq!((error.hints[0].as_str(), error.hints_over_http()[0].as_str()), (cli, http));
        }
        assert_eq!(over_http("did you mean `echo`?"), "did you mean `echo`?");
    }

    /// No answer over HTTP has these.
    const OPERATORS: &[Code] = &[
        Code::OpenAddress,
        Code::InTheClear,
        Code::LocalOnly,
        Code::NoRoot,
        Code::RootInUse,
        Code::Unusable,
        Code::SecretKey,
        Code::OtherVersion,
        Code::DaemonGone,
        Code::DaemonFailed,
        Code::NoDaemon,
        Code::Unreachable,
    ];

    #[test]
    fn every_section_says_what_it_means_what_changed_and_what_to_do() {
        for section in PAGE.split("\n## ").skip(1) {
            let name = section.lines().next().unwrap_or_default();
            for part in ["**Means:**", "**Changed:**", "**Do:**"] {
                assert!(section.contains(part), "{name} has no {part}");
            }
            let code = Code::ALL.iter().find(|code| code.as_str() == name).unwrap();
            let exit = format!("`{}`. Exit code {}.", code.number(), code.kind().exit_code());
            assert!(section.contains(&exit), "{name} must say `{exit}`");
        }
    }
}
