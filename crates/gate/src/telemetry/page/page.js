// Keeps the page up to date while it is seen. Without it the page shows the moment at which it was
// loaded.
"use strict";
(() => {
  const live = document.getElementById("live");
  const say = (text) => {
    if (live.textContent !== text) live.textContent = text;
  };

  // Changes what is different, and nothing else: what has the focus, is scrolled, or is being read
  // stays where it is.
  const renew = (now, next) => {
    if (now.isEqualNode(next)) return;
    const same = now.nodeName === next.nodeName && now.childNodes.length === next.childNodes.length;
    if (!same) {
      now.replaceWith(next);
      return;
    }
    if (now.nodeType === Node.TEXT_NODE) {
      now.data = next.data;
      return;
    }
    // Whoever opened it closes it.
    if (now.nodeName !== "DETAILS") {
      for (const { name } of [...now.attributes]) {
        if (!next.hasAttribute(name)) now.removeAttribute(name);
      }
      for (const { name, value } of next.attributes) {
        if (now.getAttribute(name) !== value) now.setAttribute(name, value);
      }
    }
    const children = [...next.childNodes];
    [...now.childNodes].forEach((child, index) => renew(child, children[index]));
  };
  const arrived = ({ data }) => {
    found();
    for (const [id, text] of Object.entries(JSON.parse(data))) {
      const shell = document.createElement("template");
      shell.innerHTML = text;
      renew(document.getElementById(id), shell.content.firstElementChild);
    }
  };

  // The gate ends a stream now and then, and the browser opens the next one. Only what lasts is
  // told.
  let [source, lost] = [undefined, undefined];
  const found = () => {
    clearTimeout(lost);
    lost = undefined;
    say("");
  };
  const follow = () => {
    if (source || document.hidden) return;
    source = new EventSource("/events" + location.search);
    source.onmessage = arrived;
    source.onerror = () => {
      lost ??= setTimeout(() => say("This page shows the past: the gate does not answer, or as many pages as it keeps up to date are open. Trying again."), 4000);
      if (source?.readyState === EventSource.CLOSED) {
        leave();
        setTimeout(follow, 5000);
      }
    };
  };
  const leave = () => {
    source?.close();
    source = undefined;
  };
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
  window.addEventListener("pagehide", leave);
  window.addEventListener("pageshow", follow);
  follow();
})();
