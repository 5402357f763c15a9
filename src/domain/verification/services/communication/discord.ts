import type { Preset } from "../../Description.ts"

/** Interactions. */
export const discord: Preset = {
  label: "Discord",
  secret: "the application's “Public Key”",
  documentation: "https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint",
  descriptions: [
    {
      scheme: "ed25519",
      key: "hex",
      headers: ["x-signature-ed25519"],
      encoding: "hex",
      timestamp: { at: [{ header: "x-signature-timestamp" }], unit: "seconds", tolerance_seconds: 300 },
      signed: "{timestamp}{body}",
      id: [{ json: ["id"] }],
      handshakes: [{ when: { at: { json: ["type"] }, is: "1" }, json: { type: 1 } }],
      // Commands, buttons and dialogs: the agents answer later.
      replies: [
        { at: { json: ["type"] }, is: "2", body: { type: 5 } },
        { at: { json: ["type"] }, is: "3", body: { type: 6 } },
        { at: { json: ["type"] }, is: "5", body: { type: 5 } }
      ]
    }
  ]
}
