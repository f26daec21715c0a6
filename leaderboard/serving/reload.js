// Loads the page again after a build. Only `edu-rag serve --watch` puts it into pages, as it sends them.
"use strict";

(() => {
  const own = new URL(document.currentScript.src);
  let n = Number(own.searchParams.get("after")); // builds that had ended when the page was sent

  function say(text) {
    const box = document.querySelector("[data-fault]") || document.createElement("pre");
    box.dataset.fault = "";
    box.setAttribute("role", "alert");
    box.textContent = text;
    document.body.prepend(box);
  }

  // A script's answer waits for the next build: the page's policy allows scripts of its own host, and may forbid fetch.
  function ask() {
    const script = document.createElement("script");
    script.src = new URL(`next.js?after=${n}`, own).href;
    script.addEventListener("load", () => { script.remove(); ask(); });
    script.addEventListener("error", () => { script.remove(); setTimeout(ask, 1000); });
    document.head.append(script);
  }

  addEventListener("edu-rag-build", (event) => {
    if (event.detail.n === n) return;
    n = event.detail.n;
    if (event.detail.fault) say(`The build failed, and the page is as it was.\n${event.detail.fault}`);
    else location.reload();
  });
  addEventListener("load", ask);
})();
