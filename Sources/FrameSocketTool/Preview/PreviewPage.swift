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
