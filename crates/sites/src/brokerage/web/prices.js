// Keeps the prices of a page up to date while the page is open.
"use strict";
(() => {
  const line = document.getElementById("feed");
  if (!line || !window.EventSource) return;
  const money = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD" });
  const show = (element, cents) => {
    const text = money.format(cents / 100);
    if (element.textContent === text) return;
    const rises = cents > Number(element.dataset.cents);
    if (element.dataset.cents) element.className = rises ? "num rises" : "num falls";
    element.dataset.cents = String(cents);
    element.textContent = text;
  };
  const feed = (event) => {
    const at = new Date(event.as_of_ms).toLocaleTimeString("en-GB", { timeZone: "UTC" });
    line.textContent = event.stopped
      ? `Prices as of ${at} UTC: the price feed has stopped. Orders wait until it goes on.`
      : `Prices as of ${at} UTC.`;
    line.toggleAttribute("data-stopped", event.stopped);
  };
  const source = new EventSource("/prices");
  source.onmessage = (message) => {
    const event = JSON.parse(message.data);
    feed(event);
    for (const element of document.querySelectorAll("[data-price]")) {
      const cents = event.prices[element.dataset.price];
      if (cents !== undefined) show(element, cents);
    }
    for (const element of document.querySelectorAll("[data-worth]")) {
      const cents = event.prices[element.dataset.worth];
      if (cents !== undefined) show(element, cents * Number(element.dataset.shares));
    }
  };
})();
