import { useState } from "react"
import { api } from "../../api/Client.ts"
import { explain } from "../../api/Errors.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Team } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { toast, toastFailure } from "../../components/Toasts.tsx"

/** Pauses or resumes the team. */
export const PauseTeam = ({ team: { paused_at, team } }: { readonly team: Team }) => {
  const [pending, setPending] = useState(false)
  const isPaused = paused_at !== undefined
  const change = async () => {
    setPending(true)
    try {
      await runAction(() => (isPaused ? api.teams.resume : api.teams.pause)({ path: { team } }))
      await queries.invalidateQueries({ queryKey: ["teams"] })
      toast(isPaused ? `Team ${team} resumed` : `Team ${team} paused`)
    } catch (error) {
      toastFailure(explain(error).title)
    } finally {
      setPending(false)
    }
  }
  return (
    <Button
      needs="teams.pause"
      compact
      icon={isPaused ? "play" : "pause"}
      pending={pending}
      onPress={() => void change()}
    >
      {isPaused ? "Resume" : "Pause"}
    </Button>
  )
}
