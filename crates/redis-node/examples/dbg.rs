use bytes::Bytes;
use redis_node::*;
fn main() {
    let mut n = Node::boot(Config::default(), Disk::default(), Lua::new(), UnixTime(0));
    for s in std::env::args().skip(1) {
        let r = n.handle(
            UnixTime(0),
            ConnectionId(1),
            &[Bytes::from("EVAL"), Bytes::from(s), Bytes::from("0")],
        );
        println!("{:?}", r.replies[0].1);
    }
}
