/** Values of a webhook's settings, by kind. */
import type { Value, WebhookSetting } from "../../src/domain/webhook/WebhookSettingKinds.ts"

export const valid = (setting: WebhookSetting): Value => {
  switch (setting.kind) {
    case "whole number":
      return 7
    case "amount":
      return 2.5
    case "text":
      return ["0 9 * * mon-fri Europe/Berlin", "7/min", "review"].find((text) =>
        new RegExp(setting.pattern).test(text)
      )!
    case "choice":
      return setting.words[1]!
    case "expression":
      return "length(payload.text) > `7`"
    case "template":
      return "{{text}}"
    case "webhook":
      return "019b7d08-0000-7000-8000-000000000007"
    case "window":
      return { key: "alert.name", within: 30, quiet: 10, collect: "all" }
    case "singleton":
      return { key: "{{text}} of {{name}}", on_new: "supersede" }
    case "switch":
      return true
    case "json":
      return { type: "object" }
    case "networks":
      return ["10.0.0.0/8", "::1"]
    case "list":
      return ["role:admin", "key:release 2", "slack:T0123/U0456", "self"]
    case "retries":
      return { max_retries: 3, backoff_seconds: 60 }
  }
}

/** What is typed and refused. */
export const invalid = (setting: WebhookSetting): readonly [string, ...ReadonlyArray<string>] => {
  switch (setting.kind) {
    case "whole number":
      return [String(setting.max + 1), String(setting.min - 1), "1.5", "many", ""]
    case "amount":
      return [String(setting.max + 1), "0", "1,5", "$2", ""]
    case "text":
      return [
        "x".repeat(5_000),
        ...["7", "7/minute", "/min", ""].filter((text) => !new RegExp(setting.pattern).test(text))
      ]
    case "choice":
      return ["neither", ""]
    case "expression":
    case "template":
      return ["x".repeat(5_000), ""]
    case "webhook":
      return ["x".repeat(256), ""]
    case "window":
      return [
        "7",
        "branch",
        "branch 0",
        "branch 4000",
        "branch 30 quiet=31",
        "branch 30 collect=none",
        "{branch} 30",
        ""
      ]
    case "singleton":
      return ["skip", "{{text}} replace", `${"x".repeat(1_001)} skip`, ""]
    case "switch":
      return ["yes", "1", ""]
    case "json":
      return ["7", "{", "[]", "null", `{"title":"${"x".repeat(70_000)}"}`, ""]
    case "networks":
      return ["7", "10.0.0", "10.0.0.0/33", "fe80::1%eth0", "host.example", "1.2.3.4,x", ","]
    case "list":
      return ["ann", "role:boss", "slack:U0456", "slack:T0123/", "key:", "role:admin,ann", ","]
    case "retries":
      return ["7", "0/60", "11/60", "3/0", "3/86401", "3/60s", "/60", ""]
  }
}
