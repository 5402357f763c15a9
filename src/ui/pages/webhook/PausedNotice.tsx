import { useMutation } from "@tanstack/react-query"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { Notice } from "../../components/Notice.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { showDirectionMarks } from "../../components/UserText.tsx"
import { ExactTime } from "../../format/Time.tsx"

/** Says that the webhook was paused automatically, and resumes it. */
export const PausedNotice = ({ webhook: { id, name, paused_at, paused_reason } }: { readonly webhook: Webhook }) => {
  const { isPending, mutate } = useMutation({
    mutationFn: () => runAction(() => api.webhooks.resume({ path: { id } })),
    onSuccess: async () => {
      await Promise.all(
        [["webhooks"], ["webhook", id], ["alerts"]].map((queryKey) => queries.invalidateQueries({ queryKey }))
      )
      toast(`${showDirectionMarks(name)} resumed`)
    },
    onError: (error) => toastFailure(explain(error).title)
  })
  if (paused_at === undefined) return null
  return (
    <Notice tone="warning">
      <div className="row between">
        <span>
          Paused since <ExactTime at={paused_at} />: {paused_reason}. Requests are rejected (409). A successful replay
          or test also resumes it.
        </span>
        <Button needs="webhooks.resume" compact icon="play" pending={isPending} onPress={() => mutate()}>
          Resume
        </Button>
      </div>
    </Notice>
  )
}
