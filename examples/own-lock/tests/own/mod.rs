//! The lock as Fencepost sees it. Its code is that of `src/lib.rs`, unchanged.

use std::time::Duration;

use fencepost::history::ReleaseOutcome;
use fencepost::system::{Acquired, LockAttempt, LockClient, LockSystem, Refused, nodes};
use fencepost::{ClockKind, Host};
use own_lock::{Release, acquire, release};

const TTL: Duration = Duration::from_secs(5);
/// What the server's clock may run faster than the client's, and the time that an answer takes in any case.
const MARGIN: Duration = Duration::from_millis(100);
const PATIENCE: Duration = Duration::from_secs(1);

/// The lock, as a system under test.
pub(crate) struct OwnLock(pub(crate) Release);

/// One client of it.
pub(crate) struct Client {
    host: Host,
    how: Release,
}

impl LockSystem for OwnLock {
    type Client = Client;

    fn client(&self, host: Host) -> Client {
        Client { host, how: self.0 }
    }
}

impl LockClient for Client {
    type Held = (String, String);

    async fn acquire(&self, key: &str) -> Result<Acquired<Self::Held>, Refused> {
        let mut random = [0; 16];
        self.host.fill(&mut random);
        let value = format!("{:032x}", u128::from_be_bytes(random));
        let attempt = LockAttempt::begin(self.host, key, value.as_str());
        let call = async {
            let mut redis = self.host.connect(nodes()[0]).await?;
            acquire(&mut redis, key, &value, TTL.as_millis() as u64).await
        };
        match self.host.timeout(PATIENCE, call).await {
            Some(Ok(true)) => {}
            Some(Ok(false)) => return Err(attempt.refused("it is taken")),
            Some(Err(error)) => return Err(attempt.refused(error.to_string())),
            None => return Err(attempt.refused("no answer in time")),
        }
        // From before the request on: the key may have been set as early as that.
        let deadline = attempt.began() + (TTL - MARGIN).as_nanos() as u64;
        if self.host.reading(ClockKind::Monotonic) >= deadline {
            return Err(attempt.refused("it was granted too late"));
        }
        Ok(attempt.acquired((key.to_owned(), value)).until(deadline))
    }

    async fn release(&self, (key, value): &mut Self::Held) -> ReleaseOutcome {
        let call = async {
            let mut redis = self.host.connect(nodes()[0]).await?;
            release(&mut redis, self.how, key, value).await
        };
        match self.host.timeout(PATIENCE, call).await {
            Some(Ok(true)) => ReleaseOutcome::Released,
            Some(Ok(false)) => ReleaseOutcome::Expired,
            Some(Err(_)) | None => ReleaseOutcome::Unknown,
        }
    }
}
