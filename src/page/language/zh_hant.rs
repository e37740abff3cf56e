//! Traditional Chinese, as read in Taiwan, Hong Kong and Macau.

use super::{Category, Forms, Language, Say, Words};

pub(super) static LANGUAGE: Language = Language {
    tag: "zh-Hant",
    dir: "ltr",
    covers: &["zh-hant", "zh-tw", "zh-hk", "zh-mo"],
    answers: &["zh"],
    group: ",",
    plural: |_| Category::Other,
    words: Words {
        waiting_room: "線上排隊",
        tab: "第 {position} 位 · {title}",

        waiting: Say {
            head: "您正在排隊",
            lead: "系統會依順序分批放行。輪到您時，這個頁面會自動帶您進入售票頁面。",
        },
        paused: Say {
            head: "隊伍暫停前進",
            lead: "目前暫停放行。您的位置會保留，恢復後仍依原來的順序前進。",
        },
        unavailable: Say {
            head: "請稍候",
            lead: "目前無法取得排隊資訊。您的位置會保留，順序不變，您不需要做任何動作。",
        },
        lobby: Say { head: "您提早到了", lead: "目前尚未開放。請讓這個頁面保持開啟，隊伍開始前進時會自動更新。" },
        waitlisted: Say {
            head: "您在候補名單中",
            lead: "剩餘的票可能會由前面的人購得。若有票釋出，隊伍會依順序繼續前進。",
        },
        entering: Say { head: "輪到您了", lead: "正在帶您進入售票頁面。" },
        by_hand: Say {
            head: "輪到您了",
            lead: "瀏覽器沒有自動進入，請按下方按鈕。如果又回到這個頁面，請允許本網站使用 Cookie 後再試一次。",
        },
        lapsed: Say {
            head: "已經過號",
            lead: "輪到您時這個頁面沒有開啟，因此已由後面的人先進入。您可以重新排隊，從隊伍最後開始。",
        },
        left: Say { head: "您已離開隊伍", lead: "您的位置已讓給下一位。您可以重新排隊，從隊伍最後開始。" },
        lost: Say {
            head: "找不到您的位置",
            lead: "這個瀏覽器已經沒有您的排隊憑證。您可以重新排隊，從隊伍最後開始。",
        },
        cookies: Say {
            head: "需要使用 Cookie",
            lead: "您的位置記錄在 Cookie 中，但瀏覽器沒有保留它。請允許本網站使用 Cookie，然後再試一次。",
        },
        closed: Say { head: "販售已結束", lead: "目前已不再放行。感謝您的參與。" },
        sold_out: Say { head: "已售完", lead: "目前沒有剩餘的票。若有票釋出，這個頁面會自動更新。" },
        full: Say { head: "隊伍已滿", lead: "目前沒有空的位置。這個頁面會自動再試。" },
        scheduled: Say { head: "尚未開放", lead: "目前尚未開放。請讓這個頁面保持開啟，它會自動再試。" },
        outage: Say { head: "請稍候", lead: "目前無法為您安排位置。這個頁面會自動再試，不需要重新整理。" },
        login: Say {
            head: "請先登入",
            lead: "您的帳號會在所有裝置上保留同一個排隊位置。請先登入售票網站，再回到這個頁面。",
        },

        place: "您目前的順位",
        next: "下一位就是您",
        ahead: Forms { other: "前面還有 {n} 人", rest: &[] },
        progress: "排隊進度",
        wait: "預估等候時間",
        unknown: "尚無法估計",
        soon: "不到 1 分鐘",
        minutes: Forms { other: "{n} 分鐘", rest: &[] },
        hours: Forms { other: "{n} 小時", rest: &[] },
        range: "{low}–{high}",
        in_line: "排隊人數",
        number: "您的號碼",
        from_organiser: "主辦單位公告",

        keep_open: "請讓這個頁面保持開啟，期間可以使用其他分頁。",
        no_refresh: "不需要重新整理。重新整理不會變快，也不會失去位置。",
        what_next: "輪到您時會自動進入，接著就可以選票。",

        enter: "前往售票頁面",
        retry: "再試一次",
        login_now: "登入",
        rejoin: "重新排隊",
        leave: "離開隊伍",
        leave_means: "您的位置會讓給下一位，而且無法取回。",
        leave_now: "確定放棄我的位置",

        opens: "開放時間：",
        drawn_from: "您是等候區的第 {index} 位。開放時，等候區所有人的順序由抽籤決定，先到並不會比較有利。",

        checked: "上次更新：{time}",
        trouble: "目前連線中斷。您的位置會保留，這個頁面會持續重試。",
        refreshes: Forms { other: "這個頁面每 {n} 秒自動更新。", rest: &[] },
    },
};
