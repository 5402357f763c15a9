/** Runs the steps of the Dockerfile one by one in a folder, since tests have no Docker, and the program that they leave. */
import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs"
import { basename, join } from "node:path"
import { here } from "../bench/Ours.ts"
import { freePort, startDaemon, untilReady } from "../support/Process.ts"
import { until } from "../support/Until.ts"

interface Stage {
  /** Its file system. */
  readonly root: string
  readonly env: Record<string, string>
  workdir: string
  user: string
  healthcheck: ReadonlyArray<string>
  entrypoint: ReadonlyArray<string>
  command: ReadonlyArray<string>
}

/** As the official image of Node has it: the user `node` of the Dockerfile. */
const node = { uid: 1000, gid: 1000 }

const instructions = readFileSync(join(here, "Dockerfile"), "utf8")
  .split("\n")
  .filter((line) => line !== "" && !line.startsWith("#"))
  .map((line) => /^([A-Z]+) (.*)$/.exec(line)!.slice(1) as [name: string, rest: string])

/** What a build gets: the files in git, but for those that `.dockerignore` names. */
const copySource = (to: string) => {
  const ignored = readFileSync(join(here, ".dockerignore"), "utf8").split("\n").filter(Boolean)
  const files = execFileSync("git", ["ls-files"], { cwd: here, encoding: "utf8" }).trim().split("\n")
  for (const file of files) {
    if (!ignored.some((name) => file === name || file.startsWith(`${name}/`))) cpSync(join(here, file), join(to, file))
  }
}

/** Builds all stages, and returns the last one. */
const build = (folder: string): Stage => {
  const stages = new Map<string, Stage>()
  let stage: Stage | undefined
  // The image's absolute paths are in the stage's folder.
  const placed = (path: string) => join(stage!.root, path.startsWith("/") ? path : join(stage!.workdir, path))
  for (const [name, rest] of instructions) {
    console.log(`${name} ${rest}`.slice(0, 100))
    switch (name) {
      case "ARG":
      case "VOLUME":
      case "EXPOSE":
        break
      case "FROM": {
        const id = / AS (\w+)$/.exec(rest)?.[1] ?? "final"
        const root = join(folder, id)
        mkdirSync(root)
        stage = { root, env: {}, workdir: "/", user: "root", healthcheck: [], entrypoint: [], command: [] }
        stages.set(id, stage)
        break
      }
      case "ENV":
        for (const [, key, value] of rest.matchAll(/(\w+)=(\S+)/g)) stage!.env[key!] = value!
        break
      case "WORKDIR":
        stage!.workdir = rest
        mkdirSync(placed("."), { recursive: true })
        break
      case "COPY": {
        const words = rest.split(" ")
        const from = /^--from=(\w+)$/.exec(words[0]!)?.[1]
        const paths = from === undefined ? words : words.slice(1)
        const to = placed(paths.at(-1)!)
        for (const path of paths.slice(0, -1)) {
          if (from !== undefined) {
            const source = join(stages.get(from)!.root, path)
            cpSync(source, existsSync(to) ? join(to, basename(path)) : to, { recursive: true, verbatimSymlinks: true })
          } else if (path === ".") copySource(to)
          else cpSync(join(here, path), join(to, path))
        }
        break
      }
      case "RUN": {
        const command = rest
          .replaceAll(/(?<= )\/(?=\w)/g, `${stage!.root}/`)
          .replaceAll("node:node", `${node.uid}:${node.gid}`)
        execFileSync("sh", ["-ec", command], { cwd: placed("."), stdio: "inherit" })
        break
      }
      case "USER":
        stage!.user = rest
        break
      case "HEALTHCHECK":
        stage!.healthcheck = JSON.parse(rest.slice(rest.indexOf("CMD ") + 4))
        break
      case "ENTRYPOINT":
        stage!.entrypoint = JSON.parse(rest)
        break
      case "CMD":
        stage!.command = JSON.parse(rest)
        break
      default:
        throw new Error(`cannot run ${name}`)
    }
  }
  return stage!
}

const fail = (message: string): never => {
  throw new Error(message)
}

/** Builds the image's file system in `folder`, starts its program as its user, and triggers the demo webhook. */
export const checkImage = async (folder: string): Promise<void> => {
  const image = build(folder)
  if (image.user !== "node") fail(`the program runs as ${image.user}`)
  const port = await freePort()
  const env = {
    PATH: process.env.PATH,
    ...image.env,
    PORT: String(port),
    DATA_DIR: join(image.root, image.env.DATA_DIR!)
  }
  const cwd = join(image.root, image.workdir)
  const [program, ...args] = [...image.entrypoint, ...image.command]
  const logs = join(folder, "server")
  mkdirSync(logs)
  const server = startDaemon(logs, program!, args, { env, cwd, ...node })
  const output = () => readFileSync(join(logs, "output.log"), "utf8")
  try {
    const [healthy, ...arguments_] = image.healthcheck
    await untilReady(logs, server, 60_000, async () =>
      execFileSync(healthy!, arguments_, { env, cwd, stdio: "ignore" })
    )
    const [, path, body] = await until(
      "the server prints how to trigger the demo",
      () => /'http:\/\/[^/']+(\/webhook\/trigger\/[^'?]+)\?wait=true'.* -d '([^']+)'/.exec(output()) ?? undefined
    )
    const answer = await fetch(`http://127.0.0.1:${port}${path}?wait=true`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: body!
    })
    const text = await answer.text()
    if (answer.status !== 200 || !text.includes('"status":"success"'))
      fail(`the demo answered ${answer.status} ${text}`)
    console.log(`the image answers: ${text}`)
  } finally {
    await server.stop()
  }
}
