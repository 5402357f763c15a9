import type { Preset } from "../../Description.ts"

/** Raw message delivery is not signed, so it is refused. */
export const awsSns: Preset = {
  label: "Amazon SNS",
  secret: "the topic's ARN (`arn:aws:sns:…`)",
  documentation: "https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html",
  descriptions: [
    {
      scheme: "sns",
      // With its URL, anybody can end the subscription.
      secretMembers: ["UnsubscribeURL", "SigningCertURL"],
      id: [{ json: ["MessageId"] }],
      handshakes: [
        { when: { at: { json: ["Type"] }, is: "SubscriptionConfirmation" }, confirm: { json: ["SubscribeURL"] } },
        { when: { at: { json: ["Type"] }, is: "UnsubscribeConfirmation" } }
      ]
    }
  ]
}
