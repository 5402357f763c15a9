import { fromStrangers, type Recipe } from "../Recipe.ts"

export const awsSns: Recipe = {
  label: "Amazon SNS",
  name: "Look into CloudWatch alarms",
  summary: "Looks into each alarm of CloudWatch, or any other message of a topic.",
  starts: ["CloudWatch alarms: in alarm"],
  verification: { preset: "aws-sns" },
  secret: "known before",
  settings: {
    ...fromStrangers,
    template_language: "liquid",
    accept_if: "payload.Type == 'Notification' && payload.Subject && starts_with(payload.Subject, 'ALARM')",
    run_title: "{{ payload.Subject | default: payload.TopicArn }}"
  },
  prompt_template: `A message of Amazon SNS:

{% data %}
{% if payload.Subject %}{{ payload.Subject }}
{% endif %}Topic: {{ payload.TopicArn }}

{{ payload.Message }}
{% enddata %}

Find the likely cause, and say what to do first.`,
  steps: [
    "The webhook's secret is the ARN of the topic: “Amazon SNS”, “Topics”. Other topics are refused.",
    "On the topic: “Create subscription”. “Protocol”: HTTPS. “Endpoint”: the trigger URL. Leave “Enable raw message delivery” off, because raw messages are not signed.",
    "The server confirms the subscription. “Status” becomes “Confirmed” within seconds.",
    "In CloudWatch, choose the topic as the action of an alarm."
  ],
  notes: [
    "The server must reach sns.REGION.amazonaws.com, for the certificate and to confirm the subscription.",
    "SNS sends JSON as text/plain. It is read as JSON. `payload.Message` is a text, for CloudWatch itself JSON.",
    "For all messages of the topic, set `accept_if` to payload.Type == 'Notification'.",
    "SNS retries server errors for minutes to an hour, as the topic's delivery policy says."
  ],
  sample: {
    headers: {
      "content-type": "text/plain; charset=UTF-8",
      "x-amz-sns-message-type": "Notification",
      "x-amz-sns-message-id": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
      "x-amz-sns-topic-arn": "arn:aws:sns:eu-central-1:123456789012:alarms",
      "user-agent": "Amazon Simple Notification Service Agent"
    },
    payload: {
      Type: "Notification",
      MessageId: "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
      TopicArn: "arn:aws:sns:eu-central-1:123456789012:alarms",
      Subject: 'ALARM: "shop-5xx" in EU (Frankfurt)',
      Message: JSON.stringify({
        AlarmName: "shop-5xx",
        AlarmDescription: "More than 1 % of the shop's responses are server errors.",
        AWSAccountId: "123456789012",
        NewStateValue: "ALARM",
        NewStateReason:
          "Threshold Crossed: 1 datapoint [4.2 (04/05/26 08:10:00)] was greater than the threshold (1.0).",
        StateChangeTime: "2026-05-04T08:15:12.345+0000",
        Region: "EU (Frankfurt)",
        OldStateValue: "OK"
      }),
      Timestamp: "2026-05-04T08:15:12.400Z",
      SignatureVersion: "1",
      Signature: "EXAMPLE",
      SigningCertURL:
        "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-9c6465fa7f48f5cacd23014631ec1136.pem",
      UnsubscribeURL:
        "https://sns.eu-central-1.amazonaws.com/?Action=Unsubscribe&SubscriptionArn=arn:aws:sns:eu-central-1:123456789012:alarms:c9135db0"
    }
  },
  documentation: "https://docs.aws.amazon.com/sns/latest/dg/http-notification-json.html"
}
