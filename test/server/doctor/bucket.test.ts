import { Effect, Redacted } from "effect"
import { examineBucket } from "../../../src/server/doctor/BucketChecks.ts"
import { describe, expect, it } from "../../support/It.ts"
import { s3Server } from "../../support/S3Server.ts"

const results = ({ checks }: Effect.Success<ReturnType<typeof examineBucket>>) => checks.map(({ result }) => result)

describe("doctor", () => {
  it.live("says whether the bucket for files can be written, read and cleaned, and what to do", function* () {
    const server = yield* s3Server
    const fine = yield* examineBucket(server.settings)
    expect([results(fine), fine.help]).toStrictEqual([["yes", "yes", "yes"], undefined])
    server.mayList = false
    const unlisted = yield* examineBucket(server.settings)
    expect(unlisted.checks.slice(3)).toEqual([
      { what: "bucket listed", result: "warning", detail: expect.stringContaining("allow s3:ListBucket") }
    ])
    server.mayList = true
    const { region, url } = server.settings
    const noRole = yield* examineBucket({ region, url, roleArn: "arn:aws:iam::1:role/r", tokenFile: "/no/such" })
    expect([results(noRole)[0], noRole.help]).toEqual(["no", expect.stringContaining("AWS_ROLE_ARN")])
    const stranger = yield* examineBucket({ ...server.settings, secret: Redacted.make("another-secret") })
    expect([results(stranger), stranger.help]).toStrictEqual([
      ["no", "unknown", "unknown"],
      expect.stringContaining("WEBHOOK_FILES_S3_SECRET")
    ])
    expect(JSON.stringify(stranger)).not.toMatch(/another-secret|AKID/)
    const missing = yield* examineBucket({ ...server.settings, url: `${server.origin}/other` })
    expect(missing.help).toContain("Create the bucket")
    server.skew = 20 * 60_000
    expect((yield* examineBucket(server.settings)).help).toContain("NTP")
    server.skew = 0
    for (const [n, method] of ["PUT", "GET", "DELETE"].entries()) {
      server.faultsOf.set(method, [403, "AccessDenied"])
      const examined = yield* examineBucket(server.settings)
      expect(results(examined), method).toStrictEqual(
        ["yes", "yes", "yes"].map((yes, i) => (i < n ? yes : i === n ? "no" : "unknown"))
      )
      expect(examined.help).toContain("s3:DeleteObject")
      server.faultsOf.clear()
    }
    for (const method of ["GET", "DELETE"]) server.faultsOf.set(method, [403, "AccessDenied"])
    expect(results(yield* examineBucket(server.settings))).toStrictEqual(["yes", "no", "unknown"])
    // Those that could not be removed.
    server.objects.forEach((_, key) => expect(key).toMatch(/^hooks\/doctor-/))
    expect(server.objects.size).toBe(2)
    server.server.close()
    server.server.closeAllConnections()
    const away = yield* examineBucket(server.settings)
    expect([results(away), away.help]).toStrictEqual([
      ["no", "unknown", "unknown"],
      expect.stringContaining("the host, the port and the scheme in WEBHOOK_FILES_S3")
    ])
  })
})
