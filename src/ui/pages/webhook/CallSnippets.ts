import {
  type CalledWebhook,
  type CurlOptions,
  curlExample,
  isSigned,
  quotable,
  secretVariable
} from "../../../api/run/CurlExample.ts"
import * as Json from "../../../domain/Json.ts"
import type { SampleRequest } from "../../../domain/request/SampleRequest.ts"
import { exampleFor } from "../../../recipes/SampleFor.ts"
import type { Snippet } from "../../components/Snippet.ts"

const indent = (text: string, by: number): string => text.replaceAll("\n", `\n${" ".repeat(by)}`)

/** A script for a CI job. The whole URL is a secret, because it contains the token. */
const jobScript = (webhook: CalledWebhook, sample: SampleRequest): string =>
  curlExample(webhook, {
    sample,
    target: (search) => `"$WEBHOOK_URL${search}"`,
    waits: false,
    pretty: true,
    flags: ["--fail-with-body", "--retry 3"],
    headers: ['-H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)"']
  })

/** Shell examples, which can sign each request. */
const shellSnippets = (
  url: string,
  webhook: CalledWebhook,
  sample: SampleRequest,
  clientTimeout: number
): ReadonlyArray<Snippet> => {
  const { verification } = webhook
  const curl = (options: Pick<CurlOptions, "flags" | "waits">) =>
    curlExample(webhook, { sample, target: (search) => `'${url}${search}'`, pretty: true, ...options })
  const secret = verification && `Set ${secretVariable} to the webhook's secret (${verification.preset}). `
  const job = jobScript(webhook, sample)
  const [stored, names] = verification
    ? ["Store the URL and the webhook's secret", `s WEBHOOK_URL and ${secretVariable}`]
    : ["Store the URL", " WEBHOOK_URL"]
  const key = "The key prevents a second run after a retry."
  return [
    {
      id: "curl",
      title: "curl",
      hint: `${secret ?? ""}Returns 202 immediately. The Location header is the URL of the outcome.`,
      text: curl({ waits: false, flags: ["--fail-with-body"] })
    },
    ...(webhook.coalesce === undefined
      ? [
          {
            id: "curl-wait",
            title: "curl with wait=true",
            hint: `${secret ?? ""}Returns 200 with the team's answer, 408 after a timeout, or 502 if the team reports an error.`,
            text: curl({ waits: true, flags: ["--fail-with-body", `--max-time ${clientTimeout}`] })
          }
        ]
      : []),
    {
      id: "github",
      title: "GitHub Actions",
      hint: `${stored} as the repository secret${names}. ${key}`,
      text: [
        "- name: Send to the team",
        "  env:",
        ...["WEBHOOK_URL", ...(verification ? [secretVariable] : [])].map(
          (name) => `    ${name}: \${{ secrets.${name} }}`
        ),
        "  run: |",
        `    ${indent(job, 4)}`
      ].join("\n")
    },
    {
      id: "gitlab",
      title: "GitLab CI",
      hint: `${stored} as the masked CI/CD variable${names}. ${key}`,
      text: [
        "send-to-the-team:",
        ...(isSigned(webhook)
          ? ["  image: alpine", "  before_script:", "    - apk add --no-cache curl openssl"]
          : ["  image: curlimages/curl"]),
        "  script:",
        "    - |",
        `      ${indent(job, 6)}`
      ].join("\n")
    }
  ]
}

/** Examples without signatures in several languages. */
const programSnippets = (
  url: string,
  webhook: CalledWebhook,
  { body, headers, query }: SampleRequest,
  clientTimeout: number
): ReadonlyArray<Snippet> => {
  const waits = webhook.coalesce === undefined
  const address = `${url}${searchOf({ ...query, ...(waits && { wait: "true" }) })}`
  const answer = waits ? "response" : "run_id"
  const pretty = quotable(Json.stringify(body, 2))
  const pairs = (own: Readonly<Record<string, string>>) =>
    Object.entries({ ...own, ...headers })
      .map(([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`)
      .join(", ")
  const more = Object.entries(headers).map(([name, value]) => `'${name}' = '${value}'`)
  return [
    {
      id: "powershell",
      title: "PowerShell",
      text: `$body = @'
${pretty}
'@
Invoke-RestMethod -Method Post -TimeoutSec ${clientTimeout} -ContentType 'application/json' \`
  -Uri '${address}' -Body ([Text.Encoding]::UTF8.GetBytes($body))${more.length === 0 ? "" : ` -Headers @{ ${more.join("; ")} }`}`
    },
    {
      id: "python",
      title: "Python",
      text: `import json, urllib.request

request = urllib.request.Request(
    "${address}",
    json.dumps(${indent(python(body), 4)}).encode(),
    {${pairs({ "Content-Type": "application/json" })}},
)
with urllib.request.urlopen(request, timeout=${clientTimeout}) as response:
    print(json.load(response)["${answer}"])`
    },
    {
      id: "javascript",
      title: "JavaScript",
      hint: "The key is for browsers, which repeat a request after a timeout.",
      text: `const response = await fetch("${address}", {
  method: "POST",
  headers: { ${pairs({ "content-type": "application/json" })}, "idempotency-key": crypto.randomUUID() },
  body: JSON.stringify(${indent(pretty, 2)})
})
if (!response.ok) throw new Error(\`\${response.status}: \${await response.text()}\`)
console.log((await response.json()).${answer})`
    }
  ]
}

/** Ways to call a webhook. URLs contain no quotes, and `quotable` removes them from names, so all strings stay intact. */
export const callSnippets = (
  url: string,
  webhook: CalledWebhook & Parameters<typeof exampleFor>[0],
  timeoutSeconds: number
): ReadonlyArray<Snippet> => {
  // The client must wait longer than the server, to receive the 408.
  const clientTimeout = timeoutSeconds + 10
  const sample = exampleFor(webhook)
  return [
    ...shellSnippets(url, webhook, sample, clientTimeout),
    ...(webhook.verification === undefined ? programSnippets(url, webhook, sample, clientTimeout) : []),
    {
      id: "body",
      title: "Request body",
      hint: "For forms, chat commands or monitoring systems with fields for a URL and a body.",
      text: quotable(Json.stringify(sample.body))
    }
  ]
}

/** Strings, arrays and objects are the same in JSON and Python. */
const python = (value: unknown): string => quotable(Json.stringify(value, 4))

const searchOf = (query: Readonly<Record<string, string>>): string => {
  const parameters = new URLSearchParams(query)
  return parameters.size === 0 ? "" : `?${parameters}`
}
