//! English.

use super::{Category, Forms, Language, Say, Words};

pub(super) static LANGUAGE: Language = Language {
    tag: "en",
    dir: "ltr",
    covers: &["en"],
    answers: &[],
    group: ",",
    plural: |n| if n == 1 { Category::One } else { Category::Other },
    words: Words {
        waiting_room: "Waiting room",
        tab: "{position} in line · {title}",

        waiting: Say {
            head: "You are in line",
            lead: "A few people at a time go in, in order. When it is your turn, this page takes you to the shop by itself.",
        },
        paused: Say {
            head: "The line is paused",
            lead: "Nobody is going in at the moment. Your place is kept, and the line moves on in the same order.",
        },
        unavailable: Say {
            head: "One moment, please",
            lead: "The line cannot be reached right now. Your place is kept and the order stays as it is. There is nothing that you need to do.",
        },
        lobby: Say {
            head: "You are here in good time",
            lead: "The doors are not open yet. Keep this page open: it takes you along when the line starts to move.",
        },
        waitlisted: Say {
            head: "You are on the waiting list",
            lead: "The tickets that are left may go to people ahead of you. If tickets come back, the line moves on in order.",
        },
        entering: Say { head: "It is your turn", lead: "We are taking you to the shop now." },
        by_hand: Say {
            head: "It is your turn",
            lead: "Your browser did not go in by itself. Please use the button. If you come back to this page, allow cookies for this site and try again.",
        },
        lapsed: Say {
            head: "Your turn has passed",
            lead: "Your turn came and went while this page was closed, so others went in. You can join the line again at its end.",
        },
        left: Say {
            head: "You have left the line",
            lead: "Your place has gone to the next person. You can join the line again at its end.",
        },
        lost: Say {
            head: "We cannot find your place",
            lead: "This browser no longer holds your ticket for the line. You can join the line again at its end.",
        },
        cookies: Say {
            head: "Cookies are needed",
            lead: "Your place in line is kept in a cookie, and your browser did not keep it. Please allow cookies for this site, then try again.",
        },
        closed: Say { head: "The sale has ended", lead: "The doors are closed and nobody goes in any more. Thank you for coming." },
        sold_out: Say {
            head: "Sold out",
            lead: "No tickets are left at the moment. This page goes on looking in case some come back.",
        },
        full: Say {
            head: "The line is full",
            lead: "There are no places left in line at the moment. This page tries again by itself.",
        },
        scheduled: Say {
            head: "Not open yet",
            lead: "The doors are not open yet. Keep this page open: it tries again by itself.",
        },
        outage: Say {
            head: "One moment, please",
            lead: "We cannot give you a place in line right now. This page tries again by itself; there is no need to refresh it.",
        },
        login: Say {
            head: "Please log in first",
            lead: "Your account keeps your place in line, on all your devices. Log in to the shop, then come back to this page.",
        },

        place: "Your place in line",
        next: "You are next",
        ahead: Forms {
            other: "{n} people ahead of you",
            rest: &[(Category::One, "{n} person ahead of you")],
        },
        progress: "Your way through the line",
        wait: "Estimated wait",
        unknown: "not known yet",
        soon: "less than a minute",
        minutes: Forms { other: "{n} minutes", rest: &[(Category::One, "{n} minute")] },
        hours: Forms { other: "{n} hours", rest: &[(Category::One, "{n} hour")] },
        range: "{low}–{high}",
        in_line: "People in line",
        number: "Your number",
        from_organiser: "Message from the organiser",

        keep_open: "Keep this page open. You may use other tabs in the meantime.",
        no_refresh: "There is no need to refresh. It would not move you forward, and it does not cost you your place.",
        what_next: "When it is your turn, this page opens the shop and you can choose your tickets.",

        enter: "Go to the shop",
        retry: "Try again",
        login_now: "Log in",
        rejoin: "Join the line again",
        leave: "Leave the line",
        leave_means: "Your place goes to the next person, and you cannot get it back.",
        leave_now: "Yes, give up my place",

        opens: "Opens:",
        drawn_from: "You have place {index} in the lobby. When the room opens, the order of everybody in the lobby is drawn; who came first has no advantage.",

        checked: "Last checked at {time}",
        trouble: "No connection at the moment. Your place is kept; this page keeps trying.",
        refreshes: Forms {
            other: "This page renews itself every {n} seconds.",
            rest: &[(Category::One, "This page renews itself every second.")],
        },
    },
};
