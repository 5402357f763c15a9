import { gitlab as dialect } from "../markdown/Dialects.ts"
import type { CommentService } from "./StickyComment.ts"

const form = /^([\w-][\w./-]{0,400})([!#])(\d{1,10})$/

const notesOf = (url: string, target: string): string | undefined => {
  const [, project, mark, number] = form.exec(target) ?? []
  if (project === undefined) return undefined
  const what = mark === "!" ? "merge_requests" : "issues"
  return `${url.replace(/\/+$/, "")}/projects/${encodeURIComponent(project)}/${what}/${number}/notes`
}

/** Notes of merge requests and issues (https://docs.gitlab.com/api/notes/). */
export const gitlab: CommentService = {
  dialect,
  maxLength: 65_536,
  headers: (token) => ({ "private-token": token }),
  comments: notesOf,
  order: "sort=asc&order_by=created_at&",
  place: (url, target) => {
    const [, project = ""] = form.exec(target) ?? []
    return `${url.replace(/\/+$/, "")}/projects/${encodeURIComponent(project)}`
  },
  comment: (url, target, id) => `${notesOf(url, target)}/${id}`,
  update: "PUT",
  form: "project!number for a merge request, or project#number for an issue"
}
