//! The encrypted file.

use super::Secret;
use chacha20poly1305::{
    KeyInit as _, XChaCha20Poly1305,
    aead::{Aead as _, Payload},
};
use relaymesh_core::name::Name;
use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};
use zeroize::Zeroizing;

/// The file of the secrets, in the root.
pub const FILE: &str = "secrets";
/// The file of the key, in the root.
pub const KEY_FILE: &str = "secrets.key";
/// Held while the secrets are changed.
const LOCK_FILE: &str = "secrets.lock";
/// What the file begins with; it is authenticated with the rest.
const MAGIC: &[u8] = b"relaymesh secrets 1\n";
const NONCE_BYTES: usize = 24;
const KEY_BYTES: usize = 32;

/// Shorter ones would be taken out of every output by accident.
const SECRET_BYTES_MIN: usize = 8;
/// The longest one.
const SECRET_BYTES_MAX: usize = 64 << 10;
/// How many there may be.
const SECRETS_MAX: usize = 1_000;

type Contents = BTreeMap<Name, Secret>;

/// Where the key is.
#[derive(Debug, Clone)]
pub enum KeyPlace {
    /// Beside the secrets; made when there are none yet.
    Beside,
    /// In this file, which somebody else takes care of.
    File(PathBuf),
    /// Here, as hexadecimal digits.
    Given(Secret),
}

/// Why secrets cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The key is missing, is no key, or opens another file.
    #[error("{0}")]
    Key(String),
    /// It cannot be a secret.
    #[error("{0}")]
    Unfit(String),
    /// There is none of this name.
    #[error("there is no secret `{0}`")]
    Missing(Name),
    /// The machine said no.
    #[error("cannot use {path}: {error}")]
    Io {
        /// Which file.
        path: String,
        /// What it said.
        error: io::Error,
    },
}

/// The secrets of a root. Nothing is held open or in memory between two calls.
#[derive(Debug, Clone)]
pub struct Vault {
    root: PathBuf,
    key: KeyPlace,
}

impl Vault {
    /// The secrets of this root.
    pub fn new(root: &Path, key: KeyPlace) -> Self {
        Self { root: root.to_owned(), key }
    }

    /// The root.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The files that no agent is to read; those whose names begin like one of them among them.
    pub fn files(&self) -> Vec<PathBuf> {
        let key = match &self.key {
            KeyPlace::File(path) => Some(path.clone()),
            // In a file whose name begins like that of the secrets, or in none.
            KeyPlace::Beside | KeyPlace::Given(_) => None,
        };
        [self.root.join(FILE)].into_iter().chain(key).collect()
    }

    /// All names.
    pub fn names(&self) -> Result<Vec<Name>, Error> {
        Ok(self.read()?.into_keys().collect())
    }

    /// All secrets. They are cleared from memory when they are dropped.
    pub fn read(&self) -> Result<BTreeMap<Name, Secret>, Error> {
        let path = self.root.join(FILE);
        match std::fs::read(&path) {
            Ok(bytes) => decoded(&self.opened(&bytes)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Contents::new()),
            Err(error) => Err(io_error(&path, error)),
        }
    }

    /// Puts one there, or another value in its place; `true` if there was one. It is durable when this returns.
    pub fn set(&self, name: &Name, secret: Secret) -> Result<bool, Error> {
        check(&secret)?;
        let _alone = self.alone()?;
        let mut contents = self.read()?;
        let replaced = contents.insert(name.clone(), secret).is_some();
        if contents.len() > SECRETS_MAX {
            return Err(Error::Unfit(format!("there are already {SECRETS_MAX} secrets, which is the maximum")));
        }
        self.write(&contents)?;
        Ok(replaced)
    }

    /// Takes one away. That is durable when this returns.
    pub fn remove(&self, name: &Name) -> Result<(), Error> {
        let _alone = self.alone()?;
        let mut contents = self.read()?;
        contents.remove(name).ok_or_else(|| Error::Missing(name.clone()))?;
        self.write(&contents)
    }

    /// Keeps others from changing the secrets for as long as it lives.
    fn alone(&self) -> Result<File, Error> {
        let path = self.root.join(LOCK_FILE);
        let file = OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(&path);
        let file = file.map_err(|error| io_error(&path, error))?;
        file.lock().map_err(|error| io_error(&path, error))?;
        Ok(file)
    }

