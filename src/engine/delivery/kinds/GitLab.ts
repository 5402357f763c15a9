import { gitlab as dialect } from "../../markdown/Dialects.ts"
import type { CommentService } from "./StickyComment.ts"

const form = /^([\w-][\w./-]{0,400})([!#])(\d{1,10})(?:\/[\w.-]{1,64})?$/

const subjectOf = (url: string, target: string): string | undefined => {
  const [, project, mark, number] = form.exec(target) ?? []
  if (project === undefined) return undefined
  const what = mark === "!" ? "merge_requests" : "issues"
  return `${url.replace(/\/+$/, "")}/projects/${encodeURIComponent(project)}/${what}/${number}`
}

const notesOf = (url: string, target: string): string | undefined => {
  const subject = subjectOf(url, target)
  return subject && `${subject}/notes`
}

/**
 * Notes of merge requests and issues (https://docs.gitlab.com/api/notes/), and reactions to them
 * (https://docs.gitlab.com/api/emoji_reactions/).
 */
export const gitlab: CommentService = {
  name: "gitlab",
  dialect,
  headers: (token) => ({ "private-token": token }),
  comments: notesOf,
  order: "sort=asc&order_by=created_at&",
  place: (url, target) => {
    const [, project = ""] = form.exec(target) ?? []
    return `${url.replace(/\/+$/, "")}/projects/${encodeURIComponent(project)}`
  },
  comment: (url, target, id) => `${notesOf(url, target)}/${id}`,
  update: "PUT",
  reportsAuthors: true,
  reaction: {
    url: (url, target) => `${subjectOf(url, target)}/award_emoji`,
    body: { name: "eyes" },
    isRepeated: ({ answer, http_status }) => http_status === 404 && answer.includes("has already been taken")
  },
  form: "project!number for a merge request, or project#number for an issue"
}
