/** A template in the editor. Only the server's renderer can parse it. */

import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useRef } from "react"
import type { SettingValues } from "../../../domain/webhook/WebhookSettings.ts"
import { api } from "../../api/Client.ts"
import type { DraftPreview } from "../../api/Types.ts"
import { requestInputs, type VariableInput, valuesOf } from "../../components/form/VariableInput.ts"

/** The fields that determine a webhook's prompts. */
type Draft = Pick<Partial<SettingValues>, "template_language" | "input" | "fence" | "coalesce"> & {
  readonly prompt_template: string
}

export type Place = NonNullable<DraftPreview["places"]>[number]

export interface EditedTemplate {
  readonly names: ReadonlyArray<string>
  readonly broken?: NonNullable<DraftPreview["fault"]>
  /** The variables' positions in the current text. */
  readonly places: ReadonlyArray<Place>
  /** The reason if there is no prompt. */
  readonly refused?: string
  readonly prompt?: NonNullable<DraftPreview["prompt"]>
}

/** The preview is requested after this pause in typing, in milliseconds. */
const pause = 150

const paused = (signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, pause)
    signal.addEventListener("abort", () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })

/** Moves places from the text `before` to an edited `text`. Places in the edited part are dropped. */
const placesIn = (text: string, places: ReadonlyArray<Place>, before: string): ReadonlyArray<Place> => {
  if (text === before) return places
  const shorter = Math.min(text.length, before.length)
  let begin = 0
  while (begin < shorter && text[begin] === before[begin]) begin++
  let end = 0
  while (end < shorter - begin && text[text.length - 1 - end] === before[before.length - 1 - end]) end++
  const shift = text.length - before.length
  return places.flatMap((place) => {
    if (place.end <= begin) return place
    return place.start >= before.length - end ? { ...place, start: place.start + shift, end: place.end + shift } : []
  })
}

const nothing: EditedTemplate = { names: [], places: [] }

/** The server's latest response. There is no prompt while a sample value is invalid JSON. */
export const useTemplate = (draft: Draft, samples: ReadonlyArray<VariableInput>): EditedTemplate => {
  const takesPayload = draft.input === "payload"
  const values = valuesOf(takesPayload ? requestInputs(samples) : samples)
  const payload = { ...draft, ...(takesPayload ? { payload: {}, ...values } : { variables: values ?? {} }) }
  const { data, error } = useQuery({
    queryKey: ["template", JSON.stringify(payload)],
    queryFn: async ({ signal }) => {
      await paused(signal)
      return { ...(await api.overview.previewDraft({ payload, signal })), text: draft.prompt_template }
    },
    enabled: draft.prompt_template !== "",
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 0
  })
  const last = useRef(data)
  if (data !== undefined) last.current = data
  if (draft.prompt_template === "" || last.current === undefined)
    return error ? { ...nothing, refused: error.message } : nothing
  const { fault, places = [], prompt, refused = error?.message, text, variables } = last.current
  return {
    names: variables,
    places: placesIn(draft.prompt_template, places, text),
    ...(fault && text === draft.prompt_template && { broken: fault }),
    ...(values && !error && prompt && { prompt }),
    ...(refused !== undefined && { refused })
  }
}
