import { expect, it } from "@effect/vitest"
import { ephemeralFault } from "../../../src/engine/slack/SlackMessages.ts"

it("a text for one member was refused if Slack says so in its answer, whose status is 200", () => {
  const faultOf = (text: string, http_status = 200) => ephemeralFault({ http_status, answer: text, text })
  expect(faultOf('{"ok":true}')).toBeUndefined()
  expect(faultOf('{"ok":false,"error":"user_not_in_channel"}')).toBe("user_not_in_channel")
  expect(faultOf('{"ok":false}')).toBe("no reason")
  expect(faultOf("Bad gateway", 502)).toBe("HTTP 502")
})
