/** A service that has comments of issues, as GitHub and GitLab do. */
import type { Answer } from "./Receiver.ts"

export const comments = () => {
  const all: Array<{ id: number; body: string }> = []
  const answerTo: Answer = (response, { body, method, path }) => {
    const send = (status: number, json: unknown) => response.writeHead(status).end(JSON.stringify(json))
    const page = Number(new URL(path, "http://x").searchParams.get("page"))
    const known = all.find(({ id }) => path.endsWith(`/${id}`))
    if (method === "GET" && page > 0) return send(200, all.slice((page - 1) * 50, page * 50))
    if (method === "GET") return known === undefined ? send(404, {}) : send(200, known)
    const text = JSON.parse(body).body as string
    if (method !== "POST") return known === undefined ? send(404, {}) : send(200, Object.assign(known, { body: text }))
    const created = { id: Math.max(0, ...all.map(({ id }) => id)) + 1, body: text }
    all.push(created)
    send(201, created)
  }
  return { all, answerTo }
}
