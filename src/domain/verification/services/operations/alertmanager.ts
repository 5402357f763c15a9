import type { Preset } from "../../Description.ts"

/** It signs nothing and sends no ID. The secret is the one of `authorization` or `basic_auth` in its `http_config`. */
export const alertmanager: Preset = {
  label: "Alertmanager",
  secret: "the `credentials` under `authorization`, or with a `username` the `password` under `basic_auth`",
  documentation: "https://prometheus.io/docs/alerting/latest/configuration/#http_config",
  options: ["username"],
  descriptions: [
    { scheme: "basic", for: { option: "username" } },
    { scheme: "header", headers: ["authorization"], prefix: "Bearer " }
  ]
}
