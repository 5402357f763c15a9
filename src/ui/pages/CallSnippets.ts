import { keyOf, pathOf } from "../../domain/Path.ts"
import type { Snippet } from "../components/Snippet.ts"

/** Sample values for a template's names; names with dots are fields of objects. */
export const sampleVariables = (names: ReadonlyArray<string>): Record<string, unknown> => {
  const root: Record<string, unknown> = {}
  const sample = (name: string) => `your ${name}`
  const keys = names.map(keyOf)
  for (const [index, name] of keys.entries()) {
    const path = pathOf(names[index]!)
    // With `a` beside `a.b`, or a name such as `__proto__`, an exact key is simpler and works as well.
    const nests =
      path.length > 1 &&
      !keys.some((other) => other !== name && (name.startsWith(`${other}.`) || other.startsWith(`${name}.`))) &&
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

/** The same JSON without single quotes. */
const quotable = (json: string): string => json.replaceAll("'", "\\u0027")

const indent = (text: string, by: number): string => text.replaceAll("\n", `\n${" ".repeat(by)}`)

/**
 * Ways to call a webhook. A URL has no quotes, and `quotable` leaves none in names, so nothing here can end a string early.
 * In CI the whole URL is a secret, because its last part is.
 */
export const callSnippets = (
  url: string,
  names: ReadonlyArray<string>,
  timeoutSeconds: number
): ReadonlyArray<Snippet> => {
  const body = { variables: sampleVariables(names) }
  const pretty = quotable(JSON.stringify(body, null, 2))
  const compact = quotable(JSON.stringify(body))
  // The client waits longer than the server, which then responds with 408.
  const clientTimeout = timeoutSeconds + 10
  return [
    {
      id: "curl",
      title: "curl",
      hint: "Returns 202 immediately; the Location header is the address of the outcome.",
      text: `curl --fail-with-body '${url}' \\
  -H 'Content-Type: application/json' \\
  -d '${pretty}'`
    },
    {
      id: "curl-wait",
      title: "curl with wait=true",
      hint: "Returns 200 with the team's answer, 408 when the run times out, or 502 when the team reports an error.",
      text: `curl --fail-with-body --max-time ${clientTimeout} '${url}?wait=true' \\
  -H 'Content-Type: application/json' \\
  -d '${pretty}'`
    },
    {
      id: "github",
      title: "GitHub Actions",
      hint: "Store the URL as the repository secret WEBHOOK_URL. The key keeps a retry from starting a second run.",
      text: `- name: Send to the team
  env:
    WEBHOOK_URL: \${{ secrets.WEBHOOK_URL }}
  run: |
    curl --fail-with-body --retry 3 "$WEBHOOK_URL" \\
      -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \\
      -H 'Content-Type: application/json' \\
      -d '${indent(pretty, 6)}'`
    },
    {
      id: "gitlab",
      title: "GitLab CI",
      hint: "Store the URL as the masked CI/CD variable WEBHOOK_URL. The key keeps a retry from starting a second run.",
      text: `send-to-the-team:
  image: curlimages/curl
  script:
    - |
      curl --fail-with-body --retry 3 "$WEBHOOK_URL" \\
        -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \\
        -H 'Content-Type: application/json' \\
        -d '${indent(pretty, 8)}'`
    },
    {
      id: "powershell",
      title: "PowerShell",
      text: `$body = @'
${pretty}
'@
Invoke-RestMethod -Method Post -TimeoutSec ${clientTimeout} -ContentType 'application/json' \`
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
with urllib.request.urlopen(request, timeout=${clientTimeout}) as response:
    print(json.load(response)["response"])`
    },
    {
      id: "javascript",
      title: "JavaScript",
      hint: "The key is for pages in a browser, which repeats a request that timed out by itself.",
      text: `const response = await fetch("${url}?wait=true", {
  method: "POST",
  headers: { "content-type": "application/json", "idempotency-key": crypto.randomUUID() },
  body: JSON.stringify(${indent(pretty, 2)})
})
if (!response.ok) throw new Error(\`\${response.status}: \${await response.text()}\`)
console.log((await response.json()).response)`
    },
    {
      id: "body",
      title: "Request body",
      hint: "For a form, a chat command or a monitoring system that has fields for a URL and a body.",
      text: compact
    }
  ]
}

/** Strings, arrays and objects are the same in JSON and Python. */
const python = (value: unknown): string => quotable(JSON.stringify(value, null, 4))
