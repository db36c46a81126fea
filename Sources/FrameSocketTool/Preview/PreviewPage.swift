/// The page; every address in it is relative, so that it works behind a path of another server.
enum PreviewPage {
    static let html = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>FrameSocket preview</title>
        <link rel="icon" href="icon.svg" type="image/svg+xml">
        <link rel="stylesheet" href="preview.css">
        <script src="preview.js" defer></script>
        </head>
        <body data-state="connecting" data-mode="fit">
        <header>
          <h1>FrameSocket preview</h1>
          <p id="path"></p>
          <p id="choice" hidden><label>Show <select id="senders"></select></label></p>
          <p id="summary" role="status">Connecting</p>
        </header>
        <main>
          <figure id="stage">
            <div id="view" hidden><canvas id="image" role="img" aria-label="Latest frame"></canvas></div>
            <figcaption id="note">
              <span id="message" role="status">Connecting to the preview.</span> <span id="detail"></span>
              <p id="start" hidden><code id="command"></code> <button id="copy" type="button" aria-live="polite">Copy</button></p>
            </figcaption>
          </figure>
          <section aria-label="Stream">
            <dl id="facts"></dl>
            <p><label>Fit <select id="mode">
              <option value="fit">Whole frame</option>
              <option value="fill">Fill, cropped</option>
              <option value="stretch">Stretch</option>
            </select></label></p>
            <p><button id="zoom" type="button" aria-pressed="false" disabled>Actual size</button>
              <button id="full" type="button" disabled>Full screen</button></p>
            <p><a id="save" download="snapshot.jpg" hidden>Save frame</a></p>
            <noscript><p>This page requires JavaScript. <a href="snapshot.jpg">The latest frame</a> does not.</p></noscript>
          </section>
        </main>
        </body>
        </html>

        """

    static let css = """
        :root { color-scheme: light dark; --line: 1px solid color-mix(in srgb, CanvasText 20%, Canvas); }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        html, body { height: 100%; margin: 0; }
        body {
          display: flex; flex-direction: column; background: Canvas; color: CanvasText;
          font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
        }
        header { display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem; padding: .75rem 1.25rem; border-bottom: var(--line); }
        h1, header p { margin: 0; font-size: inherit; }
        #path { font-family: ui-monospace, monospace; font-size: .85rem; }
        #summary { margin-left: auto; font-weight: 600; white-space: nowrap; }
        #summary::before { content: "● "; color: light-dark(#596274, #9aa4b5); }
        [data-state="live"] #summary::before { color: light-dark(#1d7a45, #5fcf8e); }
        [data-state="paused"] #summary::before { color: light-dark(#8a5a00, #e3b04b); }
        [data-state="ended"] #summary::before, [data-state="lost"] #summary::before { color: light-dark(#b3261e, #ff8a80); }
        main { flex: 1; min-height: 0; display: flex; }
        #stage {
          flex: 1; min-width: 0; margin: 0; padding: 1.25rem; gap: .75rem; background: light-dark(#e6e9ee, #0b0d11);
          display: flex; flex-direction: column; align-items: center; justify-content: center;
        }
        #view { flex: 1; align-self: stretch; min-height: 0; display: flex; align-items: safe center; justify-content: safe center; }
        #image { width: 100%; height: 100%; object-fit: contain; }
        [data-mode="fill"] #image { object-fit: cover; }
        [data-mode="stretch"] #image { object-fit: fill; }
        [data-actual] #view { overflow: auto; }
        [data-actual] #image { width: auto; height: auto; flex: none; }
        body:not([data-state="live"]) #image { opacity: .35; }
        #note { max-width: 36rem; text-align: center; }
        #command { user-select: all; }
        section { width: 18rem; flex: none; padding: 1.25rem; border-left: var(--line); overflow: auto; }
        dl { margin: 0; }
        dl div { display: flex; justify-content: space-between; gap: 1rem; padding: .35rem 0; border-bottom: var(--line); }
        dt { white-space: nowrap; }
        dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; }
        select { max-width: 100%; }
        @media (max-width: 48rem) {
          html, body { height: auto; }
          main { flex-direction: column; }
          #stage { flex: none; padding: .75rem; }
          #view { flex: none; height: 65vh; }
          #path, #choice { order: 1; flex-basis: 100%; }
          section { width: auto; border: 0; }
        }

        """

    static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
        <rect x="1" y="2.5" width="14" height="9.5" rx="2" fill="#3b6ea8"/><circle cx="8" cy="7.25" r="2.25" fill="#fff"/>
        <rect x="5" y="13" width="6" height="1.5" rx=".75" fill="#3b6ea8"/>
        </svg>

        """
}

