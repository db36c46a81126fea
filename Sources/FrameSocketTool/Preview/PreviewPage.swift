/// The page's HTML and icon; its style and script are in extensions.
enum PreviewPage {
    static let html = """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>FrameSocket preview</title>
        <link rel="icon" href="/icon.svg" type="image/svg+xml">
        <link rel="stylesheet" href="/preview.css">
        <script src="/preview.js" defer></script>
        </head>
        <body data-state="connecting">
        <header>
          <h1>FrameSocket preview</h1>
          <p id="status" role="status"><span id="summary">Connecting</span></p>
          <p id="path"></p>
          <p id="choice" class="setting" hidden><label for="senders">Show</label> <select id="senders"></select></p>
        </header>
        <main>
          <figure id="stage">
            <div id="view"><canvas id="image" role="img" hidden></canvas></div>
            <figcaption id="note">
              <span id="message" role="status">Connecting to the preview.</span>
              <span id="age"></span>
              <span id="start" hidden>
                <code id="command"></code>
                <button id="copy" type="button" aria-live="polite">Copy</button>
              </span>
            </figcaption>
          </figure>
          <section aria-labelledby="facts-title">
            <h2 id="facts-title">Stream</h2>
            <dl id="facts">
              <div><dt>Size</dt><dd id="size">–</dd></div>
              <div><dt>Rate</dt><dd id="rate">–</dd></div>
              <div><dt>Shown here</dt><dd id="shown">–</dd></div>
              <div><dt>Data</dt><dd id="data">–</dd></div>
              <div><dt>Latency</dt><dd id="latency">–</dd></div>
              <div><dt>Frames</dt><dd id="frames">–</dd></div>
              <div><dt>Dropped</dt><dd id="dropped">–</dd></div>
              <div><dt>Sender</dt><dd id="sender">–</dd></div>
              <div><dt>Viewers</dt><dd id="viewers">–</dd></div>
            </dl>
            <p class="setting"><label for="mode">Fit</label> <select id="mode">
              <option value="fit">Whole frame</option>
              <option value="fill">Fill, cropped</option>
              <option value="stretch">Stretch</option>
            </select></p>
            <p class="actions">
              <a id="save" download="snapshot.jpg" aria-disabled="true">Save frame</a>
              <button id="zoom" type="button" aria-pressed="false" disabled>Actual size</button>
              <button id="full" type="button" disabled>Full screen</button>
            </p>
            <noscript><p>This page requires JavaScript. <a href="/snapshot.jpg">The latest frame</a> does not.</p></noscript>
          </section>
        </main>
        </body>
        </html>

        """

    static let icon = """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16">
        <rect x="1" y="2.5" width="14" height="9.5" rx="2" fill="#3b6ea8"/>
        <circle cx="8" cy="7.25" r="2.25" fill="#fff"/>
        <rect x="5" y="13" width="6" height="1.5" rx=".75" fill="#3b6ea8"/>
        </svg>

        """
}
