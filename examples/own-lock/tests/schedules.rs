//! The lock under a thousand schedules: with the bug it fails, and without it holds.

mod own;

use fencepost::Expectation::{Any, Holds};
use fencepost::Property::{MutualExclusion, OwnerOnlyRelease};
use fencepost::{EngineKind, Experiment, Faults};
use own::OwnLock;
use own_lock::Release;

/// Clients and the network fail; the server keeps what it has acknowledged, and clocks are right.
fn lock(how: Release) -> Experiment {
    fencepost::scenario("random/single")
        .set("swarm.rates-ppm=0")
        .set("node.persistence=aof")
        .set("node.fsync=always")
        .faults(&[
            Faults::Pause,
            Faults::ClientCrash,
            Faults::Crash,
            Faults::Partition,
            Faults::Delay,
            Faults::LatePacket,
            Faults::Reset,
        ])
        .schedules(1_000)
        .lock(move |_| OwnLock(how))
        .expect(MutualExclusion, Holds)
        .expect(OwnerOnlyRelease, Holds)
}

#[test]
fn the_repaired_lock_holds() {
    lock(Release::CompareAndDelete).run();
}

#[test]
fn it_holds_over_the_wire_too() {
    let wire = lock(Release::CompareAndDelete).engine(EngineKind::Turmoil);
    // Too few for a late release to meet a foreign key.
    wire.schedules(3).expect(OwnerOnlyRelease, Any).run();
}

#[test]
fn a_release_that_does_not_ask_whose_the_key_is_breaks_the_lock_of_another() {
    let failure = lock(Release::Del).check().expect_err("the bug is found");
    let (_, least) = &**failure.shrunk.as_ref().expect("it is a violation");
    assert!(least.world.faults.len() <= 2, "{failure}");
}