extension PreviewPage {
    /// How the page asks for the state and the images, and shows them.
    static let script = #"""
        "use strict";

        // In milliseconds: how often the state is requested, and by a page that nobody sees; for how long it must have been out
        // of reach until the page says so; how long its answer and that of an image may take.
        const interval = 500, hiddenInterval = 5000, patience = 2000, timeout = 6000, imageTimeout = 60000;
        const element = (id) => document.getElementById(id);
        const image = element("image"), context = image.getContext("bitmaprenderer");
        const name = [...crypto.getRandomValues(new Uint32Array(2))].map((number) => number.toString(36)).join("-");

        // What the page's address selects: the connection of a sender, empty for the latest, and how its image is fitted.
        const query = new URLSearchParams(location.search);
        let chosen = query.get("sender") ?? "", mode = query.get("mode") ?? "";
        // The tag of the latest image, whether one has been drawn, when each was, and what is wrong with the latest.
        let tag = "", isDrawn = false, firstAt, times = [], drawing = Promise.resolve(), trouble = "";
        // The last state, since when there has been none, and whether the preview has ended.
        let latest = {}, failingSince, hasEnded = false;

        const figure = (value, text) => (value === undefined || Number.isNaN(value) ? "–" : text(value));
        const rate = (value) => figure(value, () => `${value.toFixed(1)} frames/s`);
        const bytes = (count) =>
          count < 1e3 ? `${count} B` : count < 1e6 ? `${(count / 1e3).toFixed(1)} kB` : `${(count / 1e6).toFixed(1)} MB`;
        const duration = (seconds) =>
          seconds < 60 ? `${Math.floor(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
        const processOf = ({ connection, pid, uid }) => (pid === undefined ? `no. ${connection}` : `process ${pid}, user ${uid}`);
        const positionOf = (state) => state.choices.findIndex(({ connection }) => connection === state.connection) + 1;
        const isAbsent = (state) => state.viewers === undefined;
        // Whose image is shown: that of a sender which has left stays.
        const shown = (state) => state.last ?? state;

        const facts = {
          "Size": (state) => figure(shown(state).width, (width) => `${width} × ${shown(state).height}`),
          "Rate": ({ framesPerSecond }) => rate(framesPerSecond),
          "Shown here": (state) => rate(state.width && drawnRate()),
          "Data": ({ bytesPerSecond }) => figure(bytesPerSecond, (count) => `${bytes(count)}/s`),
          "Latency": ({ latency }) => figure(latency, (time) => `${(time / 1e6).toFixed(1)} ms`),
          "Frames": ({ frames }) => figure(frames, String),
          "Dropped": ({ missing, superseded, undecodable }) => figure(missing + superseded + undecodable, (total) => total === 0 ? "0"
            : `${missing} by the sender, ${superseded} superseded, ${undecodable} not decodable`),
          "Last frame": (state) =>
            figure(shown(state).age, (age) => `${duration(age / 1e9 + (performance.now() - state.at) / 1e3)} ago`),
          "Sender": (state) => figure(shown(state).connection, () => processOf(shown(state)) + (isAbsent(state) ? ""
            : state.last ? ", has left" : state.senders < 2 ? "" : `, ${positionOf(state)} of ${state.senders}`)),
          "Viewers": ({ viewers, maximumViewers }) => figure(viewers, () => `${viewers} of ${maximumViewers}`),
        };

        // Images drawn here per second, over two seconds; none before the first image is as old.
        function drawnRate() {
          const start = performance.now() - 2000;
          return firstAt < start ? times.filter((time) => time > start).length / 2 : undefined;
        }

        function say(element, text) {
          // Unchanged text is not announced again by screen readers.
          if (element.textContent !== text) element.textContent = text;
        }

        function address(path, values = {}) {
          const search = new URLSearchParams(chosen ? { ...values, sender: chosen } : values).toString();
          return search ? `${path}?${search}` : path;
        }

        // Keeps the choices in the page's address, and the token out of it.
        function select(sender, fit) {
          if (sender !== chosen) [tag, isDrawn, firstAt, trouble] = ["", false, undefined, ""];
          [chosen, mode] = [sender, ["fill", "stretch"].includes(fit) ? fit : ""];
          element("senders").value = chosen;
          element("mode").value = document.body.dataset.mode = mode || "fit";
          history.replaceState(null, "", address(location.pathname, mode ? { mode } : {}));
        }

        // Until some milliseconds have passed, or the page comes into view.
        const pause = (milliseconds) => new Promise((resolve) => {
          setTimeout(resolve, milliseconds);
          document.addEventListener("visibilitychange", resolve, { once: true, signal: AbortSignal.timeout(milliseconds) });
        });

        // A command that starts a sender, if there is none; a port would also need a token, which does not belong on a page.
        function commandFor({ state, path }) {
          if (state !== "none" || !path.startsWith("/")) return "";
          const quoted = /^[\w./:@%+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
          return `framesocket send ${quoted} image.jpg --loop 0 --fps 10`;
        }

        const isHere = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);

        // A headline, a sentence, and a detail that changes by itself and is therefore not announced.
        const descriptions = {
          none: (state) => ["No sender", (state.lastEnd ? `The last sender has left: ${state.lastEnd.replace(/\.?$/, ".")}`
            : "No sender is connected.") + (commandFor(state) ? ` To start one${isHere ? "" : " on the machine of the preview"}, run:` : "")],
          waiting: ({ undecodable }) => ["Waiting", undecodable > 0 ? "A sender is connected, but none of its frames can be decoded."
            : "A sender is connected but has not sent a frame yet."],
          paused: ({ width }) => ["Paused", `The sender has paused.${width ? " This is its last frame." : ""}`],
          live: () => ["Live", trouble],
          lost: ({ message, since }) => ["Not reachable", message, `Retrying for ${duration((performance.now() - since) / 1e3)}.`],
          ended: ({ time }) => ["Preview ended", `It ended at ${time}. This page continues if the preview is started again with the same token.`],
        };

        function show(state) {
          const [summary, message, detail = ""] = descriptions[state.state](state), command = commandFor(state);
          document.body.dataset.state = state.state === "live" && message ? "stale" : state.state;
          for (const [id, text] of Object.entries({ summary, message, detail, command, path: state.path ?? "" })) say(element(id), text);
          for (const [id, isHidden] of [["start", !command], ["note", !message], ["view", !isDrawn]]) element(id).hidden = isHidden;
          document.title = `${summary} – FrameSocket preview`;
          for (const [label, text] of Object.entries(facts)) say(document.querySelector(`dd[data-fact="${label}"]`), text(state));
          image.setAttribute("aria-label", `Latest frame, ${image.width} by ${image.height} pixels`);
          for (const id of ["full", "zoom"]) element(id).disabled = !isDrawn;
          element("save").hidden = !isDrawn || isAbsent(state);
          if (isDrawn) element("save").href = address("image");
          offer(state.choices);
        }

        function offer(choices) {
          const options = [["", "the latest"], ...choices.map((sender) => [String(sender.connection),
            `sender ${sender.connection}, ${processOf(sender)}${sender.width === undefined ? "" : `, ${sender.width} × ${sender.height}`}`])];
          element("choice").hidden = choices.length < 2 && !chosen;
          // Replacing the options would close an open list.
          const text = JSON.stringify(options), list = element("senders");
          if (list.dataset.options === text) return;
          list.dataset.options = text;
          list.replaceChildren(...options.map(([value, label]) => new Option(label, value)));
          list.value = chosen;
        }

        // Nothing that fails tells that the preview has ended: the network may be down, or the browser may have no connection
        // left for this page. What was true when the preview last answered is not shown as if it were true now, except of the
        // image, which stays.
        function failed(message, askedAt) {
          failingSince ??= askedAt;
          if (!hasEnded && performance.now() - failingSince < patience) return;
          const reason = hasEnded ? { state: "ended", time: hasEnded } : { state: "lost", message, since: failingSince };
          show({ ...reason, choices: [], at: latest.at, last: shown(latest) });
        }

        function ended() {
          hasEnded ||= new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }).format();
          failed("", performance.now());
        }

        const ask = (path, limit, headers = {}) => fetch(path, { headers, cache: "no-store", signal: AbortSignal.timeout(limit) });

        async function watchState() {
          for (;;) {
            const asked = chosen, askedAt = performance.now();
            try {
              const answer = await ask(address("state"), timeout);
              if (answer.status === 200) {
                const state = await answer.json();
                if (asked === chosen) show(latest = { ...state, at: performance.now() });
                failingSince = hasEnded = undefined;
              } else if (answer.status === 410) {
                ended();
              } else if (asked && [400, 404].includes(answer.status)) {
                // The sender has left, or never existed.
                if (asked === chosen) select("", mode);
                continue;
              } else {
                if (answer.status === 403) hasEnded = undefined;
                failed(answer.status === 403 ? "The preview has another token now: open the address that it prints."
                  : `${location.host} answers with status ${answer.status} in place of the preview.`, askedAt);
              }
            } catch (error) {
              failed({
                TimeoutError: "The preview does not answer: it is busy, or other tabs use all of this browser’s connections to it.",
                TypeError: `Cannot connect to ${location.host}: the preview may have ended, or the network is interrupted.`,
              }[error.name] ?? `What ${location.host} answers is not from a preview.`, askedAt);
            }
            await pause(document.hidden ? hiddenInterval : interval);
          }
        }

        const troubles = { 404: "The latest frame cannot be rotated upright.", 503: "No place left for another viewer: all are taken." };

        async function draw(data) {
          try {
            const bitmap = await createImageBitmap(data);
            [image.width, image.height] = [bitmap.width, bitmap.height];
            context.transferFromImageBitmap(bitmap);
            const now = performance.now();
            firstAt ??= now;
            times = [...times.filter((time) => time > now - 2000), now];
            const isNews = !isDrawn || trouble;
            [isDrawn, trouble] = [true, ""];
            if (isNews && latest.state) show(latest);
          } catch {
            trouble = "The latest frame is damaged, or of a kind that this browser cannot decode.";
          }
          await new Promise(requestAnimationFrame);
        }

        // An image is requested when the one before the last has been drawn: that is the pace of this browser.
        async function watchImages() {
          for (;;) {
            while (document.hidden) await pause(hiddenInterval);
            const asked = chosen;
            try {
              const answer = await ask(address("image", { viewer: name }), imageTimeout, tag ? { "If-None-Match": tag } : {});
              const data = answer.status === 200 ? await answer.blob() : undefined;
              if (asked !== chosen) continue;
              if (data) {
                tag = answer.headers.get("ETag");
                await drawing;
                drawing = draw(data);
              }
              if (answer.status === 410) ended();
              if (troubles[answer.status]) trouble = troubles[answer.status];
              else if (trouble === troubles[503]) trouble = "";
              // Those have waited; everything else would be the same at once.
              if (![200, 204, 304].includes(answer.status)) await pause(interval);
            } catch {
              // The state tells why, if it lasts.
              await pause(interval);
            }
          }
        }

        for (const label of Object.keys(facts)) {
          const [row, term, text] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
          [term.textContent, text.textContent, text.dataset.fact] = [label, "–", label];
          row.append(term, text);
          element("facts").append(row);
        }
        element("senders").onchange = () => select(element("senders").value, mode);
        element("mode").onchange = () => select(chosen, element("mode").value);
        element("copy").onclick = () => {
          getSelection().selectAllChildren(element("command"));
          // Browsers grant navigator.clipboard to pages from this machine only.
          if (document.execCommand("copy")) say(element("copy"), "Copied");
          setTimeout(() => say(element("copy"), "Copy"), patience);
        };
        element("full").onclick = () => (document.fullscreenElement ? document.exitFullscreen() : element("stage").requestFullscreen());
        element("zoom").onclick = () => {
          const isActual = document.body.toggleAttribute("data-actual");
          element("zoom").setAttribute("aria-pressed", String(isActual));
          // So that it can be scrolled with keys.
          element("view").tabIndex = isActual ? 0 : -1;
        };
        select(chosen, mode);
        watchState();
        watchImages();

        """#
}
