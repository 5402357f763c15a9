/** The body that a webhook with these names takes, with a sample for each; names with dots reach into objects. */
export const sampleVariables = (names: ReadonlyArray<string>): Record<string, unknown> => {
  const root: Record<string, unknown> = {}
  const sample = (name: string) => `your ${name}`
  for (const name of names) {
    const path = name.split(".")
    // `a` beside `a.b`, or a name such as `__proto__`: an exact key is right as well, and says it more simply.
    const nests =
      path.length > 1 &&
      !names.some((other) => other !== name && (name.startsWith(`${other}.`) || other.startsWith(`${name}.`))) &&
      !path.includes("__proto__")
    if (!nests) {
      Object.defineProperty(root, name, { value: sample(name), enumerable: true, configurable: true, writable: true })
      continue
    }
    let object = root
    for (const step of path.slice(0, -1)) {
      if (!Object.hasOwn(object, step)) object[step] = {}
      object = object[step] as Record<string, unknown>
    }
    object[path.at(-1)!] = sample(name)
  }
  return root
}

export interface Snippet {
  readonly id: string
  readonly title: string
  /** What to do around the text. */
  readonly hint?: string
  readonly text: string
}

const indent = (text: string, by: number): string => text.replaceAll("\n", `\n${" ".repeat(by)}`)

/**
 * Ready-made calls. Names hold letters, digits, `_`, `-` and `.` only, and a URL no quotes, so nothing here can end a
 * string early. In CI the whole URL is a secret, because its last part is.
 */
export const snippets = (url: string, names: ReadonlyArray<string>, timeoutSeconds: number): ReadonlyArray<Snippet> => {
  const body = { variables: sampleVariables(names) }
  const pretty = JSON.stringify(body, null, 2)
  const line = JSON.stringify(body)
  const patience = timeoutSeconds + 10
  return [
    {
      id: "curl",
      title: "curl, and go on",
      hint: "Answers 202 at once; Location says where the outcome will be.",
      text: `curl --fail-with-body '${url}' \\
  -H 'Content-Type: application/json' \\
  -d '${pretty}'`
    },
    {
      id: "curl-wait",
      title: "curl, and wait",
      hint: "Answers 200 with the team's response, 408 when the time is up, 502 when the team reports an error.",
      text: `curl --fail-with-body --max-time ${patience} '${url}?wait=true' \\
  -H 'Content-Type: application/json' \\
  -d '${pretty}'`
    },
    {
      id: "github",
      title: "GitHub Actions",
      hint: "Keep the URL as the repository's secret WEBHOOK_URL.",
      text: `- name: Send to the team
  env:
    WEBHOOK_URL: \${{ secrets.WEBHOOK_URL }}
  run: |
    curl --fail-with-body --retry 3 "$WEBHOOK_URL" \\
      -H 'Content-Type: application/json' \\
      -d '${indent(pretty, 6)}'`
    },
    {
      id: "gitlab",
      title: "GitLab CI",
      hint: "Keep the URL as the masked variable WEBHOOK_URL.",
      text: `send-to-the-team:
  image: curlimages/curl
  script:
    - |
      curl --fail-with-body --retry 3 "$WEBHOOK_URL" \\
        -H 'Content-Type: application/json' \\
        -d '${indent(pretty, 8)}'`
    },
    {
      id: "powershell",
      title: "PowerShell",
      text: `$body = @'
${pretty}
'@
Invoke-RestMethod -Method Post -TimeoutSec ${patience} -ContentType 'application/json' \`
  -Uri '${url}?wait=true' -Body ([Text.Encoding]::UTF8.GetBytes($body))`
    },
    {
      id: "python",
      title: "Python",
      text: `import json, urllib.request

request = urllib.request.Request(
    "${url}?wait=true",
    json.dumps(${indent(python(body), 4)}).encode(),
    {"Content-Type": "application/json"},
)
with urllib.request.urlopen(request, timeout=${patience}) as answer:
    print(json.load(answer)["response"])`
    },
    {
      id: "javascript",
      title: "JavaScript",
      text: `const answer = await fetch("${url}?wait=true", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(${indent(pretty, 2)})
})
if (!answer.ok) throw new Error(\`\${answer.status}: \${await answer.text()}\`)
console.log((await answer.json()).response)`
    },
    {
      id: "body",
      title: "The body alone",
      hint: "For a form, a chat command or a monitoring system that asks for a URL and a body.",
      text: line
    }
  ]
}

/** Strings and objects are written alike in JSON and Python. */
const python = (value: unknown): string => JSON.stringify(value, null, 4)
