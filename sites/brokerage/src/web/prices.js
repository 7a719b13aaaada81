// Keeps the prices of a page up to date while it is open, and what follows from them: what
// holdings are worth, and what a new order may cost. Without it pages show the prices of their
// loading.
"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const all = (selector) => [...document.querySelectorAll(selector)];
  const line = at("feed");
  if (!line) return;

  const money = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
  const dollars = (cents) => money.format(cents / 100);
  const sign = (number) => (number > 0 ? "+" : number < 0 ? "\u2212" : "");
  const percent = (gain, cost) => {
    if (!(cost > 0)) return "";
    const tenths = Math.floor((gain * 2000 + cost) / (cost * 2));
    return `${sign(tenths)}${(Math.abs(tenths) / 10).toFixed(1)}\u00a0%`;
  };
  const show = (element, text) => {
    if (element && element.textContent !== text) element.textContent = text;
  };
  const showGain = (element, gain, cost) => {
    if (!element) return;
    show(element.querySelector("span"), sign(gain) + dollars(Math.abs(gain)));
    show(element.querySelector("small"), percent(gain, cost));
    for (const [name, is] of [["rises", gain > 0], ["falls", gain < 0]]) {
      element.classList.toggle(name, is);
    }
  };

  // The latest price of each security, in cents.
  const latest = new Map();

  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const showPrice = (element, cents) => {
    const text = dollars(cents);
    if (element.textContent === text) return;
    const before = Number(element.textContent.replace(/[^0-9.]/g, "")) * 100;
    element.textContent = text;
    if (!before) return;
    element.dataset.moved = cents > before ? "up" : "down";
    if (still.matches) return;
    const colour = cents > before ? "var(--good-bg)" : "var(--bad-bg)";
    element.animate({ backgroundColor: [colour, "transparent"] }, 800);
  };

  const portfolio = () => {
    let [worth, known] = [0, true];
    for (const row of all("[data-shares]")) {
      const price = latest.get(row.dataset.symbol);
      if (price === undefined) {
        known = false;
        continue;
      }
      const [here, cost] = [price * Number(row.dataset.shares), Number(row.dataset.cost)];
      show(row.querySelector(".worth"), dollars(here));
      showGain(row.querySelector(".gain"), here - cost, cost);
      worth += here;
    }
    if (!known || !at("worth")) return;
    show(at("worth"), dollars(worth));
    if (at("total")) show(at("total"), dollars(worth + Number(at("total").dataset.cash)));
    const cost = Number(at("gain")?.dataset.cost);
    showGain(at("gain"), worth - cost, cost);
  };

  // The form of a new order.
  const order = at("new-order");
  const securities = () => {
    // A list that is open does not change under the hand.
    if (!order || document.activeElement === order.elements.symbol) return;
    for (const option of order.elements.symbol.options) {
      const price = latest.get(option.value);
      if (price === undefined) continue;
      const words = option.text.split(" \u2013 ");
      const text = [...words.slice(0, -1), dollars(price)].join(" \u2013 ");
      if (option.text !== text) option.text = text;
    }
  };
  const estimate = () => {
    const { symbol, side, kind, quantity, limit } = order.elements;
    const market = kind.value === "market";
    limit.disabled = market;
    const place = at("estimate");
    let told = place.querySelector(".told");
    if (!told) {
      told = document.createElement("p");
      told.className = "told";
      place.prepend(told);
    }
    const shares = /^[0-9]{1,7}$/.test(quantity.value.trim()) ? Number(quantity.value) : 0;
    const typed = limit.value.trim();
    const wanted = /^[0-9]{1,7}(\.[0-9]{0,2})?$/.test(typed) ? Math.round(Number(typed) * 100) : 0;
    const price = market ? latest.get(symbol.value) : wanted;
    const [sum, buys] = [price * shares, side.value === "buy"];
    if (!sum) {
      show(told, "");
      return;
    }
    const about = market ? "about" : buys ? "at most" : "at least";
    const short = buys && sum > Number(place.dataset.cash) ? " That is more than you have to spend." : "";
    const [verb, which] = [buys ? "costs" : "brings", market ? "the latest price" : "your limit"];
    show(told, `The order ${verb} ${about} ${dollars(sum)} at ${which}.${short}`);
    told.classList.toggle("short", short !== "");
  };
  if (order) {
    order.addEventListener("input", estimate);
    estimate();
  }

  // Whether prices come. Of the time a screen reader says nothing, of a change of state it does.
  let clock = "";
  const state = (name, time, text) => {
    line.dataset.state = name;
    show(at("as-of"), time);
    show(at("feed-state"), text);
  };
  const lost = (text) => state("lost", clock ? `Prices as of ${clock}.` : at("as-of").textContent, text);
  if (!window.EventSource) return;
  const arrived = (message) => {
    const event = JSON.parse(message.data);
    const moment = new Date(event.as_of_ms);
    clock = `${moment.toLocaleTimeString("en-GB", { timeZone: "UTC" })} UTC`;
    if (event.stopped) {
      state("stopped", `Prices as of ${clock}.`, "The price feed has stopped. Orders wait until it goes on.");
    } else {
      state("live", `Live prices, ${clock}.`, "");
    }
    for (const [symbol, cents] of Object.entries(event.prices)) latest.set(symbol, cents);
    for (const element of all("[data-price]")) {
      const price = latest.get(element.dataset.price);
      if (price !== undefined) showPrice(element, price);
    }
    for (const element of all(".live[hidden]")) element.hidden = false;
    portfolio();
    securities();
    if (order) estimate();
  };
  let source;
  const follow = () => {
    if (source || document.hidden) return;
    source = new EventSource("/prices");
    source.onmessage = arrived;
    source.onerror = () => {
      if (source.readyState === EventSource.CLOSED) {
        lost("Prices do not move on this page. Load it again for the latest.");
      } else {
        lost("The connection is lost; trying again.");
      }
    };
  };
  // Over HTTP/1.1 a browser has six connections to a site for all its tabs. So a page that nobody
  // sees holds none: six of them would keep every further page from loading.
  const leave = () => {
    source?.close();
    source = undefined;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
  window.addEventListener("pagehide", leave);
  window.addEventListener("pageshow", follow);
  follow();
  window.addEventListener("offline", () => lost("The connection is lost; trying again."));
})();
