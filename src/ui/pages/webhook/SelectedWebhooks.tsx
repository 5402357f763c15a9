import { useState } from "react"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Webhook } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { SelectField } from "../../components/form/SelectField.tsx"
import { SelectionBar } from "../../components/Selection.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"
import { plural } from "../../format/Format.ts"

/** An action on several webhooks. */
interface Action {
  readonly act: (webhook: Webhook) => Promise<unknown>
  /** As in "3 webhooks deleted". */
  readonly done: string
}

const edit = (payload: Parameters<typeof api.webhooks.edit>[0]["payload"], done: string): Action => ({
  act: ({ id }) => api.webhooks.edit({ path: { id }, headers: {}, payload }),
  done
})

const deletion: Action = {
  act: ({ id }) => api.webhooks.delete({ path: { id }, headers: {} }),
  done: "deleted"
}

/** The selected webhooks, and what can be done with all of them. */
export const SelectedWebhooks = ({
  page,
  selected,
  teams,
  onSelect
}: {
  /** The webhooks on the screen. */
  readonly page: ReadonlyArray<Webhook>
  readonly selected: ReadonlyArray<Webhook>
  readonly teams: ReadonlyArray<string>
  readonly onSelect: (ids: ReadonlyArray<string>) => void
}) => {
  const [asked, setAsked] = useState<"move" | "delete">()
  const [team, setTeam] = useState(teams[0] ?? "")
  const [pending, setPending] = useState(false)

  /** One after the other. What is left after a failure stays selected. */
  const perform = async (webhooks: ReadonlyArray<Webhook>, { act, done }: Action) => {
    setPending(true)
    let count = 0
    try {
      for (const webhook of webhooks) {
        await runAction(() => act(webhook))
        count++
      }
    } catch (error) {
      toastFailure(`${count} of ${plural(webhooks.length, "webhook")} ${done}. ${explain(error).title}`)
    }
    const isDone = new Set(webhooks.slice(0, count))
    onSelect(selected.filter((webhook) => !isDone.has(webhook)).map(({ id }) => id))
    setAsked(undefined)
    setPending(false)
    await queries.invalidateQueries({ queryKey: ["webhooks"] })
    if (count === webhooks.length) toast(`${plural(count, "webhook")} ${done}`)
  }

  const [on, off] = [selected.filter(({ enabled }) => enabled), selected.filter(({ enabled }) => !enabled)]
  const toMove = selected.filter((webhook) => webhook.team !== team)
  // A webhook whose URL others share is deleted after them.
  const toDelete = selected.toSorted((a, b) => Number(a.shares === undefined) - Number(b.shares === undefined))
  const many = plural(selected.length, "webhook")
  return (
    <SelectionBar label="Selected webhooks" count={selected.length} page={page.map(({ id }) => id)} onSelect={onSelect}>
      {off.length > 0 && (
        <Button compact pending={pending} onPress={() => void perform(off, edit({ enabled: true }, "switched on"))}>
          Switch {off.length} on
        </Button>
      )}
      {on.length > 0 && (
        <Button compact pending={pending} onPress={() => void perform(on, edit({ enabled: false }, "switched off"))}>
          Switch {on.length} off
        </Button>
      )}
      {selected.length > 0 && teams.length > 1 && (
        <Button compact pending={pending} onPress={() => setAsked("move")}>
          Move {selected.length}
        </Button>
      )}
      {selected.length > 0 && (
        <Button needs="webhooks.delete" compact variant="danger" pending={pending} onPress={() => setAsked("delete")}>
          Delete {selected.length}
        </Button>
      )}
      {asked === "move" && (
        <ConfirmDialog
          title={`Move ${many} to another team?`}
          action="Move"
          harmless
          onConfirm={() => perform(toMove, edit({ team }, `moved to ${team}`))}
          onClose={() => setAsked(undefined)}
        >
          <p>New runs go to that team. Queued runs and the history stay with the team that has them.</p>
          <SelectField label="Team" value={team} onChange={setTeam} options={teams.map((name) => [name, name])} />
        </ConfirmDialog>
      )}
      {asked === "delete" && (
        <ConfirmDialog
          title={`Delete ${many}?`}
          action="Delete permanently"
          requiredText={`delete ${selected.length}`}
          onConfirm={() => perform(toDelete, deletion)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            They and their entire run history will be deleted. This cannot be undone. Unfinished runs are dropped, and
            callers get 404.
          </p>
        </ConfirmDialog>
      )}
    </SelectionBar>
  )
}
