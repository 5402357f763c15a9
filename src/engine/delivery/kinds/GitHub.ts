import { gfm } from "../../markdown/Dialects.ts"
import type { CommentService } from "./StickyComment.ts"

const form = /^([\w-][\w.-]{0,99})\/(?!\.\.?#)([\w.-]{1,100})#(\d{1,10})(?:\/[\w.-]{1,64})?$/

const base = (url: string): string => url.replace(/\/+$/, "")

const issueOf = (url: string, target: string): string | undefined => {
  const [, owner, repository, number] = form.exec(target) ?? []
  return number === undefined ? undefined : `${base(url)}/repos/${owner}/${repository}/issues/${number}`
}

/**
 * Comments of issues and pull requests (https://docs.github.com/rest/issues/comments), and reactions to them
 * (https://docs.github.com/rest/reactions/reactions).
 */
export const github: CommentService = {
  name: "github",
  dialect: gfm,
  headers: (token) => ({
    accept: "application/vnd.github+json",
    authorization: `Bearer ${token}`,
    "x-github-api-version": "2022-11-28"
  }),
  comments: (url, target) => {
    const issue = issueOf(url, target)
    return issue && `${issue}/comments`
  },
  place: (url, target) => {
    const [, owner, repository] = form.exec(target) ?? []
    return `${base(url)}/repos/${owner}/${repository}`
  },
  comment: (url, target, id) => {
    const [, owner, repository] = form.exec(target) ?? []
    return `${base(url)}/repos/${owner}/${repository}/issues/comments/${id}`
  },
  update: "PATCH",
  reaction: { url: (url, target) => `${issueOf(url, target)}/reactions`, body: { content: "eyes" } },
  form: "owner/repository#number"
}
