/** Compiles only if the requests have the shapes that the services publish. */
import { expect, it } from "@effect/vitest"
import type { Endpoints } from "@octokit/types"
import type { KnownBlock, MessageAttachment } from "@slack/types"
import type { IncomingWebhookSendArguments } from "@slack/webhook"
import { commentOf, contentWith } from "../../../../src/engine/delivery/kinds/Comment.ts"
import { github } from "../../../../src/engine/delivery/kinds/GitHub.ts"
import { shown, teamsSizeOf } from "../../../../src/engine/markdown/Shown.ts"
import { slackPostBody, slackWebhookBody } from "../../../../src/engine/slack/SlackMessages.ts"

const long = { body: "word ".repeat(20_000), id: "test_1", title: "Review succeeded" }
const sign = () => "0".repeat(32)

it("Slack's messages have its types, sections of at most 3,000 characters, and at most 50 blocks", () => {
  const message: IncomingWebhookSendArguments & { readonly attachments?: ReadonlyArray<MessageAttachment> } =
    slackWebhookBody(long, shown.slack(long), sign)
  const blocks: ReadonlyArray<KnownBlock> = slackPostBody(long, shown.slack(long), sign, { channel: "C0123" }).blocks
  expect(message.text).toBe("Review succeeded")
  const lengths = blocks.map((block) => (block.type === "section" ? block.text!.text.length : 0))
  expect(Math.max(...lengths)).toBeLessThanOrEqual(3_000)
  expect(lengths.reduce((sum, one) => sum + one, 0)).toBeGreaterThan(39_000)
  expect(blocks.length).toBeLessThanOrEqual(50)
  expect(blocks.at(-1)).toMatchObject({ text: { text: "_The answer is longer._", verbatim: true } })
})

it("GitHub's comments have its parameters, and at most 65,536 characters", () => {
  type Create = Endpoints["POST /repos/{owner}/{repo}/issues/{issue_number}/comments"]["parameters"]
  type Update = Endpoints["PATCH /repos/{owner}/{repo}/issues/comments/{comment_id}"]["parameters"]
  const text = shown.github({ body: "x".repeat(70_000) })
  const message = { text, event: "run.succeeded", order: "1", title: "" } as const
  const body = commentOf(contentWith(message, github.dialect)!, "<!-- marker ", sign)
  const created: Pick<Create, "body"> & Pick<Update, "body"> = { body }
  expect(created.body.length).toBeLessThanOrEqual(65_536)
  expect(created.body).toMatch(/^<!-- marker 1 answer 0{32} -->\n[\s\S]*\n\n\*The answer is longer\.\*$/)
  type Parameters = { readonly [Name in keyof Create]?: unknown }
  const names: Parameters = { owner: "acme", repo: "shop", issue_number: 7 }
  const path: (typeof routes)[number] = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => String(names[name as keyof Parameters]))
  expect(github.comments("https://api.github.com/", "acme/shop#7")).toBe(`https://api.github.com${filled}`)
})

it("GitHub's reaction has its parameters", () => {
  type Create = Endpoints["POST /repos/{owner}/{repo}/issues/{issue_number}/reactions"]["parameters"]
  const body: Pick<Create, "content"> = { content: "eyes" }
  expect(github.reaction.body).toEqual(body)
  const path: (typeof routes)[number] = "/repos/{owner}/{repo}/issues/{issue_number}/reactions"
  const filled = path.replace("{owner}/{repo}", "acme/shop").replace("{issue_number}", "7")
  expect(github.reaction.url("https://api.github.com/", "acme/shop#7")).toBe(`https://api.github.com${filled}`)
})

/** Only routes that GitHub has compile here. */
const routes = [
  "/repos/{owner}/{repo}/issues/{issue_number}/comments",
  "/repos/{owner}/{repo}/issues/{issue_number}/reactions"
] as const satisfies ReadonlyArray<keyof Endpoints extends `${string} ${infer Path}` ? Path : never>

it("targets that are no issue of the service have no URL", () => {
  const of = (target: string) => github.comments("https://api.github.com", target)
  for (const wrong of [
    "acme/shop",
    "acme/..#1",
    "../shop#1",
    "acme/shop/../x#1",
    "acme/shop#x",
    "acme/sh op#1",
    "#1"
  ]) {
    expect(of(wrong), wrong).toBeUndefined()
  }
  expect(of("acme/.github#1")).toBe("https://api.github.com/repos/acme/.github/issues/1/comments")
})

it("a Discord message has at most 2,000 characters, and mentions no one", () => {
  const { isCut, text } = shown.discord(long)
  expect([isCut, text.length <= 2_000]).toEqual([true, true])
  expect(shown.discord({ body: "@everyone short" })).toEqual({ isCut: false, text: "@\u200beveryone short" })
})

it("a Teams message is an Adaptive Card of at most 28 KB, escaped once more", () => {
  const card = shown.teams({ body: `# Done\n\n\`\`\`\na_b\n\`\`\`\n\n${"word ".repeat(8_000)}` })
  expect(teamsSizeOf(card)).toBeLessThanOrEqual(28 * 1024)
  expect(teamsSizeOf(card)).toBeGreaterThan(27 * 1024)
  expect(card.attachments[0]).toMatchObject({
    contentType: "application/vnd.microsoft.card.adaptive",
    content: {
      type: "AdaptiveCard",
      body: [
        { type: "TextBlock", text: "**Done**", wrap: true },
        { text: "a\\_b", fontType: "Monospace" },
        ...Array.from({ length: 14 }, () => ({ text: expect.stringMatching(/^(word )+word$/) })),
        { text: "*The answer is longer.*" }
      ]
    }
  })
})
