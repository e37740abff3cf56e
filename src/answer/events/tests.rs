//! What counts as new, and how it is written.

use super::*;
use crate::answer::document::{RoomDocument, VisitorDocument};
use crate::room::{Number, RoomId};

fn document() -> Document {
    let view = View { snapshot: None, fresh: false, fault: None, speed: None, there: None };
    let mut visitor = VisitorDocument::waiting(Number(7), &view);
    visitor.position = Some(3);
    Document {
        room: RoomDocument::of(&RoomId::new("spring").unwrap(), &view, Micros(1_000_000)),
        visitor: Some(visitor),
        next_poll_ms: 1000,
        ticket: None,
        pass: None,
    }
}

#[test]
fn only_what_concerns_the_visitor_is_new() {
    let first = document();
    let mut same = document();
    same.room.server_time = "later".to_owned();
    same.room.waiting = Some(9);
    same.next_poll_ms = 77;
    assert_eq!(essence(&first), essence(&same));
    let mut moved = document();
    if let Some(visitor) = &mut moved.visitor {
        visitor.position = Some(2);
    }
    assert_ne!(essence(&first), essence(&moved));
    let mut told = document();
    told.room.message = Some("Back soon".to_owned());
    assert_ne!(essence(&first), essence(&told));
}

#[test]
fn a_document_is_one_line_of_data() {
    let mut document = document();
    document.room.message = Some("two\nlines\r\ndata: x".to_owned());
    let first = String::from_utf8(framed(&document, true).to_vec()).unwrap();
    let later = String::from_utf8(framed(&document, false).to_vec()).unwrap();
    assert!(first.starts_with("retry: ") && first.contains("\ndata: {"), "{first}");
    assert!(later.starts_with("data: {") && later.ends_with("}\n\n"), "{later}");
    assert_eq!(later.matches('\n').count(), 2);
}
