/** Earlier templates of a webhook: shows one, and restores it as an edit. */
import { Effect } from "effect"
import { NotFound } from "../../domain/Errors.ts"
import type { WebhookId } from "../../domain/Id.ts"
import { templateOf } from "../../domain/prompt/TemplateChanges.ts"
import { WebhookStore } from "../../repo/manage/WebhookStore.ts"

export const make = Effect.gen(function* () {
  const store = yield* WebhookStore

  const version = (id: WebhookId, version: string) =>
    Effect.flatMap(versionOf(version), (version) => store.template(id, version))

  const restore = <A, E>(id: WebhookId, of: string, edit: (change: object) => Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      const { prompt_template, ...others } = yield* version(id, of)
      const now = templateOf(yield* store.webhook(id))
      // Fields that equal their default need not be set.
      const { template_language = now.template_language, input = now.input } = others
      return yield* edit({
        prompt_template,
        ...(template_language !== now.template_language && { template_language }),
        ...(input !== now.input && { input })
      })
    })

  return { version, restore }
})

const versionOf = (text: string): Effect.Effect<number, NotFound> =>
  /^\d{1,9}$/.test(text) ? Effect.succeed(Number(text)) : Effect.fail(new NotFound())
