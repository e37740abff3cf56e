//! The shop's pages. Plain HTML with a little style; the event page refreshes its count by a script.

use super::form::escaped;
use super::shop::Order;

const STYLE: &str = "body{margin:0;font:17px/1.6 system-ui,sans-serif;color:#1d2433;background:#f3f1ec}\
header{background:#1d2433;color:#fff;padding:.8rem 1.4rem;font-weight:600}\
header a{color:#fff;text-decoration:none}header i{color:#e8b04a;font-style:normal}\
main{max-width:34rem;margin:2.5rem auto;padding:0 1.4rem}\
.card{background:#fff;border-radius:14px;padding:2rem;box-shadow:0 2px 18px #1d243318}\
h1{margin:.2rem 0 .6rem;font-size:1.9rem;line-height:1.2}.when{color:#6a7180;margin:0}\
.count{font-size:2.4rem;font-weight:700;margin:1.2rem 0 0}.of{color:#6a7180;margin:0 0 1.6rem}\
.go{display:inline-block;background:#c8452f;color:#fff;border:0;border-radius:9px;padding:.8rem 1.7rem;\
font:inherit;font-weight:600;text-decoration:none;cursor:pointer}.go:hover{background:#a93623}\
label{display:block;margin:1rem 0 .3rem}input{font:inherit;width:100%;box-sizing:border-box;padding:.6rem .7rem;\
border:1px solid #c5c9d2;border-radius:8px;margin-bottom:1.4rem}\
dl{display:grid;grid-template-columns:auto 1fr;gap:.3rem 1.2rem;margin:1.2rem 0}dt{color:#6a7180}dd{margin:0}\
code{background:#f3f1ec;border-radius:5px;padding:.1rem .4rem;word-break:break-all}";

fn page(title: &str, body: &str) -> String {
    format!(
        "<!doctype html><html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content='width=device-width,initial-scale=1'><title>{title}</title>\
         <style>{STYLE}</style></head><body><header><a href='/'>Harbour <i>Hall</i></a></header>\
         <main><div class=card>{body}</div></main></body></html>"
    )
}

/// The event, with the count and the link that everybody presses.
pub(super) fn event(remaining: u32) -> String {
    let body = format!(
        "<p class=when>Saturday, 8 pm, Harbour Hall</p><h1>The Night Ferry, spring tour</h1>\
         <p>One evening, one stage, one city. Tickets are on sale now.</p>\
         <p class=count id=count>{remaining}</p><p class=of>tickets left</p>\
         <a class=go id=buy href='/buy'>Buy tickets</a>\
         <script>setInterval(async()=>{{try{{const r=await fetch('/api/remaining');if(r.ok)\
         document.getElementById('count').textContent=(await r.json()).remaining}}catch{{}}}},2000)</script>"
    );
    page("The Night Ferry", &body)
}

/// The form that claims a ticket. `key` makes pressing twice one purchase.
pub(super) fn form(key: &str) -> String {
    let body = format!(
        "<p class=when>You are in. One ticket a person.</p><h1>Your ticket</h1>\
         <form method=post action='/buy'><input type=hidden name=key value='{key}'>\
         <label for=name>Name on the ticket</label><input id=name name=name required maxlength=80 autocomplete=name>\
         <button class=go>Claim the ticket</button></form>"
    );
    page("Your ticket", &body)
}

/// A purchase.
pub(super) fn order(key: &str, order: &Order) -> String {
    let body = format!(
        "<p class=when>Thank you</p><h1>See you on Saturday</h1><dl><dt>Ticket</dt><dd id=ticket>No. {}</dd>\
         <dt>Name</dt><dd>{}</dd><dt>Order</dt><dd><code>{key}</code></dd></dl><a href='/'>Back to the event</a>",
        order.ticket,
        escaped(&order.name)
    );
    page("Your order", &body)
}

/// There is nothing left, or nothing to be found.
pub(super) fn sorry(title: &str, text: &str) -> String {
    page(title, &format!("<h1>{title}</h1><p>{text}</p><a href='/'>Back to the event</a>"))
}
