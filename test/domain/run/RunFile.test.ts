import { describe, expect, it } from "@effect/vitest"
import { incomingFiles } from "../../../src/domain/run/RunFile.ts"

const bytes = new Uint8Array(3)
const namesOf = (...names: ReadonlyArray<string>) =>
  incomingFiles(names.map((name) => ({ name, bytes }))).map(({ name }) => name)

describe("names of files", () => {
  it.each([
    ["report.pdf", "report.pdf"],
    ["../../etc/passwd", "passwd"],
    ["C:\\Users\\ada\\plan.docx", "plan.docx"],
    ["..", "file"],
    ["", "file"],
    [".bashrc", "bashrc"],
    ["-rf", "rf"],
    ["a\0b\r\nc.txt", "a_b__c.txt"],
    ["gpj\u202Eexe.sh", "gpj_exe.sh"],
    ["\uD800.txt", "_.txt"],
    ['$(id) `x` "y".txt', "_(id) _x_ _y_.txt"],
    ["nul.txt", "_nul.txt"],
    ["trailing. ", "trailing"],
    ["日本語.txt", "日本語.txt"]
  ])("are safe: %j", (given, name) => {
    expect(namesOf(given)).toEqual([name])
  })

  it("are short, and keep their extension", () => {
    const [name = ""] = namesOf(`${"x".repeat(5_000)}.tar`)
    expect([name.length, name.slice(-4)]).toEqual([100, ".tar"])
  })

  it("are unique, in either case", () => {
    expect(namesOf("a.txt", "A.TXT", "a.txt", "b/a.txt")).toEqual(["a.txt", "2-A.TXT", "3-a.txt", "4-a.txt"])
  })

  it("have a media type that is one", () => {
    const typeOf = (type: string) => incomingFiles([{ name: "a", type, bytes }])[0]!.type
    expect(["Text/HTML; charset=utf-8", "x", "a/b\r\nc: d"].map(typeOf)).toEqual([
      "text/html",
      "application/octet-stream",
      "a/b"
    ])
  })
})
