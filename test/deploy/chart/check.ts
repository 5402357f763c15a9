/** Renders the Helm chart with Go's own templates, as Helm does, and checks each manifest against Kubernetes's schemas. */
import { execFileSync, spawnSync } from "node:child_process"
import { copyFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { parseAllDocuments } from "yaml"
import { goLibraries, installForChart } from "../../support/install.ts"
import { chart, files, templates, type Values, withValues } from "./Chart.ts"

/** Validators made from the schemas of Kubernetes, of the Gateway API and of the Prometheus operator. */
const schemas = [
  ...["kubernetes-models@4.5.1", "@kubernetes-models/gateway-api@2.0.0"],
  "@kubernetes-models/prometheus-operator@4.4.4"
]
const libraries: Record<string, string> = {
  "gateway.networking.k8s.io": "@kubernetes-models/gateway-api",
  "monitoring.coreos.com": "@kubernetes-models/prometheus-operator"
}

type Manifest = { readonly apiVersion: string; readonly kind: string } & Values

/** Installations, and the kinds of objects that each gets. */
const installations: Record<
  string,
  { readonly values: Values; readonly kinds: ReadonlyArray<string>; readonly user: string }
> = {
  "a Secret alone": {
    user: '"fsGroup":1000,"runAsGroup":1000,"runAsUser":1000',
    values: { secretName: "webhooks" },
    kinds: ["Deployment", "PodDisruptionBudget", "Service"]
  },
  everything: {
    user: '"fsGroup":1000,"runAsUser":1000650000',
    values: {
      secretName: "webhooks",
      image: { repository: "registry.example.com/webhook-trigger", digest: `sha256:${"0".repeat(64)}` },
      imagePullSecrets: [{ name: "registry" }],
      settings: { PUBLIC_URL: "https://hooks.example.com", WEBHOOK_MAX_QUEUED: 10_000_000, API_DOCS: false },
      replicas: 3,
      nodeSelector: { "kubernetes.io/os": "linux" },
      tolerations: [{ key: "hooks", operator: "Exists" }],
      affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
      podAnnotations: { note: "yes" },
      podLabels: { tier: "front" },
      service: { type: "LoadBalancer", annotations: { internal: "true" } },
      separateAdmin: { enabled: true },
      ingress: {
        ...{ enabled: true, className: "nginx", host: "hooks.example.com", tlsSecretName: "hooks-tls" },
        annotations: { "nginx.ingress.kubernetes.io/proxy-buffering": "off" }
      },
      httpRoute: {
        ...{ enabled: true, hostnames: ["hooks.example.com"], annotations: { note: "yes" }, requestTimeout: "1h" },
        parentRefs: [{ name: "public", namespace: "gateways", sectionName: "https" }]
      },
      podSecurity: { runAsUser: 1000650000, runAsGroup: null },
      networkPolicy: { enabled: true, from: [{ namespaceSelector: {} }] },
      serviceMonitor: { enabled: true, authorized: true, labels: { release: "prometheus" } },
      prometheusRule: { enabled: true, labels: { release: "prometheus" } },
      leaders: [
        { team: "review", secretName: "review-leader", command: ["my-agent", "--print", "yes: no"], replicas: 2 },
        {
          ...{ team: "deploy-", secretName: "deploy-leader", overBroker: true, command: ["sh", "-c", "cat"] },
          ...{ image: "agents:1", env: { MODEL: "large", TURNS: 20 }, resources: { limits: { memory: "1Gi" } } }
        }
      ]
    },
    kinds: [
      ...["Deployment", "Deployment", "Deployment", "HTTPRoute", "Ingress", "NetworkPolicy"],
      ...["PodDisruptionBudget", "PrometheusRule", "Service", "Service", "ServiceMonitor"]
    ]
  }
}

const install = (folder: string) => {
  installForChart()
  console.log(`installing ${schemas.join(" ")}`)
  execFileSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", ...schemas], {
    stdio: "ignore"
  })
  copyFileSync(new URL("render.go", import.meta.url), join(folder, "render.go"))
  const env = { ...process.env, GO111MODULE: "off", GOPATH: goLibraries, GOCACHE: join(folder, "cache") }
  execFileSync("go", ["build", "-o", "render", "render.go"], { cwd: folder, env })
}

export const checkChart = async (folder: string): Promise<void> => {
  install(folder)
  const render = (values: Values, release = "hooks") => {
    const input = JSON.stringify({
      ...{ Templates: templates, Files: files, Values: withValues(values) },
      // Helm gives templates the fields of Chart.yaml with capitals.
      Chart: { Name: chart.name, Version: chart.version, AppVersion: chart.appVersion },
      Release: { Name: release, Namespace: "webhooks", Service: "Helm" }
    })
    const { status, stderr, stdout } = spawnSync(join(folder, "render"), { input, encoding: "utf8" })
    if (status !== 0) throw new Error(stderr.trim())
    return JSON.parse(stdout) as Record<string, string>
  }
  const validate = async (manifest: Manifest) => {
    const [group, version] = manifest.apiVersion.includes("/")
      ? (manifest.apiVersion.split("/") as [string, string])
      : ["", manifest.apiVersion]
    const library = libraries[group] ?? "kubernetes-models"
    const models = await import(pathToFileURL(join(folder, "node_modules", library, group, version, "index.js")).href)
    const Model = (models.default ?? models)[manifest.kind]
    new Model(manifest).validate()
  }

  for (const [name, { kinds, user, values }] of Object.entries(installations)) {
    const manifests = Object.entries(render(values))
      .filter(([file]) => file.endsWith(".yaml"))
      .flatMap(([file, text]) =>
        parseAllDocuments(text).flatMap((document) => {
          if (document.errors.length > 0) throw new Error(`${file}: ${document.errors[0]!.message}\n${text}`)
          return document.contents === null ? [] : [document.toJS() as Manifest]
        })
      )
    for (const manifest of manifests) {
      try {
        await validate(manifest)
      } catch (error) {
        throw new Error(`${name}: ${manifest.kind}: ${error}\n${JSON.stringify(manifest, null, 2)}`)
      }
    }
    const found = manifests.map(({ kind }) => kind).sort()
    if (found.join() !== kinds.join()) throw new Error(`${name}: has ${found.join(", ")}`)
    const text = JSON.stringify(manifests)
    const users = new Set([...text.matchAll(/"securityContext":(\{"runAsNonRoot":[^}]*)/g)].map(([, users]) => users))
    if (users.size !== 1 || !users.has(`{"runAsNonRoot":true,${user},"seccompProfile":{"type":"RuntimeDefault"`)) {
      throw new Error(`${name}: runs as ${[...users].join()}`)
    }
    if (text.includes("e+")) throw new Error(`${name}: a number lost its digits\n${text}`)
    console.log(`${name}: ${manifests.length} valid manifests`)
  }

  try {
    render({})
  } catch (error) {
    if (String(error).includes("secretName is required")) return console.log("without a Secret: refused")
    throw error
  }
  throw new Error("rendered without a Secret")
}
