//! TLS with a certificate that is read again when its files change.

use crate::error::{Code, Error};
use rustls::{
    ServerConfig,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};
use std::{
    fmt, fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, RwLock},
};

/// What tells one version of a file from the next.
type Stamp = Option<(u64, i64, i64, u64)>;

/// A certificate with its key, as the files have it now.
pub struct Certificate {
    cert: PathBuf,
    key: PathBuf,
    provider: Arc<CryptoProvider>,
    held: RwLock<Arc<CertifiedKey>>,
    seen: Mutex<(Stamp, Stamp)>,
}

impl Certificate {
    /// The certificate in these files, both in PEM.
    pub fn read(cert: &Path, key: &Path) -> Result<Arc<Self>, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let seen = (stamp(cert), stamp(key));
        let held = load(cert, key, &provider)?;
        let held = RwLock::new(Arc::new(held));
        Ok(Arc::new(Self { cert: cert.to_owned(), key: key.to_owned(), provider, held, seen: Mutex::new(seen) }))
    }

    /// Reads the files again if they have changed. Ones that cannot be used change nothing; `Ok(true)` when there is another certificate.
    pub fn look(&self) -> Result<bool, Error> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = (stamp(&self.cert), stamp(&self.key));
        if now == *seen {
            return Ok(false);
        }
        *seen = now;
        let held = load(&self.cert, &self.key, &self.provider)?;
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(held);
        Ok(true)
    }

    /// How connections are made with it.
    pub(super) fn config(self: &Arc<Self>) -> Result<ServerConfig, Error> {
        let config = ServerConfig::builder_with_provider(Arc::clone(&self.provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::new(Code::Internal, format!("TLS cannot be set up: {error}")))?;
        let resolver = Arc::clone(self) as Arc<dyn ResolvesServerCert>;
        let mut config = config.with_no_client_auth().with_cert_resolver(resolver);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.held.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

impl fmt::Debug for Certificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("cert", &self.cert).finish_non_exhaustive()
    }
}

fn load(cert: &Path, key: &Path, provider: &CryptoProvider) -> Result<CertifiedKey, Error> {
    let wrong = |path: &Path, why: &dyn fmt::Display| {
        Error::new(Code::OpenAddress, format!("the certificate cannot be used: {}: {why}", path.display()))
    };
    let chain = CertificateDer::pem_file_iter(cert).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let chain = chain.map_err(|error| wrong(cert, &error))?;
    if chain.is_empty() {
        return Err(wrong(cert, &"it contains no certificate"));
    }
    let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
    CertifiedKey::from_der(chain, secret, provider).map_err(|error| wrong(key, &error))
}

fn stamp(path: &Path) -> Stamp {
    let found: io::Result<fs::Metadata> = fs::metadata(path);
    found.ok().map(|found| (found.ino(), found.mtime(), found.mtime_nsec(), found.len()))
}
