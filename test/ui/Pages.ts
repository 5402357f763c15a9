/** Every page of the web UI, with something to show on it. */
import type { Page } from "playwright-core"
import { reviewDraft, runReview, type TestUi } from "./TestUi.ts"

/** A page: its address, its heading, and a text that it shows once it has loaded. */
export type UiPage = readonly [address: string, heading: string | RegExp, text: string]

interface Names {
  readonly webhook: string
  readonly setUp: string
  readonly idleTeam: string
}

interface Content {
  readonly webhook: { readonly id: string }
  /** A message to a team. */
  readonly chat_id: string
  readonly pages: ReadonlyArray<UiPage>
}

/** Creates what the pages show. */
export const createPages = async (ui: TestUi, names: Names): Promise<Content> => {
  const create = async (draft: object) => (await ui.call("POST", "/api/webhooks", { ...reviewDraft, ...draft })).webhook
  const webhook = await create({ name: names.webhook })
  const run_id = await runReview(ui, webhook.id)
  await addLine(ui, webhook.id)
  const chat_id = (await ui.call("POST", "/api/teams/demo/messages?wait=true", { message: "Hello" })).message_id
  const inThread = { message: "Hello\n".repeat(20), thread: `${names.webhook}#7`.slice(0, 500) }
  const { message_id } = await ui.call("POST", "/api/teams/demo/messages?wait=true", inThread)
  const { thread } = await ui.call("GET", `/api/runs/${message_id}`)
  await create({ name: "Switched off", enabled: false })
  await ui.call("POST", "/api/teams", { team: names.idleTeam })
  await ui.call("POST", "/api/teams/demo/leader-keys", { name: names.webhook.slice(0, 100) })
  await ui.call("POST", "/api/keys", { name: names.webhook.slice(0, 100), role: "operator", teams: [names.idleTeam] })
  const verification = { preset: "alertmanager" }
  const setUp = await create({ name: names.setUp, verification, secret: "a secret for the tests" })
  const sends = await createSending(ui, create)
  const pages: ReadonlyArray<UiPage> = [
    ["/", "Overview", "Latest runs"],
    ["/webhooks", "Webhooks", names.webhook],
    ["/webhooks?search=nothing-like-it", "Webhooks", "No webhooks match."],
    ["/webhooks/new", "New webhook", "Preview with sample values"],
    ["/webhooks/new?from=alertmanager", "New webhook", "Alerts: firing"],
    [`/webhooks/${webhook.id}`, names.webhook, "Slots in use"],
    [`/webhooks/${setUp.id}`, names.setUp, "Waiting for the first verified request."],
    [`/webhooks/${webhook.id}?tab=test`, names.webhook, "Send a test"],
    [`/webhooks/${webhook.id}?tab=settings`, names.webhook, "Regenerate the token"],
    [`/webhooks/${sends.id}?tab=destinations`, "Sends its results", "Deliveries"],
    [`/webhooks/${webhook.id}/edit`, "Edit webhook", "Rendered prompt"],
    [`/webhooks/${webhook.id}/call`, "How to call it", "Examples"],
    [`/webhooks/${webhook.id}/templates`, "Versions of the template", "unchanged line"],
    ["/runs?source=webhook", "Runs", "Fewer filters"],
    [`/runs/${run_id}`, /^Review # A change/, "Finished: success"],
    [`/runs/${chat_id}`, /^Hello/, "Finished: success"],
    ["/teams", "Teams", names.idleTeam],
    ["/teams/demo/threads", "Conversations of demo", thread.key],
    [`/threads/${thread.id}`, new RegExp(`^${names.webhook}`), "Show all of it"],
    [`/runs?thread=${thread.id}`, "Runs", "Runs of all conversations"],
    ["/server", "Server", "Address for callers"],
    ["/audit", "Audit", "Details"],
    ["/sessions", "Sessions", "This browser"],
    ["/keys", "API keys", "Ends in"],
    ["/teams/demo", "demo", "Recent runs"],
    [`/teams/${names.idleTeam}`, names.idleTeam, "No runs yet."],
    ["/webhooks/00000000-0000-7000-8000-000000000000", "Webhook", "Not found."]
  ]
  return { webhook, chat_id, pages }
}

/** A webhook with destinations, and a run whose result is sent to one. */
const createSending = async (ui: TestUi, create: (draft: object) => Promise<{ readonly id: string }>) => {
  const webhook = await create({ name: "Sends its results" })
  const path = `/api/webhooks/${webhook.id}/destinations`
  const url = "https://hooks.example.com/a/long/path/for/narrow/screens/with-a-name-that-does-not-break/runs"
  await ui.call("POST", path, { url, description: "The chat of the team" })
  await ui.call("POST", path, { url: "https://ci.example.com/hooks", enabled: false })
  await runReview(ui, webhook.id)
  return webhook
}

/** Another version of the template, far below its first line. */
const addLine = async (ui: TestUi, id: string) => {
  const { prompt_template } = await ui.call("GET", `/api/webhooks/${id}`)
  const text = `${prompt_template}\n\n\n\n\nOne more line.`
  await ui.call("PATCH", `/api/webhooks/${id}`, { prompt_template: text })
  await ui.call("PATCH", `/api/webhooks/${id}`, { prompt_template: `${text}\nAnd another one.` })
}

/** Resolves when the page shows what it is for. */
export const open = async (page: Page, [address, heading, text]: UiPage): Promise<void> => {
  await page.goto(address)
  await page.getByRole("heading", { level: 1, name: heading }).waitFor()
  await page.getByText(text).first().waitFor()
}
