/* The page's own script: language, theme, kept conversations, clicks inside rendered HTML, keyboard, input methods.
   It talks to Gradio only by pressing its buttons and filling its fields. Nothing here contacts another machine. */
"use strict";
(() => {
  const STORE = "advisor.conversations";
  const KEPT_MAX = 30;
  const by = (id) => document.getElementById(id);
  let wish = "{}";
  let entry = "{}";
  let isReady = false;

  /* Storage that a private window may refuse. */
  const store = {
    get(key, otherwise) {
      try {
        const text = localStorage.getItem(key);
        return text === null ? otherwise : text;
      } catch {
        return otherwise;
      }
    },
    set(key, value) {
      try {
        localStorage.setItem(key, value);
        return true;
      } catch {
        return false;
      }
    },
  };

  const conversations = () => {
    try {
      const list = JSON.parse(store.get(STORE, "[]"));
      return Array.isArray(list) ? list.filter((item) => item && typeof item.id === "string") : [];
    } catch {
      return [];
    }
  };

  const saveConversations = (list) => {
    let kept = list.slice(0, KEPT_MAX);
    while (!store.set(STORE, JSON.stringify(kept)) && kept.length > 1) kept = kept.slice(0, -1);
  };

  /* Language: what the visitor chose, else what the browser speaks. */
  const lang = () => {
    const asked = new URLSearchParams(location.search).get("lang");
    const chosen = asked || store.get("advisor.lang", "");
    if (chosen === "ja" || chosen === "en") return chosen;
    for (const tag of navigator.languages || [navigator.language || "en"]) {
      const short = tag.slice(0, 2).toLowerCase();
      if (short === "ja" || short === "en") return short;
    }
    return "en";
  };

  const setLang = (value) => {
    if (value !== "ja" && value !== "en") return;
    if (isReady) store.set("advisor.lang", value);
    document.documentElement.lang = value;
  };

  /* Theme: what the visitor chose, else the system's. */
  const wantsDark = () => {
    const chosen = store.get("advisor.theme", "");
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const applyTheme = () => {
    if (document.body) document.body.classList.toggle("dark", wantsDark());
    document.documentElement.style.colorScheme = wantsDark() ? "dark" : "light";
  };
  const toggleTheme = () => {
    store.set("advisor.theme", document.body.classList.contains("dark") ? "light" : "dark");
    applyTheme();
  };

  /* Talking to Gradio. */
  const press = (id) => {
    const node = by(id);
    const button = node && (node.matches("button") ? node : node.querySelector("button"));
    if (button) button.click();
    return Boolean(button);
  };
  const ask = (action) => {
    wish = JSON.stringify(action);
    press("bridge-button");
  };
  const composer = () => document.querySelector("#composer textarea");
  const fill = (text) => {
    const box = composer();
    if (!box) return;
    Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value").set.call(box, text);
    box.dispatchEvent(new Event("input", { bubbles: true }));
  };
  const send = (text) => {
    fill(text);
    setTimeout(() => {
      const button = document.querySelector("#composer button.submit-button");
      if (button) button.click();
    }, 60);
  };
  /* A tab's button; on a narrow page Gradio moves the last tabs into a menu, in the same order. */
  const TABS = {
    page: ["ask", "offers", "diagnose", "guide", "about"],
    tab: ["picks", "compare", "charts", "assumptions", "sources"],
  };
  const tabButton = (id) => {
    const shown = by(`${id}-button`);
    if (shown) return shown;
    const [kind, name] = id.split("-");
    const wrapper = document.querySelector(`#${kind === "page" ? "pages" : "result-tabs"} > .tab-wrapper`);
    if (!wrapper) return null;
    const inRow = wrapper.querySelectorAll("[role=tab]").length;
    return wrapper.querySelectorAll(".overflow-dropdown button")[TABS[kind].indexOf(name) - inRow] || null;
  };
  const openTab = (id) => {
    const button = tabButton(id);
    if (button) button.click();
    return Boolean(button);
  };

  /* Files and clipboard. */
  const download = (name, text) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  const copy = async (text) => {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const box = document.createElement("textarea");
      box.value = text;
      document.body.append(box);
      box.select();
      document.execCommand("copy");
      box.remove();
    }
    toast(words().copied);
  };
  const words = () => (document.querySelector(".history") || { dataset: {} }).dataset;
  const toast = (text) => {
    const note = document.createElement("div");
    note.className = "toast";
    note.setAttribute("role", "status");
    note.textContent = text || "✓";
    document.body.append(note);
    setTimeout(() => note.remove(), 1800);
  };

  const questions = () =>
    [...document.querySelectorAll("#chat .user .message, #chat .message.user")].map((node) => node.innerText.trim());
  const share = () => {
    const asked = (composer() && composer().value.trim()) || questions()[0] || "";
    const url = new URL(location.origin + location.pathname);
    if (asked) url.searchParams.set("q", asked);
    copy(url.toString());
  };

  /* Kept conversations. Which one a tab is at outlives a reload of it. */
  const TAB = "advisor.conversation";
  const current = {
    get id() {
      try {
        return sessionStorage.getItem(TAB) || "";
      } catch {
        return this.otherwise || "";
      }
    },
    set id(value) {
      this.otherwise = value;
      try {
        sessionStorage.setItem(TAB, value);
      } catch {
        /* A private window keeps it for as long as the page is open. */
      }
    },
  };
  const isReload = () => {
    const [entry] = performance.getEntriesByType("navigation");
    return Boolean(entry) && (entry.type === "reload" || entry.type === "back_forward");
  };
  const own = () => conversations().find((item) => item.id === current.id);
  /* What a reloaded tab goes on with; nothing on a tab opened anew. */
  const resumed = () => {
    if (!isReload() && !waited()) current.id = "";
    const item = own();
    return item ? item.session : "";
  };
  /* The page that is shown while the server starts reloads itself as a new visit, and leaves a note. */
  const waited = () => {
    try {
      const note = sessionStorage.getItem("advisor.reload");
      sessionStorage.removeItem("advisor.reload");
      return note === "1";
    } catch {
      return false;
    }
  };
  /* This tab's conversation for a server that may have forgotten it: whole where the server's process is another one or the
     tab was idle for long, else its name. */
  const IDLE_MS = 10 * 60 * 1000;
  let process = "";
  let lastUse = Date.now();
  const processNow = async () => {
    try {
      const root = (window.gradio_config || {}).root || location.origin;
      const answer = await fetch(`${root}/gradio_api/app_id`, { cache: "no-store" });
      return answer.ok ? String((await answer.json()).app_id) : "";
    } catch {
      return "";
    }
  };
  const mine = async () => {
    if (!current.id) return "";
    const before = process;
    process = await processNow();
    const isKnown = before && before === process && Date.now() - lastUse < IDLE_MS;
    lastUse = Date.now();
    const item = own();
    return JSON.stringify({ id: current.id, session: isKnown || !item ? "" : item.session });
  };
  /* The kept conversation with this turn at its place; false where this browser does not have the turns before it. */
  const addTurn = (item) => {
    const before = conversations().find((other) => other.id === item.id);
    let session;
    try {
      session = before ? JSON.parse(before.session) : { thread: item.id, turns: [] };
    } catch {
      return false;
    }
    const turns = session.turns || [];
    if (turns.length < item.place) return false;
    delete session.shown;
    item.session = JSON.stringify({ ...session, turns: [...turns.slice(0, item.place), item.turn] });
    delete item.place;
    delete item.turn;
    return true;
  };
  const keep = (text) => {
    if (!text) return;
    let item;
    try {
      item = JSON.parse(text);
    } catch {
      return;
    }
    current.id = item.id;
    if (item.session === undefined && !addTurn(item)) {
      by("keep-button").click();
      return;
    }
    item.at = Date.now();
    saveConversations([item, ...conversations().filter((other) => other.id !== item.id)]);
    drawHistory();
    setTimeout(showQuestion, 120);
  };
  const newChat = () => {
    current.id = "";
    ask({ do: "new" });
    drawHistory();
    if (composer()) composer().focus();
  };
  const cleared = () => {
    current.id = "";
    drawHistory();
  };
  /* On a phone the list lies over the page. */
  const leaveHistory = () => {
    const toggle = document.querySelector("#history.open .toggle-button");
    if (toggle && isPhone()) toggle.click();
  };
  const drawHistory = () => {
    const list = by("history-items");
    if (!list) return;
    const items = conversations();
    list.replaceChildren(
      ...items.map((item) => {
        const row = document.createElement("li");
        const open = document.createElement("button");
        open.type = "button";
        open.className = "open";
        open.textContent = item.title || "…";
        open.title = item.title || "";
        if (item.id === current.id) open.setAttribute("aria-current", "true");
        open.addEventListener("click", () => {
          current.id = item.id;
          ask({ do: "restore", session: item.session });
          openTab("page-ask");
          drawHistory();
          leaveHistory();
        });
        const remove = document.createElement("button");
        remove.type = "button";
        remove.className = "remove";
        remove.textContent = "×";
        remove.setAttribute("aria-label", `${words().remove || ""}: ${item.title || ""}`);
        remove.addEventListener("click", () => {
          saveConversations(conversations().filter((other) => other.id !== item.id));
          drawHistory();
        });
        row.append(open, remove);
        return row;
      })
    );
    const clear = document.querySelector("[data-act=clear-history]");
    if (clear) clear.hidden = !items.length;
    if (!items.length) {
      const none = document.createElement("li");
      none.className = "none";
      none.textContent = words().empty || "";
      list.append(none);
    }
  };

  /* Sources: a mark [n] in the chat opens the passage of that turn. */
  const openSource = (anchor) => {
    const show = () => {
      const item = by(anchor);
      if (!item) return false;
      const details = item.querySelector("details");
      if (details) details.open = true;
      item.scrollIntoView({ block: "nearest", behavior: "smooth" });
      const mark = item.querySelector("mark");
      if (mark) mark.scrollIntoView({ block: "center", behavior: "smooth" });
      item.classList.add("hit");
      setTimeout(() => item.classList.remove("hit"), 1600);
      const summary = item.querySelector("summary");
      if (summary) summary.focus({ preventScroll: true });
      return true;
    };
    openTab("page-ask");
    openTab("tab-sources");
    if (show()) return;
    const turn = Number(anchor.split("-")[1]);
    let left = 40;
    let asked = false;
    const timer = setInterval(() => {
      if (show() || --left < 0) clearInterval(timer);
      else if (!asked && left < 36) {
        asked = true;
        ask({ do: "show", turn });
      }
    }, 80);
  };

  /* Tables sort by their header buttons; a missing value stays last. */
  const sortTable = (button) => {
    const head = button.closest("th");
    const table = head.closest("table");
    const column = [...head.parentNode.children].indexOf(head);
    const up = head.getAttribute("aria-sort") !== "ascending";
    for (const other of head.parentNode.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", up ? "ascending" : "descending");
    const key = (row) => {
      const cell = row.children[column];
      if ("v" in cell.dataset) return cell.dataset.v === "" ? null : Number(cell.dataset.v);
      return cell.innerText.trim().toLowerCase();
    };
    const rows = [...table.tBodies[0].rows].map((row, i) => ({ row, i, k: key(row) }));
    rows.sort((a, b) => {
      if (a.k === null || b.k === null) return (a.k === null) - (b.k === null) || a.i - b.i;
      const order = typeof a.k === "number" && typeof b.k === "number" ? a.k - b.k : String(a.k).localeCompare(String(b.k));
      return (up ? order : -order) || a.i - b.i;
    });
    table.tBodies[0].append(...rows.map(({ row }) => row));
  };

  /* Guide: on a phone the entry takes the place of the list, with a way back to where the list was. */
  const isPhone = () => matchMedia("(max-width: 900px)").matches;
  let listPlace = 0;
  const showEntry = () => {
    if (isPhone()) listPlace = scrollY;
    document.documentElement.classList.add("guide-reading");
    if (!isPhone()) return;
    scrollTo(0, 0);
    const back = by("guide-back");
    if (back) back.focus({ preventScroll: true });
  };
  const leaveEntry = () => {
    document.documentElement.classList.remove("guide-reading");
    scrollTo(0, listPlace);
    const read = document.querySelector("#guide-list [aria-current]");
    if (read) read.focus({ preventScroll: true });
  };

  const acts = {
    download: (node) => download(node.dataset.name, node.closest(".file").querySelector("textarea").value),
    copy: (node) => copy(node.closest(".file").querySelector("textarea").value),
    sort: sortTable,
    new: () => {
      newChat();
      leaveHistory();
    },
    "clear-history": () => {
      if (confirm(words().clearSure || "?")) {
        saveConversations([]);
        drawHistory();
      }
    },
    guide: (node) => {
      entry = JSON.stringify({ entry: node.dataset.entry });
      for (const other of document.querySelectorAll("#guide-list [aria-current]")) other.removeAttribute("aria-current");
      node.setAttribute("aria-current", "true");
      press("guide-wish-button");
      showEntry();
    },
  };

  document.addEventListener(
    "click",
    (event) => {
      const link = event.target.closest && event.target.closest('a[href*="#src-"]');
      if (link) {
        event.preventDefault();
        event.stopPropagation();
        openSource(link.getAttribute("href").split("#")[1]);
        return;
      }
      const node = event.target.closest && event.target.closest("[data-act]");
      if (node && acts[node.dataset.act]) acts[node.dataset.act](node);
    },
    true
  );

  /* Enter that confirms a Japanese conversion is not a send. Some browsers report it only as key code 229. */
  for (const kind of ["keydown", "keypress"]) {
    window.addEventListener(
      kind,
      (event) => {
        if (event.key === "Enter" && (event.isComposing || event.keyCode === 229)) event.stopImmediatePropagation();
      },
      true
    );
  }

  const isTyping = (node) => node && (node.isContentEditable || /^(input|textarea|select)$/i.test(node.tagName));
  document.addEventListener("keydown", (event) => {
    if (event.isComposing || event.ctrlKey || event.metaKey) return;
    if (event.key === "Escape") {
      const stop = document.querySelector("#composer button.stop-button");
      if (stop) stop.click();
    } else if (event.key === "/" && !isTyping(event.target)) {
      event.preventDefault();
      openTab("page-ask");
      setTimeout(() => composer() && composer().focus(), 60);
    } else if (event.altKey && /^Digit[1-5]$/.test(event.code)) {
      event.preventDefault();
      openTab(`page-${TABS.page[Number(event.code.slice(5)) - 1]}`);
    } else if (event.altKey && event.code === "KeyN") {
      event.preventDefault();
      newChat();
    } else if (event.altKey && event.code === "KeyH") {
      event.preventDefault();
      const toggle = document.querySelector("#history .toggle-button, .sidebar .toggle-button");
      if (toggle) toggle.click();
    }
  });

  /* A new question comes to the top of the chat, so that its answer is read from its beginning. */
  let questionCount = 0;
  const showQuestion = () => {
    const rows = document.querySelectorAll("#chat .user-row");
    const log = document.querySelector("#chat [role=log]");
    if (log && rows.length > 1) log.scrollTop += rows[rows.length - 1].getBoundingClientRect().top - log.getBoundingClientRect().top;
  };
  const followQuestion = () => {
    const count = document.querySelectorAll("#chat .user-row").length;
    if (count > questionCount) showQuestion();
    questionCount = count;
  };

  /* What Gradio names in English only, or not at all; and what it names in the browser's language instead of the page's. */
  const UNNAMED = [
    ["#history .toggle-button", "history"],
    ["#chat [role=log]", "chat"],
    ["#composer .submit-button", "send"],
    ["#composer .stop-button", "stop"],
    ["#guide-query .submit-button", "search"],
  ];
  const GRADIO_SAYS = {
    "Copy message": "copyMessage",
    Clear: "clear", "会話をクリア": "clear", "Clear chat": "clear",
    Edit: "edit", "編集": "edit", Submit: "submit", "送信": "submit", Cancel: "cancel", "キャンセル": "cancel",
    Retry: "retry", "再試行": "retry",
    Like: "like", "いいね": "like", Liked: "liked",
    Dislike: "dislike", "よくないね": "dislike", Disliked: "disliked",
  };
  const say = (node, name) => {
    if (!name) return;
    if (node.getAttribute("aria-label") !== name) node.setAttribute("aria-label", name);
    if (node.title && node.title !== name) node.title = name;
  };

  /* Small repairs that make Gradio's own parts readable to a screen reader. */
  const repair = () => {
    const chat = document.querySelector("#chat [role=log]");
    if (chat && !chat.hasAttribute("tabindex")) chat.setAttribute("tabindex", "0");
    /* A list of choices goes away when it gets the focus, and would take the focus with it. */
    for (const list of document.querySelectorAll("ul[role=listbox]:not([tabindex])")) list.setAttribute("tabindex", "-1");
    /* What scrolls sideways is scrolled by the keyboard too. */
    for (const wide of document.querySelectorAll("#chat table, #guide-text table, .passage .wide"))
      if (wide.tabIndex < 0 && wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0;
    const examples = document.querySelector("#chat .examples[role=list]");
    if (examples) examples.setAttribute("role", "group");
    /* The folded steps: one button with a name instead of a nameless button inside a button. */
    for (const title of document.querySelectorAll("#chat .thought-group .title")) {
      title.removeAttribute("role");
      title.removeAttribute("tabindex");
      const button = title.querySelector("button");
      if (button) say(button, title.innerText.trim() || words().steps);
    }
    for (const [selector, key] of UNNAMED) for (const node of document.querySelectorAll(selector)) say(node, words()[key]);
    for (const node of document.querySelectorAll("#chat button[title]")) {
      node.dataset.says = GRADIO_SAYS[node.title] || node.dataset.says || "";
      say(node, words()[node.dataset.says]);
    }
    if (words().title && document.title !== words().title) document.title = words().title;
  };

  /* A phone shows its number keys for amounts. */
  document.addEventListener(
    "focusin",
    (event) => {
      const field = event.target.closest && event.target.closest(".amount");
      if (field && event.target.matches("input, textarea")) event.target.inputMode = "decimal";
    },
    true
  );

  const ready = () => {
    applyTheme();
    document.documentElement.lang = lang();
    document.documentElement.classList.add("advisor-ready");
    isReady = true;
    drawHistory();
    new MutationObserver(() => {
      if (by("history-items") && !by("history-items").children.length) drawHistory();
      repair();
      followQuestion();
    }).observe(document.body, { childList: true, subtree: true });
    repair();
    processNow().then((now) => (process = now));
    const asked = new URLSearchParams(location.search).get("q");
    if (asked && !current.id && !questions().length) send(asked);
  };

  setLang(lang());
  document.addEventListener("DOMContentLoaded", applyTheme);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);

  window.advisorPage = {
    lang,
    setLang,
    toggleTheme,
    ready,
    keep,
    newChat,
    cleared,
    resumed,
    mine,
    share,
    download,
    takeWish: () => wish,
    takeEntry: () => entry,
    leaveEntry,
  };
})();
