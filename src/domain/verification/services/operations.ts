import type { Preset } from "../Description.ts"

/** It signs nothing and sends no ID. The secret is the one of `authorization` or `basic_auth` in its `http_config`. */
export const alertmanager: Preset = {
  label: "Alertmanager",
  secret: "the `credentials` under `authorization`, or with a `username` the `password` under `basic_auth`",
  // https://prometheus.io/docs/alerting/latest/configuration/#http_config
  options: ["username"],
  descriptions: [
    { scheme: "basic", for: { option: "username" } },
    { scheme: "header", headers: ["authorization"], prefix: "Bearer " }
  ]
}

/** Raw message delivery is not signed, so it is refused. */
export const awsSns: Preset = {
  label: "Amazon SNS",
  secret: "the topic's ARN (`arn:aws:sns:…`)",
  // https://docs.aws.amazon.com/sns/latest/dg/sns-verify-signature-of-message.html
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

/** A list of events has an ID only if it is one event: the next attempt may group them in another way. */
export const eventGrid: Preset = {
  label: "Azure Event Grid",
  secret: "the value of the static header, marked as secret",
  // https://learn.microsoft.com/azure/event-grid/delivery-properties
  required: ["header"],
  descriptions: [{ scheme: "header", headers: [], id: [{ json: ["id"] }, { json: ["*", "id"] }] }],
  urlChecks: [
    {
      method: "POST",
      when: [{ at: { header: "aeg-event-type" }, is: "SubscriptionValidation" }],
      echo: { json: ["*", "data", "validationCode"] },
      json: { validationResponse: "{echo}" }
    }
  ]
}

/** Push subscriptions of Pub/Sub, by which Gmail and other services of Google send notifications. */
export const google: Preset = {
  label: "Google Pub/Sub",
  secret: "the email address of the service account under “Enable authentication”",
  // https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions
  required: ["audience"],
  descriptions: [
    {
      scheme: "jwt",
      issuers: ["https://accounts.google.com", "accounts.google.com"],
      audience: "",
      jwks: "https://www.googleapis.com/oauth2/v3/certs",
      claim: "email",
      id: [{ json: ["message", "messageId"] }]
    }
  ]
}

/** A contact point's HMAC signature, which covers the “Timestamp Header” if there is one. Grafana sends no ID. */
export const grafana: Preset = {
  label: "Grafana",
  secret: "the “Secret” under “HMAC Signature” of the contact point",
  // https://grafana.com/docs/grafana/latest/alerting/configure-notifications/manage-contact-points/integrations/webhook-notifier/
  options: ["header", "timestamp_header", "tolerance_seconds", "unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-grafana-alerting-signature"],
      encoding: "hex",
      signed: "{body}",
      signedWithTimestamp: "{timestamp}:{body}"
    }
  ]
}

export const okta: Preset = {
  label: "Okta",
  secret: "the “Authentication secret” of the event hook",
  // https://developer.okta.com/docs/concepts/event-hooks/
  options: ["header"],
  descriptions: [{ scheme: "header", headers: ["authorization"], id: [{ json: ["eventId"] }] }],
  urlChecks: [
    {
      method: "GET",
      when: [{ at: { header: "x-okta-verification-challenge" } }],
      echo: { header: "x-okta-verification-challenge" },
      json: { verification: "{echo}" }
    }
  ]
}

/** While a secret is being replaced, PagerDuty signs with both. */
export const pagerduty: Preset = {
  label: "PagerDuty",
  secret: "the secret that PagerDuty shows once when the webhook subscription is created",
  // https://developer.pagerduty.com/docs/webhooks/webhook-signatures/
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["x-pagerduty-signature"],
      separator: ",",
      prefix: "v1=",
      encoding: "hex",
      signed: "{body}",
      id: [{ json: ["event", "id"] }]
    }
  ]
}

/** `Sentry-Hook-Timestamp` is not signed, so it is ignored. */
export const sentry: Preset = {
  label: "Sentry",
  secret: "the integration's “Client Secret”",
  // https://docs.sentry.io/organization/integrations/integration-platform/webhooks/
  options: ["unique_for_seconds"],
  descriptions: [
    {
      scheme: "hmac",
      algorithm: "sha256",
      key: "text",
      headers: ["sentry-hook-signature"],
      encoding: "hex",
      signed: "{body}",
      id: [{ header: "request-id" }]
    }
  ]
}
