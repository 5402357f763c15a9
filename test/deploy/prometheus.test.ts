/** Prometheus's own tool checks the metrics, and that each alert in `deploy` fires when its condition holds. */
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { it as effectIt } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { finalStatuses } from "../../src/domain/run/RunStatus.ts"
import { hello, start } from "../http/Server.ts"

const root = new URL("../../", import.meta.url).pathname
const read = (path: string) => readFileSync(join(root, path), "utf8")
const rules = join(root, "deploy/prometheus/alerts.yaml")
const temporary = mkdtempSync(join(tmpdir(), "prometheus-"))
afterAll(() => rmSync(temporary, { recursive: true }))

const promtool = (args: ReadonlyArray<string>, input?: string) => {
  const { status, stderr, stdout } = spawnSync("promtool", args, { encoding: "utf8", ...(input && { input }) })
  return { status, output: `${stdout}${stderr}` }
}

/** The series that make each alert fire, minute by minute, and the labels that it has then besides its severity. */
const conditions: {
  readonly [alert: string]: {
    readonly series: ReadonlyArray<readonly [series: string, values: string]>
    readonly labels: Readonly<Record<string, string>>
  }
} = {
  WebhookTriggerDown: {
    series: [['up{job="webhook-trigger",instance="a"}', "0x300"]],
    labels: { job: "webhook-trigger", instance: "a" }
  },
  WebhookTriggerRefusesRequests: {
    series: [
      [
        'http_server_requests_total{instance="a",method="POST",route="/webhook/trigger/:token",status="503"}',
        "0+6x300"
      ],
      [
        'http_server_requests_total{instance="a",method="POST",route="/webhook/trigger/:token",status="202"}',
        "0+60x300"
      ]
    ],
    labels: { instance: "a" }
  },
  WebhookTriggerTeamWithoutLeader: {
    series: [
      ['webhook_team_consumers{team="a"}', "0x300"],
      ['webhook_team_queued{team="a"}', "1x300"],
      ['webhook_team_paused{team="a"}', "0x300"]
    ],
    labels: { team: "a" }
  },
  WebhookTriggerQueueOld: {
    series: [
      ['webhook_team_oldest_queued_seconds{team="a"}', "0+60x300"],
      ['webhook_team_paused{team="a"}', "0x300"]
    ],
    labels: { team: "a" }
  },
  WebhookTriggerTeamPaused: {
    series: [
      ['webhook_team_paused{team="a"}', "1x300"],
      ['webhook_team_queued{team="a"}', "2x300"]
    ],
    labels: { team: "a" }
  },
  WebhookTriggerRunsFail: {
    series: [
      ['webhook_run_total_seconds_count{team="a",status="error"}', "0+1x300"],
      ['webhook_run_total_seconds_count{team="a",status="success"}', "0+2x300"]
    ],
    labels: { team: "a" }
  },
  WebhookTriggerDeliveriesFail: {
    series: [['webhook_delivery_attempts_total{outcome="failed"}', "0+1x300"]],
    labels: {}
  },
  WebhookTriggerSignaturesRefused: {
    series: [['webhook_not_verified_total{cause="mismatch"}', "0+10x300"]],
    labels: { cause: "mismatch" }
  },
  WebhookTriggerBrokerReconnects: {
    series: [['webhook_bus_reconnects_total{instance="a",connection="publish"}', "0+1x300"]],
    labels: { instance: "a" }
  },
  WebhookTriggerClockWrong: {
    series: [['webhook_clock_offset_seconds{instance="a"}', "-3x300"]],
    labels: { instance: "a" }
  },
  WebhookTriggerEventLoopBusy: {
    series: [['nodejs_eventloop_lag_p99_seconds{instance="a"}', "0.8x300"]],
    labels: { instance: "a" }
  }
}

const alerts = [...read("deploy/prometheus/alerts.yaml").matchAll(/- alert: (\w+)[\s\S]*?severity: (\w+)/g)].map(
  ([, name, severity]) => ({ name: name!, severity: severity! })
)

