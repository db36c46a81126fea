extension PreviewPage {
    /// How the page asks for the state and the images, and shows them.
    ///
    /// Browsers open six connections to a host, for all tabs together, so no request of a page lasts for long: two for
    /// each visible page, one of which waits up to a second for a new image.
    static let watching = #"""
        // How often the state is requested, in milliseconds, and how often by a page that nobody sees.
        const interval = 500;
        const hiddenInterval = 5000;
        // For how many milliseconds the state must have been out of reach until the page says so, after how many a
        // request without an answer has failed, and for how many a slow network may take over an answer.
        const patience = 2000;
        const timeout = 6000;
        const bodyTimeout = 60000;

        const image = element("image");

        // The connection of the selected sender, as text; empty for the latest.
        let chosen = new URLSearchParams(location.search).get("sender") ?? "";

        function address(path, query = {}) {
          const search = new URLSearchParams(chosen ? { ...query, sender: chosen } : query).toString();
          return search ? `${path}?${search}` : path;
        }

        // How the image fills the page; anything else than the other two is the whole image, no larger than it is.
        let mode = new URLSearchParams(location.search).get("mode") ?? "";

        // Keeps the choices in the page's address.
        function keep() {
          history.replaceState(null, "", address("/", mode ? { mode } : {}));
        }

        function choose(sender) {
          chosen = sender;
          keep();
          element("senders").value = chosen;
          display.forget();
        }

        function fill(value) {
          mode = ["fill", "stretch"].includes(value) ? value : "";
          element("mode").value = mode || "fit";
          applyMode();
        }

        // The actual size needs no room to be filled.
        function applyMode() {
          const isActual = document.body.hasAttribute("data-actual");
          if (mode && !isActual) document.body.dataset.mode = mode; else delete document.body.dataset.mode;
        }

        // Until some milliseconds have passed, or the page comes into view.
        function pause(milliseconds) {
          return new Promise((resolve) => {
            const resume = () => {
              clearTimeout(timer);
              document.removeEventListener("visibilitychange", resume);
              resolve();
            };
            const timer = setTimeout(resume, milliseconds);
            document.addEventListener("visibilitychange", resume);
          });
        }

        // Why the state is out of reach, in a sentence.
        class Unreachable extends Error {}

        // Whether the preview answers.
        const contact = {
          failingSince: undefined,
          hasEnded: false,

          succeeded() {
            this.failingSince = undefined;
            this.hasEnded = false;
          },

          ended() {
            if (this.hasEnded) return;
            this.hasEnded = true;
            const time = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" }).format();
            showAbsence("ended", "Preview ended", `It ended at ${time}. This page continues when the preview is started again.`);
          },

          // Nothing that fails tells that the preview has ended: the network may be down, or the browser may have no
          // connection left for this page.
          failed(askedAt, error) {
            this.failingSince ??= askedAt;
            const age = performance.now() - this.failingSince;
            if (this.hasEnded || age < patience) return;
            const message = error instanceof Unreachable ? error.message : `What ${location.host} answers is not from a preview.`;
            showAbsence("lost", "Not reachable", message, `Retrying for ${duration(age)}.`);
          },
        };

        // Statuses that come from no preview, but from a proxy without one, or from another server at its address, fail
        // like no answer.
        async function ask(path, { query, headers, statuses, read }) {
          const abortion = new AbortController();
          let timer = setTimeout(() => abortion.abort(), timeout);
          try {
            const answer = await fetch(address(path, query), { headers, cache: "no-store", signal: abortion.signal });
            clearTimeout(timer);
            timer = setTimeout(() => abortion.abort(), bodyTimeout);
            if (answer.status === 410) contact.ended();
            else if (!statuses.includes(answer.status)) {
              throw new Unreachable(`${location.host} answers with status ${answer.status} in place of the preview.`);
            }
            return { answer, data: answer.status === 200 ? await answer[read]() : undefined };
          } catch (error) {
            if (abortion.signal.aborted) {
              throw new Unreachable("The preview does not answer: it is busy, or other tabs use all of this browser’s connections to it.");
            }
            // What fetch throws if there is no connection, or if it breaks.
            if (error instanceof TypeError) {
              throw new Unreachable(`Cannot connect to ${location.host}: the preview may have ended, or the network is interrupted.`);
            }
            throw error;
          } finally {
            clearTimeout(timer);
          }
        }

        // The images, each of which is requested when the one before the last has been shown: that is the pace of this
        // browser.
        const display = {
          context: image.getContext("bitmaprenderer"),
          name: [...crypto.getRandomValues(new Uint32Array(2))].map((number) => number.toString(36)).join("-"),
          // Of the image that this page has.
          tag: "",
          hasImage: false,
          hasDrawn: false,
          isRefused: false,
          isBroken: false,
          drawing: Promise.resolve(),
          times: [],
          firstAt: undefined,

          get isOn() { return this.hasImage && this.hasDrawn && !this.isRefused && !this.isBroken; },

          forget() {
            this.tag = "";
            this.hasDrawn = false;
            this.isBroken = false;
          },

          // Over two seconds, or since the first image, if that is less.
          framesPerSecond() {
            const now = performance.now();
            this.times = this.times.filter((time) => time > now - 2000);
            return this.times.length * 1000 / Math.min(2000, Math.max(500, now - this.firstAt));
          },

          async draw(data) {
            try {
              const bitmap = await createImageBitmap(data);
              // Setting a size clears the canvas.
              if (image.width !== bitmap.width) image.width = bitmap.width;
              if (image.height !== bitmap.height) image.height = bitmap.height;
              this.context.transferFromImageBitmap(bitmap);
              this.hasDrawn = true;
              this.isBroken = false;
              this.firstAt ??= performance.now();
              this.times.push(performance.now());
            } catch {
              this.isBroken = true;
            }
            image.hidden = !this.isOn;
            await new Promise(requestAnimationFrame);
          },

          async next() {
            const asked = chosen;
            const headers = { Prefer: "wait=1" };
            if (this.tag) headers["If-None-Match"] = this.tag;
            const { answer, data } = await ask("/snapshot.jpg", {
              query: { viewer: this.name }, headers, statuses: [200, 204, 304, 400, 404, 503], read: "blob",
            });
            this.isRefused = answer.status === 503;
            if (answer.status === 404 && asked === chosen) {
              // The frame is damaged; or the sender has left, as the state tells soon.
              this.isBroken = true;
              this.tag = "";
            }
            if (data && asked === chosen) {
              this.tag = answer.headers.get("ETag");
              await this.drawing;
              this.drawing = this.draw(data);
            }
            return answer.status;
          },

          async run() {
            for (;;) {
              try {
                while (document.hidden) await pause(hiddenInterval);
                // Those two have waited; everything else would be the same at once.
                const status = await this.next();
                if (![200, 204, 304].includes(status)) await pause(interval);
              } catch {
                // The state tells why, if it lasts.
                await pause(interval);
              }
            }
          },
        };

        async function look() {
          for (;;) {
            const asked = chosen;
            const askedAt = performance.now();
            try {
              const { answer, data } = await ask("/state", { statuses: asked ? [200, 400, 404] : [200], read: "json" });
              if (answer.status === 400 || answer.status === 404) {
                // The sender has left, or never existed.
                if (asked === chosen) choose("");
                continue;
              }
              if (data) {
                if (asked === chosen) show(data);
                contact.succeeded();
              }
            } catch (error) {
              contact.failed(askedAt, error);
            }
            await pause(document.hidden ? hiddenInterval : interval);
          }
        }

        async function copy() {
          const command = element("command");
          try {
            await navigator.clipboard.writeText(command.textContent);
          } catch {
            // Browsers grant that to pages from this machine only.
            getSelection().selectAllChildren(command);
            if (!document.execCommand("copy")) return;
          }
          say("copy", "Copied");
          setTimeout(() => say("copy", "Copy"), patience);
        }

        element("senders").addEventListener("change", () => choose(element("senders").value));
        element("mode").addEventListener("change", () => {
          fill(element("mode").value);
          keep();
        });
        element("copy").addEventListener("click", copy);
        element("full").addEventListener("click", () => {
          if (document.fullscreenElement) document.exitFullscreen(); else element("stage").requestFullscreen();
        });
        element("zoom").addEventListener("click", () => {
          const isActual = document.body.toggleAttribute("data-actual");
          element("zoom").setAttribute("aria-pressed", String(isActual));
          applyMode();
          // So that it can be scrolled with keys.
          element("view").toggleAttribute("tabindex", isActual);
          if (isActual) element("view").tabIndex = 0;
        });
        fill(mode);
        look();
        display.run();

        """#
}
