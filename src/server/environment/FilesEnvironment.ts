/** The settings of the bucket for files. */
import { Option, Redacted, Schema } from "effect"
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

export const settings = {
  /** Where the contents of files are stored. Default: in the database. Secret, as an invalid one may have the key in it. */
  filesUrl: optional("WEBHOOK_FILES_S3", secret(bucketUrl)),
  filesKeyId: optional("WEBHOOK_FILES_S3_KEY_ID", secret(text("the ID of an access key"))),
  filesSecret: optional("WEBHOOK_FILES_S3_SECRET", secret(text("the secret of the access key"))),
  /** Default: `us-east-1`. */
  filesRegion: optional("WEBHOOK_FILES_S3_REGION", text("the bucket's region"))
}

type Given = Values<typeof settings>

export const conflicts = (given: Given): ReadonlyArray<SettingFault> => {
  const needed: ReadonlyArray<readonly [string, Option.Option<string | Redacted.Redacted>, string]> = [
    ["WEBHOOK_FILES_S3", given.filesUrl, bucketUrl.accepts],
    ["WEBHOOK_FILES_S3_KEY_ID", given.filesKeyId, "takes the ID of an access key"],
    ["WEBHOOK_FILES_S3_SECRET", given.filesSecret, "takes the secret of the access key"]
  ]
  const isNone = needed.every(([, value]) => Option.isNone(value)) && Option.isNone(given.filesRegion)
  return isNone
    ? []
    : needed.flatMap(([name, value, accepts]) =>
        Option.isSome(value) ? [] : [{ name, accepts: `${accepts}; the other WEBHOOK_FILES_S3 settings need it` }]
      )
}

export const s3Settings = ({ filesKeyId, filesRegion, filesSecret, filesUrl }: Given): Option.Option<S3Settings> =>
  Option.map(Option.all({ url: filesUrl, keyId: filesKeyId, secret: filesSecret }), ({ url, ...key }) => ({
    ...key,
    url: Redacted.value(url),
    region: Option.getOrElse(filesRegion, () => "us-east-1")
  }))