/** The expressions of the dashboard, with a range in the place of Grafana's variable. */
const dashboardExpressions = (
  JSON.parse(read("deploy/grafana/dashboard.json")) as {
    readonly panels: ReadonlyArray<{ readonly targets: ReadonlyArray<{ readonly expr: string }> }>
  }
).panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "5m")))

const documented = new Set([...read("docs/reference/metrics.md").matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name!))

describe("deploy/prometheus/alerts.yaml", () => {
  it("is accepted by promtool, as are the expressions of Grafana's dashboard", () => {
    expect(promtool(["check", "rules", rules])).toMatchObject({ status: 0 })
    const dashboard = join(temporary, "dashboard.yaml")
    const recorded = dashboardExpressions.map((expr, n) => ({ record: `panel:${n}`, expr }))
    writeFileSync(dashboard, JSON.stringify({ groups: [{ name: "dashboard", rules: recorded }] }))
    expect(promtool(["check", "rules", dashboard]).output).toContain(`${recorded.length} rules found`)
  })

  it.each(alerts)("fires $name when its condition holds", ({ name, severity }) => {
    const { labels, series } = conditions[name]!
    const file = join(temporary, `${name}.yaml`)
    writeFileSync(
      file,
      JSON.stringify({
        rule_files: [rules],
        tests: [
          {
            interval: "1m",
            input_series: series.map(([series, values]) => ({ series, values })),
            promql_expr_test: [
              {
                expr: `count by (alertname, alertstate, severity, ${["job", ...Object.keys(labels)].join()}) (ALERTS{alertname="${name}"})`,
                eval_time: "295m",
                exp_samples: [
                  {
                    labels: `{alertname="${name}",alertstate="firing",severity="${severity}"${Object.entries(labels)
                      .map(([label, value]) => `,${label}="${value}"`)
                      .join("")}}`,
                    value: 1
                  }
                ]
              }
            ]
          }
        ]
      })
    )
    expect(promtool(["test", "rules", file]).output).toContain("SUCCESS")
  })

  it("explains each alert in the runbook", () => {
    const explained = [...read("docs/run/troubleshooting.md").matchAll(/^### (\w+)$/gm)].map(([, name]) => name)
    expect(explained).toEqual(alerts.map(({ name }) => name))
  })
})

describe("/metrics", () => {
  effectIt.live("is accepted by promtool, documented whole, and shows counters before the first event", () =>
    Effect.gen(function* () {
      const { http, team, webhook } = yield* start()
      const { path } = yield* webhook(yield* team("ops"), "{{text}}")
      const { text: first } = yield* http("GET", "/metrics")
      for (const series of [
        ...finalStatuses.map((status) => `webhook_runs_ended_total{status="${status}"}`),
        'webhook_delivery_attempts_total{outcome="failed"}',
        'webhook_not_verified_total{cause="mismatch"}'
      ]) {
        expect(first).toContain(`\n${series} `)
      }
      yield* http("POST", `${path}?wait=true`, { body: hello })
      const { text } = yield* http("GET", "/metrics")
      expect(promtool(["check", "metrics"], text)).toEqual({ status: 0, output: "" })
      const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
      expect(names.filter((name) => !documented.has(name))).toEqual([])
      for (const name of ["process_resident_memory_bytes", "nodejs_eventloop_lag_p99_seconds"]) {
        expect(Number(new RegExp(`^${name} (\\S+)$`, "m").exec(text)?.[1]), name).toBeGreaterThanOrEqual(0)
      }
      expect(text).toMatch(/^webhook_build_info\{version="[^"]+",node_version="v\d+\.[^"]+"\} 1$/m)
    })
  )

  it("has each metric that an alert or the dashboard names", () => {
    const used = [read("deploy/prometheus/alerts.yaml"), ...dashboardExpressions].flatMap((text) =>
      [...text.matchAll(/\b((?:webhook|http_server|process|nodejs)_[a-z0-9_]+)\b/g)].map(([, name]) =>
        name!.replace(/_(?:bucket|count)$/, "")
      )
    )
    expect([...new Set(used)].filter((name) => !documented.has(name))).toEqual([])
  })
})
