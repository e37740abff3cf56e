// The waiting page: asks for the position when the server said to, shows the answer, goes in when it is time.
// What it shows first was rendered by the server; every text comes from there too.
(function () {
  "use strict";
  const $ = (id) => document.getElementById(id);
  const words = JSON.parse($("words").textContent);
  const facts = JSON.parse($("facts").textContent);
  // A browser from before 2018 gets what one without scripts gets: the page anew.
  if (!(window.fetch && window.Intl && Intl.PluralRules && Promise.prototype.finally)) {
    return setTimeout(() => location.replace($("enter").href), Math.max(facts.next_poll_ms, 2000));
  }
  const main = $("main");
  const title = $("title").textContent;
  const footer = document.querySelector("footer");

  // Wait at most this long between attempts while the server cannot be reached, jitter not counted.
  const BACKOFF_MAX_MS = 30000;
  // An answer may be held back until the turn comes; longer than this it is lost.
  const ANSWER_MAX_MS = 30000;
  // Going in by itself stops after so many times in a row that led back here.
  const ENTRIES_MAX = 3;

  let scene = facts.scene;
  let ticket = facts.ticket;
  let known = { position: facts.position };
  // The place in the lobby, and when the room opens.
  let early = {};
  let announced = { scene: scene, position: facts.position, at: Date.now() };
  let answers = 0;
  let failures = 0;
  let busy = false;
  let alarm = 0;
  let due = 0;
  let span = 0;
  let pace = facts.next_poll_ms;
  let asked = { at: 0, abort: null };

  // ---- memory of this tab: where the visitor started, and how often going in led back here ----

  let memory = null;
  function remember(change) {
    try {
      const key = "ropeline " + facts.room;
      const old = JSON.parse(sessionStorage.getItem(key)) || {};
      memory = Object.assign({ start: 0, entries: 0 }, old.number === facts.number ? old : {}, { number: facts.number }, change);
      sessionStorage.setItem(key, JSON.stringify(memory));
    } catch (e) {
      memory = null;
    }
  }

  // ---- texts ----

  const format = (n) => new Intl.NumberFormat(words.lang).format(n);
  const fill = (text, values) => text.replace(/\{(\w+)\}/g, (all, name) => (name in values ? values[name] : all));
  const plural = (forms, n, shown) =>
    fill(forms[new Intl.PluralRules(words.lang).select(n)] || forms.other, { n: shown || format(n) });

  function waitText(wait) {
    if (!wait) return words.unknown;
    if (wait.high < 60) return words.soon;
    const unit = wait.high < 7200 ? 60 : 3600;
    const low = Math.max(Math.floor(wait.low / unit), 1);
    const high = Math.ceil(wait.high / unit);
    const forms = unit === 60 ? words.minutes : words.hours;
    if (low >= high) return plural(forms, high);
    return plural(forms, high, fill(words.range, { low: format(low), high: format(high) }));
  }

  // ---- showing ----

  function put(id, text) {
    if ($(id).textContent !== text) $(id).textContent = text;
  }

  function sceneOf(room, visitor) {
    if (visitor.state === "admitted") return "entering";
    if (/^(lapsed|left)$/.test(visitor.state)) return visitor.state;
    if (/^(paused|unavailable|closed)$/.test(room)) return room;
    if (/^(lobby|scheduled)$/.test(room)) return "lobby";
    if (room === "sold_out" && visitor.state === "waiting") return room;
    return visitor.likely === false && visitor.state === "waiting" ? "waitlisted" : visitor.state;
  }

  function setScene(name) {
    const texts = words.scenes[name] || words.scenes.waiting;
    scene = name;
    main.dataset.scene = name;
    main.dataset.show = known.position ? texts[2] : texts[2].replace("place ", "");
    put("head", texts[0]);
    put("lead", texts[1]);
    const inLine = known.position && / ?place /.test(main.dataset.show);
    document.title = inLine ? fill(words.tab, { position: format(known.position), title: title }) : texts[0] + " · " + title;
  }

  // In the visitor's own time.
  function opens() {
    const left = Math.ceil((early.at - Date.now()) / 1000);
    if (!(left > 0 && $("opens"))) return;
    const parts = [left / 3600, (left / 60) % 60, left % 60].map((n) => ("0" + Math.floor(n)).slice(-2));
    put("opens", new Date(early.at).toLocaleString(words.lang) + " (" + parts.join(":") + ")");
  }

  // On this browser's clock.
  const earlyOf = (index, r) => ({ index, at: Date.parse(r.opens_at) - Date.parse(r.server_time) + Date.now() });

  function progress() {
    if (!known.position) return;
    remember({ start: Math.max(facts.start || 0, (memory && memory.start) || 0, known.position) });
    const start = memory ? memory.start : Math.max(facts.start || 0, known.position);
    $("progress").max = start;
    $("progress").value = start - known.position;
    $("progress").hidden = false;
  }

  function show(room, visitor) {
    if (visitor.number && visitor.number !== facts.number) {
      // Joined anew in another tab.
      facts.number = visitor.number;
      facts.start = known.position = null;
    }
    if (visitor.position) {
      // A position once seen never grows.
      known.position = Math.min(known.position || Infinity, visitor.position);
      put("position", format(known.position));
      put("ahead", known.position > 1 ? plural(words.ahead, known.position - 1) : words.next);
      put("number", format(facts.number || 0));
      progress();
    }
    if (room.waiting != null) put("waiting", format(room.waiting));
    put("message", room.message || "");
    $("note").hidden = !room.message;
    early = earlyOf(visitor.lobby_index, room);
    setScene(sceneOf(room.state, visitor));
    opens();
    put("wait", waitText(/^wait/.test(scene) && visitor.wait_seconds));
    announce();
  }

  // For those who listen: a change of scene at once, the position when it moved a good step.
  function announce() {
    const step = known.position <= 0.8 * announced.position && Date.now() - announced.at > 60000;
    if (scene === announced.scene && !step) return;
    announced = { scene: scene, position: known.position, at: Date.now() };
    const place = known.position ? " " + $("place").textContent + ": " + format(known.position) + "." : "";
    put("said", $("head").textContent + "." + place + " " + $("lead").textContent);
  }

  function status(trouble) {
    footer.classList.toggle("trouble", trouble);
    const now = new Intl.DateTimeFormat(words.lang, { timeStyle: "medium" }).format(new Date());
    const text = trouble ? words.trouble : fill(words.checked, { time: now });
    put("status", facts.number || early.index ? text : "");
  }

  // ---- time: an alarm here and one in a worker, where timers run on while the tab is hidden ----

  let worker = null;
  try {
    const code = "let t;onmessage=e=>{clearTimeout(t);t=setTimeout(()=>postMessage(e.data[0]),e.data[1])}";
    worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
    worker.onmessage = (event) => ring(event.data);
    worker.onerror = () => (worker = null);
  } catch (e) {
    worker = null;
  }

  let timer = 0;
  function arm(ms) {
    const id = ++alarm;
    span = ms;
    due = Date.now() + ms;
    clearTimeout(timer);
    timer = setTimeout(() => ring(id), ms);
    if (worker) worker.postMessage([id, ms]);
  }

  function ring(id) {
    if (id === alarm) poll();
  }

  // After sleep, or from the cache of Back and Forward: what is overdue is done at once. A clock that was
  // set back counts as overdue.
  function wake(now) {
    const left = due - Date.now();
    // Asked before the sleep, on a connection that is dead by now.
    if (busy && asked.abort && Date.now() - asked.at > ANSWER_MAX_MS) asked.abort.abort();
    if (due && (now || left <= 0 || left > span)) poll();
  }

  // ---- asking ----

  const lives = () => / ?live/.test(main.dataset.show);
  const headers = () => (ticket ? { Accept: "application/json", Authorization: "Bearer " + ticket } : { Accept: "application/json" });

  function ask(url, method) {
    const abort = window.AbortController ? new AbortController() : null;
    asked = { at: Date.now(), abort: abort };
    const limit = setTimeout(() => abort && abort.abort(), ANSWER_MAX_MS);
    const options = { method: method, cache: "no-store", credentials: "same-origin", headers: headers() };
    if (abort) options.signal = abort.signal;
    const read = (answer) => answer.json().catch(() => ({})).then((doc) => [answer, doc || {}]);
    return fetch(url, options).then(read).finally(() => clearTimeout(limit));
  }

  async function poll() {
    if (busy || !lives()) return;
    busy = true;
    alarm++;
    due = 0;
    try {
      const [answer, doc] = await ask(facts.poll_url, "GET");
      heard(answer, doc);
    } catch (e) {
      again(0);
    }
    busy = false;
  }

  function heard(answer, doc) {
    const after = Number(answer.headers.get("Retry-After")) * 1000 || doc.next_poll_ms || 0;
    if (answer.status === 401) return unknown();
    if (!doc.room || !(doc.visitor || facts.number || early.index)) return again(after);
    if (doc.ticket) ticket = doc.ticket;
    show(doc.room, doc.visitor || { state: "waiting" });
    if (scene === "entering") return enter();
    answers++;
    if (!answer.ok && lives()) return again(after, true);
    failures = 0;
    status(false);
    pace = Math.max(doc.next_poll_ms || 5000, 250);
    if (lives()) arm(pace);
  }

  // The server does not know us. Without a place that is as it should be: visit again and take one.
  function unknown() {
    if (!facts.number && !early.index) return location.replace($("enter").href);
    setScene(answers ? "lost" : "cookies");
    announce();
  }

  // Not before the server allows it, and not all at the same moment: jitter is added after the cap.
  function again(after, reached) {
    const wait = after || Math.min(BACKOFF_MAX_MS, Math.max(pace, 1000) * Math.pow(2, failures));
    failures = after ? 1 : Math.min(failures + 1, 5);
    status(!reached);
    arm(Math.min(wait, 600000) * (1 + Math.random() * 0.5) + Math.random() * 1000);
  }

  // ---- going in, and leaving ----

  // By GET, whatever this page was the answer to. Where nothing is remembered the visitor presses the button.
  function enter() {
    const entries = memory ? memory.entries : ENTRIES_MAX;
    if (entries >= ENTRIES_MAX) {
      setScene("by_hand");
      return announce();
    }
    remember({ entries: entries + 1 });
    if (memory) location.replace($("enter").href);
  }

  $("leave").hidden = false;
  $("leave-now").addEventListener("click", () => {
    ask(facts.leave_url, "DELETE")
      .then(([answer]) => (answer.ok ? (setScene("left"), announce()) : status(true)))
      .catch(() => status(true));
  });

  // ---- start ----

  remember({});
  progress();
  early = earlyOf(facts.lobby_index, facts);
  opens();
  setInterval(opens, 1000);
  if (navigator.cookieEnabled === false && lives()) setScene("cookies");
  if (scene === "entering") enter();
  if (lives()) {
    status(false);
    arm(facts.next_poll_ms);
  }
  document.addEventListener("visibilitychange", () => document.hidden || wake(false));
  document.addEventListener("resume", () => wake(false));
  window.addEventListener("online", () => wake(failures > 0));
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) scene === "entering" ? enter() : wake(true);
  });
})();
