/** The style of the pages outside the web UI, which work without scripts. */
import { createHash } from "node:crypto"

export const pageStyle = `
:root { color-scheme: light dark; --line: light-dark(#ddd, #444); --soft: light-dark(#f6f6f4, #242426) }
body { background: Canvas; color: CanvasText; font: 16px/1.6 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 2rem 1.2rem 6rem }
h1, h2, h3 { line-height: 1.25; margin: 2.2em 0 .5em } h1 { margin-top: 0 } h4 { margin: 1.2em 0 .3em }
h2 { border-top: 1px solid var(--line); padding-top: 1em }
code { font: .9em ui-monospace, monospace; background: var(--soft); padding: .1em .3em; border-radius: .25em; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% } td { border-top: 1px solid var(--line); padding: .4em .8em .4em 0; vertical-align: top; overflow-wrap: anywhere }
:target { outline: 2px solid; outline-offset: .4em }
`

/** For a content security policy: allows this text as a style or script. */
export const hashOf = (text: string): string => `'sha256-${createHash("sha256").update(text).digest("base64")}'`
