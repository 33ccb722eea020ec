//! Holds the lock on a real Redis for five seconds: `cargo run --release -p bring-your-own-client -- 127.0.0.1:6379`.
#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "it runs in the real world"
)]

use std::error::Error;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bring_your_own_client::{Lock, connect};
use tokio::net::TcpStream;

const TTL: Duration = Duration::from_secs(3);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1);
    let address = address.unwrap_or_else(|| "127.0.0.1:6379".to_owned());
    let connection = connect(TcpStream::connect(&address).await?).await?;
    let started = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let owner = format!("{}-{started}", std::process::id());
    let lock = Lock::new(connection, "lock", &owner, TTL);
    println!("{owner} waits for the lock");
    let held = lock.acquire(Duration::from_secs(60)).await;
    let held = held.ok_or("no lock within a minute")?;
    println!("{owner} holds it");
    tokio::time::sleep(Duration::from_secs(5)).await;
    println!("still valid: {}", held.is_valid());
    println!(
        "it was ours when we gave it back: {}",
        held.release().await?
    );
    Ok(())
}