    fn write(&self, contents: &Contents) -> Result<(), Error> {
        let plain: BTreeMap<&Name, &str> = contents.iter().map(|(name, secret)| (name, secret.expose())).collect();
        let plain = serde_json::to_vec(&plain).map(Zeroizing::new);
        let plain = plain.map_err(|error| Error::Unfit(format!("the secrets cannot be encoded: {error}")))?;
        let key = self.key(!self.root.join(FILE).exists())?;
        let nonce: [u8; NONCE_BYTES] = rand::random();
        let sealed = cipher(&key)
            .encrypt(&nonce.into(), Payload { msg: &plain, aad: MAGIC })
            .map_err(|_| Error::Key("the secrets cannot be encrypted".to_owned()))?;
        replace(&self.root, FILE, &[MAGIC, &nonce, &sealed].concat())
    }

    fn opened(&self, bytes: &[u8]) -> Result<Zeroizing<Vec<u8>>, Error> {
        let path = self.root.join(FILE);
        let wrong = |what: &str| Error::Key(format!("{} {what}", path.display()));
        let sealed = bytes.strip_prefix(MAGIC).and_then(|rest| rest.split_first_chunk::<NONCE_BYTES>());
        let (nonce, sealed) = sealed.ok_or_else(|| wrong("is not a file of secrets"))?;
        let key = self.key(false)?;
        let opened = cipher(&key).decrypt(nonce.into(), Payload { msg: sealed, aad: MAGIC });
        opened.map(Zeroizing::new).map_err(|_| wrong("cannot be decrypted: the key is wrong, or the file was changed"))
    }

    /// The key; `make` makes one if it belongs beside the secrets and there is none.
    fn key(&self, make: bool) -> Result<Zeroizing<[u8; KEY_BYTES]>, Error> {
        let (path, place) = match &self.key {
            KeyPlace::Given(text) => return parsed(text.expose(), "the key that was given"),
            KeyPlace::File(path) => (path.clone(), "somewhere else"),
            KeyPlace::Beside => (self.root.join(KEY_FILE), "beside"),
        };
        match std::fs::read_to_string(&path).map(Zeroizing::new) {
            Ok(text) => parsed(&text, &path.display().to_string()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && make && place == "beside" => {
                let key: Zeroizing<[u8; KEY_BYTES]> = Zeroizing::new(rand::random());
                let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
                replace(&self.root, KEY_FILE, Zeroizing::new(digits + "\n").as_bytes())?;
                Ok(key)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(Error::Key(format!("the key of the secrets is missing: there is no {}", path.display())))
            }
            Err(error) => Err(io_error(&path, error)),
        }
    }
}

/// Whether a text can be a secret.
pub fn check(secret: &Secret) -> Result<(), Error> {
    let (text, length) = (secret.expose(), secret.expose().len());
    let why = match () {
        () if length < SECRET_BYTES_MIN => {
            format!(
                "a secret must have at least {SECRET_BYTES_MIN} bytes: a shorter one would match ordinary text in outputs"
            )
        }
        () if length > SECRET_BYTES_MAX => format!("a secret can have at most {SECRET_BYTES_MAX} bytes"),
        () if text.contains('\0') => {
            "a secret cannot have zero bytes: environment variables cannot contain them".to_owned()
        }
        () => return Ok(()),
    };
    Err(Error::Unfit(why))
}

fn cipher(key: &[u8; KEY_BYTES]) -> XChaCha20Poly1305 {
    XChaCha20Poly1305::new(key.into())
}

fn decoded(plain: &[u8]) -> Result<Contents, Error> {
    let contents: BTreeMap<Name, String> =
        serde_json::from_slice(plain).map_err(|_| Error::Key("the secrets cannot be read".to_owned()))?;
    Ok(contents.into_iter().map(|(name, text)| (name, Secret::new(text))).collect())
}

fn parsed(text: &str, place: &str) -> Result<Zeroizing<[u8; KEY_BYTES]>, Error> {
    let wrong = || Error::Key(format!("{place} is not {} hexadecimal digits", 2 * KEY_BYTES));
    let digits = text.trim();
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    if digits.len() != 2 * KEY_BYTES || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(wrong());
    }
    for (index, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&digits[2 * index..2 * index + 2], 16).map_err(|_| wrong())?;
    }
    Ok(key)
}

/// Writes a file for its owner alone: whole or not at all, and durable when this returns.
fn replace(root: &Path, name: &str, bytes: &[u8]) -> Result<(), Error> {
    let (path, new) = (root.join(name), root.join(format!("{name}.new")));
    let write = || {
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&new, &path)?;
        File::open(root)?.sync_all()
    };
    write().map_err(|error| io_error(&path, error))
}

fn io_error(path: &Path, error: io::Error) -> Error {
    Error::Io { path: path.display().to_string(), error }
}
