extension PreviewPage {
    static let script = #"""
        "use strict";

        const element = (id) => document.getElementById(id);
        const picture = element("picture");
        const interval = 500;

        const patience = 2000;

        let streamNumber = 0;
        let isStreaming = false;
        let retryAt = 0;

        function startStream() {
          isStreaming = true;
          streamNumber += 1;
          picture.src = `/stream?${streamNumber}`;
        }

        function stopStream() {
          isStreaming = false;
          picture.hidden = true;
          picture.removeAttribute("src");
        }

        // The stream was refused, or has broken off.
        picture.addEventListener("error", () => {
          isStreaming = false;
          retryAt = performance.now() + patience;
        });

        function say(id, text) {
          // What has not changed is not read aloud again.
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

        // As a shell takes it.
        function quoted(path) {
          return /^[\w./:@%+-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`;
        }

        // What starts a sender, if there is none; a port needs a token besides, which does not belong on a page.
        function commandFor(state) {
          if (state.state !== "none" || !state.path.startsWith("/")) return "";
          return `framesocket send ${quoted(state.path)} image.jpg --loop 0 --fps 10`;
        }

        function describe(state) {
          switch (state.state) {
            case "none":
              const hint = commandFor(state) ? " This starts one:" : "";
              return ["No sender", `No sender is connected ${state.lastEnd ? `any more: ${state.lastEnd}` : "yet"}.${hint}`];
            case "waiting":
              return ["Waiting", "A sender is connected, and has not sent a picture yet."];
            case "paused":
              return ["Paused", state.width ? "The sender has paused. This is its last picture." : "The sender has paused."];
            case "live":
              if (!isStreaming && state.viewers >= state.maximumViewers) {
                return ["Live", `There is no place left to look from: ${state.viewers} of ${state.maximumViewers} are taken.`];
              }
              // A screen that stands still is not sent again, so this is no fault.
              return ["Live", state.age > 3e9 ? `No new picture for ${duration(state.age)}.` : ""];
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

          const hasPicture = state.width !== undefined;
          const hasSender = state.connection !== undefined;
          say("size", hasPicture ? `${state.width} × ${state.height}` : "–");
          say("rate", hasSender ? `${decimal(state.framesPerSecond, 1)} frames/s` : "–");
          say("data", hasSender ? `${bytes(state.bytesPerSecond)}/s` : "–");
          say("latency", state.latency === undefined ? "–" : `${decimal(state.latency / 1e6, 1)} ms`);
          say("frames", hasSender ? String(state.frames) : "–");
          const dropped = state.missing + state.superseded + state.undecodable;
          say("dropped", hasSender ? String(dropped) : "–");
          element("dropped").title = hasSender
            ? `${state.missing} left out by the sender, ${state.superseded} overtaken by newer ones, ${state.undecodable} not decodable` : "";
          const process = state.pid === undefined ? `no. ${state.connection}` : `process ${state.pid}, user ${state.uid}`;
          say("sender", hasSender ? (state.senders > 1 ? `${process} (of ${state.senders})` : process) : "–");
          say("viewers", `${state.viewers} of ${state.maximumViewers}`);

          picture.alt = hasPicture ? `Picture of the sender, ${state.width} by ${state.height} pixels` : "";
          // A stream before there is a picture would take one of the viewers' places for nothing.
          if (hasPicture && !isStreaming && performance.now() >= retryAt) startStream();
          if (!hasPicture && isStreaming) stopStream();
          picture.hidden = !isStreaming;
          enable(hasPicture);
          document.title = `${summary} – FrameSocket preview`;
        }

        function enable(isEnabled) {
          element("full").disabled = !isEnabled;
          element("save").toggleAttribute("href", isEnabled);
          if (isEnabled) element("save").href = "/snapshot.jpg";
          element("save").setAttribute("aria-disabled", String(!isEnabled));
        }

        function showEnd() {
          document.body.dataset.state = "ended";
          say("summary", "Preview ended");
          say("message", "The preview does not answer. This page goes on when it does again.");
          element("note").hidden = false;
          element("command").hidden = true;
          document.title = "Preview ended – FrameSocket preview";
          isStreaming = false;
          enable(false);
        }

        async function look() {
          try {
            const answer = await fetch("/state", { signal: AbortSignal.timeout(5000) });
            if (!answer.ok) throw new Error(answer.statusText);
            show(await answer.json());
          } catch {
            showEnd();
          }
          setTimeout(look, interval);
        }

        element("full").addEventListener("click", () => {
          if (document.fullscreenElement) document.exitFullscreen(); else element("stage").requestFullscreen();
        });
        enable(false);
        look();

        """#
}
