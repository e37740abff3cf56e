//! Which node of a cluster keeps which keys, as the nodes tell it.

use redis::Value;

use super::address::Host;

/// Slots of any cluster.
const SLOTS: u16 = 16384;
/// Most stretches of slots that are read of a map, and nodes that are remembered.
const RANGES_MAX: usize = 16384;
const NODES_MAX: usize = 1024;

/// The slot of a room's keys: all of them carry the tag `{room}`, and a tag alone decides.
pub(super) fn slot_of(room: &str) -> u16 {
    let crc = room.bytes().fold(0_u16, |crc, byte| {
        (0..8).fold(crc ^ (u16::from(byte) << 8), |crc, _| {
            if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 }
        })
    });
    crc % SLOTS
}

/// A map of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Map {
    /// First slot, last slot, their primary.
    ranges: Vec<(u16, u16, Host)>,
    /// Everybody, replicas too: whoever is left can tell the next map.
    nodes: Vec<Host>,
}

impl Map {
    /// Reads the answer to `CLUSTER SLOTS`. A node that gives no name of its own is the one that was `asked`; what cannot
    /// be read, or has no address yet, is left out.
    pub(super) fn read(answer: &Value, asked: &Host) -> Self {
        let mut map = Self::default();
        for range in array(answer).iter().take(RANGES_MAX) {
            let [first, last, nodes @ ..] = array(range) else { continue };
            let mut nodes = nodes.iter().map(|node| host(node, asked));
            let primary = nodes.next().flatten();
            for node in primary.iter().cloned().chain(nodes.flatten()) {
                if map.nodes.len() < NODES_MAX && !map.nodes.contains(&node) {
                    map.nodes.push(node);
                }
            }
            if let (Some(first), Some(last), Some(primary)) = (slot(first), slot(last), primary) {
                map.ranges.push((first, last, primary));
            }
        }
        map
    }

    /// The primary of a slot, if anybody serves it.
    pub(super) fn primary(&self, slot: u16) -> Option<&Host> {
        let found = self.ranges.iter().find(|(first, last, _)| (*first..=*last).contains(&slot));
        found.map(|(_, _, host)| host)
    }

    /// Everybody who may know the next map.
    pub(super) fn nodes(&self) -> &[Host] {
        &self.nodes
    }
}

fn array(value: &Value) -> &[Value] {
    if let Value::Array(values) = value { values } else { &[] }
}

fn slot(value: &Value) -> Option<u16> {
    let Value::Int(number) = value else { return None };
    u16::try_from(*number).ok().filter(|slot| *slot < SLOTS)
}

/// `[name, port, id, ...]`.
fn host(value: &Value, asked: &Host) -> Option<Host> {
    let [name, port, ..] = array(value) else { return None };
    let Value::Int(port) = port else { return None };
    let port = u16::try_from(*port).ok().filter(|port| *port > 0)?;
    let name = match name {
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?,
        Value::SimpleString(text) => text,
        Value::Nil => "",
        _ => return None,
    };
    match name {
        "?" => None,
        "" => Some(Host { name: asked.name.clone(), port }),
        name => Some(Host { name: name.to_owned(), port }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(name: &str, port: u16) -> Host {
        Host { name: name.to_owned(), port }
    }

    fn node(name: Value, port: i64) -> Value {
        Value::Array(vec![name, Value::Int(port), Value::BulkString(b"id".to_vec())])
    }

    fn text(name: &str) -> Value {
        Value::BulkString(name.as_bytes().to_vec())
    }

    #[test]
    fn slots_are_those_of_every_cluster() {
        for (tag, slot) in [("", 0), ("123456789", 12739), ("foo", 12182), ("bar", 5061), ("a", 15495)] {
            assert_eq!(slot_of(tag), slot, "{tag}");
        }
    }

    #[test]
    fn a_map_is_read() {
        let range = |first, last, nodes: Vec<Value>| {
            Value::Array([vec![Value::Int(first), Value::Int(last)], nodes].concat())
        };
        let answer = Value::Array(vec![
            range(0, 99, vec![node(text("10.0.0.1"), 1), node(text("10.0.0.2"), 2)]),
            range(100, 100, vec![node(Value::Nil, 3)]),
            range(101, 16383, vec![node(text("?"), 4), node(text("10.0.0.1"), 1)]),
            range(5, 99999, vec![node(text("x"), 4)]),
            Value::Int(7),
        ]);
        let map = Map::read(&answer, &at("here", 9));
        assert_eq!(map.primary(0), Some(&at("10.0.0.1", 1)));
        assert_eq!(map.primary(99), Some(&at("10.0.0.1", 1)));
        assert_eq!(map.primary(100), Some(&at("here", 3)));
        assert_eq!(map.primary(101), None, "a primary without an address serves nobody");
        assert_eq!(map.nodes(), [at("10.0.0.1", 1), at("10.0.0.2", 2), at("here", 3), at("x", 4)]);
        assert_eq!(Map::read(&Value::Nil, &at("here", 9)), Map::default());
    }
}
