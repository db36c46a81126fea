extension PreviewPage {
    static let script = #"""
        "use strict";

        const element = (id) => document.getElementById(id);
        const image = element("image");
        const interval = 500;

        const patience = 2000;

        let streamNumber = 0;
        let isStreaming = false;
        let retryAt = 0;

        // The connection of the selected sender, as text; empty for the latest.
        let chosen = new URLSearchParams(location.search).get("sender") ?? "";

        function address(path, query = {}) {
          const search = new URLSearchParams(chosen ? { ...query, sender: chosen } : query).toString();
          return search ? `${path}?${search}` : path;
        }

        function choose(sender) {
          chosen = sender;
          history.replaceState(null, "", address("/"));
          element("senders").value = chosen;
          stopStream();
          retryAt = 0;
        }

        function offer(choices) {
          const options = [["", "the latest"], ...choices.map((sender) => {
            const process = sender.pid === undefined ? "" : `, process ${sender.pid}`;
            const size = sender.width === undefined ? "" : `, ${sender.width} × ${sender.height}`;
            return [String(sender.connection), `sender ${sender.connection}${process}${size}`];
          })];
          element("choice").hidden = choices.length < 2 && !chosen;
            // Replacing the options would close an open list.
          const text = JSON.stringify(options);
          if (element("senders").dataset.options === text) return;
          element("senders").dataset.options = text;
          element("senders").replaceChildren(...options.map(([value, label]) => new Option(label, value)));
          element("senders").value = chosen;
        }

        function startStream() {
          isStreaming = true;
          streamNumber += 1;
          image.src = address("/stream", { number: streamNumber });
        }

        function stopStream() {
          isStreaming = false;
          image.hidden = true;
          image.removeAttribute("src");
        }

        // The stream was refused or has broken off.
        image.addEventListener("error", () => {
          isStreaming = false;
          retryAt = performance.now() + patience;
        });

        function say(id, text) {
            // Unchanged text is not announced again by screen readers.
          if (element(id).textContent !== text) element(id).textContent = text;
        }

        function decimal(value, digits) {
          return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits, useGrouping: false });
        }

        function bytes(count) {
          if (count < 1e3) return `${count} B`;
          return count < 1e6 ? `${decimal(count / 1e3, 1)} kB` : `${decimal(count / 1e6, 1)} MB`;
        }

        function duration(nanoseconds) {
          const seconds = nanoseconds / 1e9;
          return seconds < 60 ? `${Math.round(seconds)} s` : `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
        }

        // Quoted for a shell.
        function quoted(path) {
          return /^[\w./:@%+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
        }

        // A command that starts a sender, if there is none; a port would also need a token, which does not belong on a
        // page.
        function commandFor(state) {
          if (state.state !== "none" || !state.path.startsWith("/")) return "";
          return `framesocket send ${quoted(state.path)} image.jpg --loop 0 --fps 10`;
        }

        function describe(state) {
          switch (state.state) {
            case "none":
                    const hint = commandFor(state) ? " To start one, run:" : "";
                    return ["No sender", `${state.lastEnd ? `The last sender has left: ${state.lastEnd.replace(/\.$/, "")}.` : "No sender is connected."}${hint}`];
            case "waiting":
                    return ["Waiting", "A sender is connected but has not sent a frame yet."];
            case "paused":
                    return ["Paused", state.width ? "The sender has paused. This is its last frame." : "The sender has paused."];
            case "live":
              if (!isStreaming && state.viewers >= state.maximumViewers) {
                        return ["Live", `No place left for another viewer: ${state.viewers} of ${state.maximumViewers} are taken.`];
              }
                    // An unchanged screen is not sent again, so this is not an error.
                    return ["Live", state.age > 3e9 ? `No new frame for ${duration(state.age)}.` : ""];
            default:
              return [state.state, ""];
          }
        }

        function show(state) {
          document.body.dataset.state = state.state;
          const [summary, message] = describe(state);
          say("summary", summary);
          say("message", message);
          element("note").hidden = message === "";
          const command = commandFor(state);
          say("command", command);
          element("command").hidden = command === "";
          say("path", state.path);
          offer(state.choices);

          const hasImage = state.width !== undefined;
          const hasSender = state.connection !== undefined;
          say("size", hasImage ? `${state.width} × ${state.height}` : "–");
          say("rate", hasSender ? `${decimal(state.framesPerSecond, 1)} frames/s` : "–");
          say("data", hasSender ? `${bytes(state.bytesPerSecond)}/s` : "–");
          say("latency", state.latency === undefined ? "–" : `${decimal(state.latency / 1e6, 1)} ms`);
          say("frames", hasSender ? String(state.frames) : "–");
          const dropped = state.missing + state.superseded + state.undecodable;
          say("dropped", hasSender ? String(dropped) : "–");
          element("dropped").title = hasSender
                ? `${state.missing} dropped by the sender, ${state.superseded} superseded by newer ones, ${state.undecodable} not decodable` : "";
          const process = state.pid === undefined ? `no. ${state.connection}` : `process ${state.pid}, user ${state.uid}`;
          say("sender", hasSender ? (state.senders > 1 ? `${process} (of ${state.senders})` : process) : "–");
          say("viewers", `${state.viewers} of ${state.maximumViewers}`);

            image.alt = hasImage ? `Latest frame, ${state.width} by ${state.height} pixels` : "";
            // A stream before the first frame would take a viewer's place for nothing.
          if (hasImage && !isStreaming && performance.now() >= retryAt) startStream();
          if (!hasImage && isStreaming) stopStream();
          image.hidden = !isStreaming;
          enable(hasImage);
          document.title = `${summary} – FrameSocket preview`;
        }

        function enable(isEnabled) {
          element("full").disabled = !isEnabled;
          element("save").toggleAttribute("href", isEnabled);
          if (isEnabled) element("save").href = address("/snapshot.jpg");
          element("save").setAttribute("aria-disabled", String(!isEnabled));
        }

        function showEnd() {
          document.body.dataset.state = "ended";
          say("summary", "Preview ended");
            say("message", "The preview does not answer. This page reconnects once it does.");
          element("note").hidden = false;
          element("command").hidden = true;
          document.title = "Preview ended – FrameSocket preview";
          isStreaming = false;
          enable(false);
        }

        async function look() {
          try {
            const asked = chosen;
            const answer = await fetch(address("/state"), { signal: AbortSignal.timeout(5000) });
            if ((answer.status === 404 || answer.status === 400) && asked) {
                      // The sender has left, or never existed.
              if (asked === chosen) choose("");
            } else {
              if (!answer.ok) throw new Error(answer.statusText);
              const state = await answer.json();
              if (asked === chosen) show(state);
            }
          } catch {
            showEnd();
          }
          setTimeout(look, interval);
        }

        element("senders").addEventListener("change", () => choose(element("senders").value));
        element("full").addEventListener("click", () => {
          if (document.fullscreenElement) document.exitFullscreen(); else element("stage").requestFullscreen();
        });
        enable(false);
        look();

        """#
}
