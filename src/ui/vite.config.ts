import { readdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, gzipSync, constants as zlib } from "node:zlib"
import { HttpApi } from "effect/http-api"
import { defineConfig, type Plugin } from "vite"
import { Api } from "../api/Api.ts"

const outDir = fileURLToPath(new URL("../../dist/ui", import.meta.url))

/** The API's routes: `{ group: { endpoint: [method, path] } }`. */
const routeTable = (): string => {
  const table: Record<string, Record<string, [method: string, path: string]>> = {}
  HttpApi.reflect(Api, {
    onGroup: ({ group }) => {
      table[group.identifier] = {}
    },
    onEndpoint: ({ group, endpoint }) => {
      table[group.identifier]![endpoint.identifier] = [endpoint.method, endpoint.path]
    }
  })
  return `export default ${JSON.stringify(table)}`
}

/** Gives the client the routes without the API's definition, which is 155 KB of compressed JavaScript. */
const routes: Plugin = {
  name: "api-routes",
  resolveId: (id) => (id === "virtual:api-routes" ? "\0api-routes" : undefined),
  load: (id) => (id === "\0api-routes" ? routeTable() : undefined)
}

/** Compresses the files at build time, but not the document, which the server completes. */
const compress: Plugin = {
  name: "compress",
  apply: "build",
  writeBundle: async (options) => {
    const files = await readdir(options.dir!, { recursive: true })
    for (const file of files.filter((name) => /\.(js|css|svg)$/.test(name))) {
      const content = await readFile(join(options.dir!, file))
      await writeFile(
        join(options.dir!, `${file}.br`),
        brotliCompressSync(content, { params: { [zlib.BROTLI_PARAM_QUALITY]: zlib.BROTLI_MAX_QUALITY } })
      )
      await writeFile(join(options.dir!, `${file}.gz`), gzipSync(content, { level: 9 }))
    }
  }
}

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // A host serves the UI at the path of its choice.
  base: "./",
  plugins: [routes, compress],
  build: {
    outDir,
    emptyOutDir: true,
    target: "es2022",
    // `img-src 'self'` does not allow data URLs.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    manifest: true,
    // Compressing takes most of the time of a build.
    rolldownOptions: { checks: { bundlerTimings: false } }
  },
  server: { proxy: { "/api": process.env.API ?? "http://localhost:8080" } }
})
