extension PreviewPage {
    /// What the page says about the stream.
    static let script = #"""
        "use strict";

        const element = (id) => document.getElementById(id);

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

        function duration(milliseconds) {
          const seconds = Math.floor(milliseconds / 1e3);
          return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
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

        const isHere = /^(localhost|127\..*|\[::1\])$/.test(location.hostname);

        // A headline, a sentence, and a detail that changes by itself and is therefore not announced.
        function describe(state) {
          switch (state.state) {
            case "none": {
              const end = state.lastEnd ? `The last sender has left: ${state.lastEnd.replace(/\.$/, "")}.` : "No sender is connected.";
              const hint = commandFor(state) ? ` To start one${isHere ? "" : " on the machine of the preview"}, run:` : "";
              return ["No sender", end + hint];
            }
            case "waiting":
              if (state.undecodable > 0) {
                return ["Waiting", "A sender is connected, but none of its frames can be decoded.", `So far: ${state.undecodable}.`];
              }
              return ["Waiting", "A sender is connected but has not sent a frame yet."];
            case "paused":
              return ["Paused", state.width ? "The sender has paused. This is its last frame." : "The sender has paused."];
            case "live":
              if (display.isRefused) {
                return ["Live", `No place left for another viewer: ${state.viewers} of ${state.maximumViewers} are taken.`];
              }
              if (display.isBroken) {
                return ["Live", "The latest frame is damaged, or of a kind that this browser cannot decode."];
              }
              // An unchanged screen is not sent again, so this is not an error.
              return ["Live", "", state.age > 3e9 ? `No new frame for ${duration(state.age / 1e6)}.` : ""];
            default:
              return [state.state, ""];
          }
        }

        function announce(name, summary, message, detail = "", command = "") {
          document.body.dataset.state = name;
          say("summary", summary);
          say("message", message);
          say("age", detail);
          say("command", command);
          element("start").hidden = command === "";
          element("note").hidden = message === "" && detail === "";
          document.title = `${summary} – FrameSocket preview`;
        }

        function offer(choices) {
          const options = [["", "the latest"], ...choices.map((sender) => {
            const process = sender.pid === undefined ? "" : `, process ${sender.pid}`;
            const size = sender.width === undefined ? "" : `, ${sender.width} × ${sender.height}`;
            return [String(sender.connection), `sender ${sender.connection}${process}${size}`];
          })];
          element("choice").hidden = choices.length < 2 && !chosen;
          element("senders").disabled = false;
          // Replacing the options would close an open list.
          const text = JSON.stringify(options);
          if (element("senders").dataset.options === text) return;
          element("senders").dataset.options = text;
          element("senders").replaceChildren(...options.map(([value, label]) => new Option(label, value)));
          element("senders").value = chosen;
        }

        function senderOf(state) {
          const process = state.pid === undefined ? `no. ${state.connection}` : `process ${state.pid}, user ${state.uid}`;
          if (state.senders < 2) return process;
          const position = state.choices.findIndex((sender) => sender.connection === state.connection) + 1;
          return `${process} · sender ${position} of ${state.senders}`;
        }

        function show(state) {
          const [summary, message, detail] = describe(state);
          announce(state.state, summary, message, detail, commandFor(state));
          say("path", state.path);
          offer(state.choices);

          const hasImage = state.width !== undefined;
          const hasSender = state.connection !== undefined;
          say("size", hasImage ? `${state.width} × ${state.height}` : "–");
          say("rate", hasSender ? `${decimal(state.framesPerSecond, 1)} frames/s` : "–");
          say("shown", hasImage ? `${decimal(display.framesPerSecond(), 1)} frames/s` : "–");
          say("data", hasSender ? `${bytes(state.bytesPerSecond)}/s` : "–");
          say("latency", state.latency === undefined ? "–" : `${decimal(state.latency / 1e6, 1)} ms`);
          say("frames", hasSender ? String(state.frames) : "–");
          const dropped = state.missing + state.superseded + state.undecodable;
          say("dropped", hasSender ? String(dropped) : "–");
          element("dropped").title = hasSender
            ? `${state.missing} dropped by the sender, ${state.superseded} superseded by newer ones, ${state.undecodable} not decodable` : "";
          say("sender", hasSender ? senderOf(state) : "–");
          say("viewers", `${state.viewers} of ${state.maximumViewers}`);

          image.setAttribute("aria-label", hasImage ? `Latest frame, ${state.width} by ${state.height} pixels` : "");
          display.hasImage = hasImage;
          image.hidden = !display.isOn;
          enable(hasImage);
        }

        // What was true when the preview last answered is no longer shown as if it were true now.
        function showAbsence(name, summary, message, detail) {
          announce(name, summary, message, detail);
          for (const fact of element("facts").querySelectorAll("dd")) fact.textContent = "–";
          element("dropped").title = "";
          element("senders").disabled = true;
          enable(false);
        }

        function enable(isEnabled) {
          element("full").disabled = !isEnabled;
          element("zoom").disabled = !isEnabled;
          element("save").toggleAttribute("href", isEnabled);
          if (isEnabled) element("save").href = address("/snapshot.jpg");
          element("save").setAttribute("aria-disabled", String(!isEnabled));
        }

        """# + watching
}
