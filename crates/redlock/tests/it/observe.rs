//! What an observer sees, and what a refusal says.

use expect_test::expect;

use crate::client::{Client, TTL, tries};
use crate::node::Manner;
use crate::world::{World, ms};

#[test]
fn an_observer_sees_every_step_in_order() {
    let world = World::new(3);
    world.occupy([1, 2], "k", ms(10));
    let client = Client::of(&world);
    let lock = client.builder().retry(tries(2)).build().unwrap();
    let mut guard = world.run(lock.acquire("k")).unwrap();
    world.pass(TTL / 2);
    world.run(guard.extend());
    world.run(guard.release());
    world.run(guard.extend());
    drop(world.run(lock.acquire("k")).unwrap());
    world.pass(ms(10));
    expect![[r#"
        attempt 1 at 1000s
        refused, no second reading: a majority is impossible: 0 of 3 nodes granted and 2 are needed
        release, Refused
        released, Refused: None
        attempt 2 at 1000.024s
        acquired at 1000.026s until 1001.012s, token Some(1)
        extension at 1000.526s before 1001.012s
        Extended at 1000.528s until 1001.514s
        release, Called
        released, Called: Some(Released)
        Lost at 1000.53s until 1001.514s
        attempt 1 at 1000.53s
        acquired at 1000.532s until 1001.518s, token Some(2)
        release, Dropped
        released, Dropped: None
    "#]]
    .assert_eq(&(client.diary.lines().join("\n") + "\n"));
}

#[test]
fn a_refusal_says_what_each_node_said() {
    let world = World::new(5);
    world.occupy([2], "invoice:7", TTL);
    world.set([3], Manner::error("LOADING"));
    world.set([4], Manner::silent());
    let lock = Client::of(&world)
        .builder()
        .order(redlock::Order::Sequential)
        .build()
        .unwrap();
    let refused = world.run(lock.acquire("invoice:7")).unwrap_err();
    expect![[r#"
        lock "invoice:7" refused after 1 attempt: a majority is impossible: 1 of 5 nodes granted and 3 are needed (n1: granted, n2: held by another, n3: LOADING told to, n4: timed out, n5: not asked)
    "#]]
    .assert_eq(&format!("{refused}\n"));
}

#[test]
fn a_refusal_for_time_says_where_the_time_went() {
    let world = World::new(1);
    world.set([1], Manner::takes(ms(1), TTL));
    let lock = Client::of(&world)
        .builder()
        .node_timeout(TTL * 2)
        .build()
        .unwrap();
    expect![[r#"
        lock "\xffk" refused after 1 attempt: no validity left: 1.001s elapsed of a TTL of 1s with a drift margin of 12ms (n1: granted)
    "#]]
    .assert_eq(&format!(
        "{}\n",
        world.run(lock.acquire([0xff, b'k'])).unwrap_err()
    ));
}
