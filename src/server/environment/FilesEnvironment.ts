/** The settings of the bucket for files. */
import { Option, Redacted, Schema } from "effect"
import type { Credentials } from "../../repo/s3/Credentials.ts"
import type { S3Settings } from "../../repo/s3/S3.ts"
import { type Format, optional, secret, text, type Values } from "../../settings/EnvironmentVariable.ts"
import { fromText } from "../../settings/Quantity.ts"
import type { SettingFault } from "./LoadSettings.ts"

const bucketUrl: Format<string> = {
  accepts:
    "takes a bucket's URL, such as `https://s3.eu-central-1.amazonaws.com/bucket` or `https://s3.example.com/bucket/prefix`",
  schema: fromText(
    Schema.String,
    (given) => {
      const url = given.replace(/\/+$/, "")
      // Names that need no encoding: stores differ in it.
      const isBucket = /^https?:\/\/[^/?#@\\]+(\/[\w-][\w.-]*)+$/.test(url)
      return isBucket && URL.canParse(url) ? Option.some(url) : Option.none()
    },
    (url) => url
  )
}

/** A token is sent there, so only encrypted, or where AWS has such endpoints. */
const isCredentialsUrl = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { hostname, protocol } = new URL(text)
  const isNear = /^(localhost|127(\.\d+){3}|\[::1\]|169\.254\.170\.23?|\[fd00:ec2::23\])$/.test(hostname)
  return protocol === "https:" || (protocol === "http:" && isNear)
}

export const settings = {
  /** Where the contents of files are stored. Default: in the database. Secret, as an invalid one may have the key in it. */
  filesUrl: optional("WEBHOOK_FILES_S3", secret(bucketUrl)),
  filesKeyId: optional("WEBHOOK_FILES_S3_KEY_ID", secret(text("the ID of an access key"))),
  filesSecret: optional("WEBHOOK_FILES_S3_SECRET", secret(text("the secret of the access key"))),
  filesSessionToken: optional("WEBHOOK_FILES_S3_SESSION_TOKEN", secret(text("the access key's session token"))),
  /** Default: `us-east-1`; without a key, `AWS_REGION`. */
  filesRegion: optional("WEBHOOK_FILES_S3_REGION", text("the bucket's region")),
  // Variables that clouds set. Used, and checked, only if there is a bucket without a key above.
  awsRegion: optional("AWS_REGION", text("a region")),
  awsRole: optional("AWS_ROLE_ARN", text("the ARN of a role")),
  awsTokenFile: optional("AWS_WEB_IDENTITY_TOKEN_FILE", text("a file")),
  awsSessionName: optional("AWS_ROLE_SESSION_NAME", text("a name")),
  awsStsUrl: optional("AWS_ENDPOINT_URL_STS", text("an address")),
  awsCredentialsUrl: optional("AWS_CONTAINER_CREDENTIALS_FULL_URI", text("an address")),
  awsCredentialsPath: optional("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", text("a path")),
  awsAuthorization: optional("AWS_CONTAINER_AUTHORIZATION_TOKEN", secret(text("a token"))),
  awsAuthorizationFile: optional("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", text("a file"))
}

type Given = Values<typeof settings>

/** A key of the settings, else what the cloud gives, in the order of AWS's own libraries. */
const credentialsOf = (given: Given): Option.Option<Credentials> => {
  const optionally = <K extends string, A>(name: K, value: Option.Option<A>) =>
    Option.match(value, { onNone: () => ({}), onSome: (it) => ({ [name]: it }) as { readonly [_ in K]: A } })
  const key = Option.map(Option.all({ keyId: given.filesKeyId, secret: given.filesSecret }), (key) => ({
    ...key,
    ...optionally("sessionToken", given.filesSessionToken)
  }))
  const identity = Option.map(Option.all({ roleArn: given.awsRole, tokenFile: given.awsTokenFile }), (role) => ({
    ...role,
    ...optionally("sessionName", given.awsSessionName),
    ...optionally("stsUrl", given.awsStsUrl)
  }))
  const url = Option.orElse(given.awsCredentialsUrl, () =>
    Option.map(given.awsCredentialsPath, (path) => `http://169.254.170.2${path}`)
  )
  const container = Option.map(url, (credentialsUrl) => ({
    credentialsUrl,
    ...optionally("authorization", given.awsAuthorization),
    ...optionally("authorizationFile", given.awsAuthorizationFile)
  }))
  return Option.firstSomeOf<Credentials>([key, identity, container])
}

export const conflicts = (given: Given): ReadonlyArray<SettingFault> => {
  const { filesKeyId, filesRegion, filesSecret, filesSessionToken, filesUrl } = given
  const needed: ReadonlyArray<readonly [string, Option.Option<unknown>, string]> = [
    ["WEBHOOK_FILES_S3", filesUrl, bucketUrl.accepts],
    ["WEBHOOK_FILES_S3_KEY_ID", filesKeyId, "takes the ID of an access key"],
    ["WEBHOOK_FILES_S3_SECRET", filesSecret, "takes the secret of the access key"]
  ]
  const credentials = credentialsOf(given)
  const own: ReadonlyArray<Option.Option<unknown>> = [filesUrl, filesKeyId, filesSecret, filesSessionToken, filesRegion]
  const hasKey = Option.isSome(filesKeyId) || Option.isSome(filesSecret) || Option.isSome(filesSessionToken)
  const isGiven = !hasKey && Option.isSome(credentials)
  if (!own.some(Option.isSome)) return []
  if (isGiven && "credentialsUrl" in credentials.value && !isCredentialsUrl(credentials.value.credentialsUrl)) {
    const accepts = "takes a URL with https, or one of this machine, 169.254.170.2 or 169.254.170.23"
    return [{ name: "AWS_CONTAINER_CREDENTIALS_FULL_URI", accepts }]
  }
  return needed.flatMap(([name, value, accepts]) =>
    Option.isSome(value) || (isGiven && name !== "WEBHOOK_FILES_S3")
      ? []
      : [{ name, accepts: `${accepts}; the other WEBHOOK_FILES_S3 settings need it` }]
  )
}

export const s3Settings = (given: Given): Option.Option<S3Settings> =>
  Option.map(Option.all({ url: given.filesUrl, credentials: credentialsOf(given) }), ({ credentials, url }) => ({
    ...credentials,
    url: Redacted.value(url),
    region: Option.firstSomeOf([given.filesRegion, "keyId" in credentials ? Option.none() : given.awsRegion]).pipe(
      Option.getOrElse(() => "us-east-1")
    )
  }))
