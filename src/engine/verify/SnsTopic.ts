/** The addresses of Amazon SNS that belong to a topic. */

const arn = /^arn:(aws|aws-cn|aws-us-gov):sns:([a-z]{2,}(?:-[a-z]+)+-\d+):\d{12}:[\w-]{1,256}(?:\.fifo)?$/

export const isTopicArn = (text: string): boolean => arn.test(text)

/** The host of SNS in the topic's region: the certificate and the confirmation are there. */
const hostOf = (topic: string): string | undefined => {
  const [, partition, region] = arn.exec(topic) ?? []
  return region && `sns.${region}.amazonaws.com${partition === "aws-cn" ? ".cn" : ""}`
}

const isAtSns = (topic: string, url: string): boolean =>
  URL.canParse(url) && new URL(url).origin === `https://${hostOf(topic)}` && url.startsWith(`https://${hostOf(topic)}/`)

/** Names the certificate's file. */
const certificatePath = /^https:\/\/[^/]+\/SimpleNotificationService-[0-9a-zA-Z]{1,64}\.pem$/

/** Whether SNS publishes certificates for the topic there. */
export const isCertificateUrl = (topic: string, url: string): boolean =>
  certificatePath.test(url) && isAtSns(topic, url)

/** Whether the URL confirms a subscription of the topic. */
export const isConfirmation = isAtSns
