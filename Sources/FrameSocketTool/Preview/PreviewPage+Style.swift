extension PreviewPage {
    static let css = """
        :root {
          color-scheme: light dark;
          --ground: #f5f6f8; --sheet: #ffffff; --stage: #e6e9ee;
          --text: #1c2230; --quiet: #596274; --line: #d8dce4; --accent: #2a5f9e;
          --live: #1d7a45; --paused: #8a5a00; --none: #596274; --broken: #b3261e;
        }
        @media (prefers-color-scheme: dark) {
          :root {
            --ground: #12151b; --sheet: #1a1e26; --stage: #0b0d11;
            --text: #e6e9ef; --quiet: #9aa4b5; --line: #2c323d; --accent: #8ab8ee;
            --live: #5fcf8e; --paused: #e3b04b; --none: #9aa4b5; --broken: #ff8a80;
          }
        }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        html, body { height: 100%; }
        body {
          margin: 0; display: flex; flex-direction: column;
          background: var(--ground); color: var(--text);
          font: 15px/1.5 system-ui, sans-serif;
        }
        header {
          display: flex; flex-wrap: wrap; align-items: baseline; gap: .25rem 1rem;
          padding: .75rem 1.25rem; background: var(--sheet); border-bottom: 1px solid var(--line);
        }
        h1 { margin: 0; font-size: 1rem; font-weight: 600; }
        header p { margin: 0; }
        #path { color: var(--quiet); font-family: ui-monospace, monospace; font-size: .85rem; overflow-wrap: anywhere; }
        #status { order: 1; margin-left: auto; font-weight: 600; white-space: nowrap; color: var(--tone); }
        #summary::before {
          content: ""; display: inline-block; width: .6em; height: .6em; margin-right: .5em;
          border-radius: 50%; background: currentColor;
        }
        body { --tone: var(--none); }
        body[data-state="live"] { --tone: var(--live); }
        body[data-state="paused"] { --tone: var(--paused); }
        body[data-state="ended"], body[data-state="lost"] { --tone: var(--broken); }
        main { flex: 1; min-height: 0; display: flex; }
        #stage {
          flex: 1; min-width: 0; min-height: 0; margin: 0; padding: 1.25rem;
          position: relative; background: var(--stage);
        }
        #view { width: 100%; height: 100%; display: flex; align-items: safe center; justify-content: safe center; }
        #image {
          display: block; max-width: 100%; max-height: 100%; object-fit: contain;
          border-radius: 4px; box-shadow: 0 1px 3px rgb(0 0 0 / .25);
        }
        body:not([data-state="live"]) #image { opacity: .35; }
        [data-mode] #view { align-items: stretch; justify-content: stretch; }
        [data-mode] #image { width: 100%; height: 100%; border-radius: 0; }
        [data-mode="fill"] #image { object-fit: cover; }
        [data-mode="stretch"] #image { object-fit: fill; }
        [data-actual] #view { overflow: auto; }
        [data-actual] #image { max-width: none; max-height: none; flex: none; border-radius: 0; }
        #note {
          position: absolute; left: 50%; top: 50%; translate: -50% -50%; width: max-content; max-width: min(32rem, 100% - 2rem); padding: .5rem 1rem;
          background: var(--sheet); border: 1px solid var(--line); border-radius: 6px; text-align: center;
        }
        #start { display: flex; align-items: center; gap: .75rem; margin-top: .5rem; }
        #command { flex: 1; text-align: left; user-select: all; overflow-wrap: anywhere; }
        body[data-state="live"] #note { top: auto; bottom: .75rem; translate: -50%; color: var(--quiet); font-size: .9rem; }
        section { width: 18rem; flex: none; padding: 1.25rem; background: var(--sheet); border-left: 1px solid var(--line); overflow: auto; }
        h2 { margin: 0 0 .75rem; font-size: .85rem; font-weight: 600; color: var(--quiet); }
        .setting { display: flex; align-items: baseline; gap: .5rem; min-width: 0; }
        section .setting { justify-content: space-between; margin: 1.25rem 0 0; }
        .setting label { color: var(--quiet); }
        .setting select {
          min-width: 0; max-width: 100%; padding: .15rem .3rem; border: 1px solid var(--line); border-radius: 6px;
          font: inherit; color: inherit; background: var(--ground);
        }
        dl { margin: 0; }
        dl div { display: flex; justify-content: space-between; gap: 1rem; padding: .35rem 0; border-bottom: 1px solid var(--line); }
        dt { color: var(--quiet); }
        dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; overflow-wrap: anywhere; }
        .actions { display: flex; flex-wrap: wrap; gap: .5rem; margin: 1.25rem 0 0; }
        .actions > *, #copy {
          flex: 1; padding: .45rem .75rem; border: 1px solid var(--line); border-radius: 6px; white-space: nowrap;
          background: none; color: var(--accent); font: inherit; text-align: center; text-decoration: none; cursor: pointer;
        }
        #copy { flex: none; padding: .2rem .6rem; }
        .actions > [aria-pressed="true"] { background: var(--accent); color: var(--sheet); }
        .actions > *:hover, #copy:hover { border-color: var(--accent); }
        .actions > [aria-disabled="true"], .actions > :disabled { color: var(--quiet); border-color: var(--line); cursor: default; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        @media (max-width: 48rem) {
          html, body { height: auto; }
          main { flex-direction: column; }
          #stage { flex: none; padding: .75rem; }
          #view { min-height: 45vh; max-height: 80vh; }
          [data-mode] #view { height: 60vh; }
          #path, #choice { flex-basis: 100%; }
          #status { order: 0; }
          #image { max-height: 80vh; }
          section { width: auto; border-left: 0; border-top: 1px solid var(--line); }
        }

        """
}
