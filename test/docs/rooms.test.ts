/** The folders of the engine are layers, in the order of docs/internals/architecture.md. */
import { readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { expect, it } from "../support/It.ts"

const engine = resolve(import.meta.dirname, "../../src/engine")
const page = readFileSync(join(engine, "../../docs/internals/architecture.md"), "utf8")
const section = page.split("\n## ").find((text) => text.startsWith("The rooms of the engine"))!
const rooms = [...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, room]) => room)

const roomOf = (file: string) => file.split("/")[0]

it("each folder of the engine imports only those that the page lists above it", function* () {
  const files = readdirSync(engine, { recursive: true, encoding: "utf8" }).filter((path) => /\/.*\.ts$/.test(path))
  expect(new Set(rooms)).toEqual(new Set(files.map(roomOf)))
  const upwards = files.flatMap((file) =>
    [...readFileSync(join(engine, file), "utf8").matchAll(/ from "(\.[^"]+)"$/gm)]
      .map(([, path]) => relative(engine, join(engine, dirname(file), path!)))
      .filter((imported) => rooms.indexOf(roomOf(imported)) > rooms.indexOf(roomOf(file)))
      .map((imported) => `${file} imports ${imported}`)
  )
  expect(upwards).toEqual([])
})
