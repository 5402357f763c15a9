import { useState } from "react"
import { useLocation } from "wouter"
import { pathTo } from "../../../api/Pages.ts"
import { api } from "../../api/Client.ts"
import { queries, runAction } from "../../api/Queries.ts"
import type { Team } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { ConfirmDialog } from "../../components/ConfirmDialog.tsx"
import { toast } from "../../components/Toasts.tsx"

export const DeleteTeam = ({ team: { team } }: { readonly team: Team }) => {
  const [confirming, setConfirming] = useState(false)
  const [, navigate] = useLocation()
  const remove = async () => {
    await runAction(() => api.teams.delete({ path: { team } }))
    navigate(pathTo("teams"))
    await queries.invalidateQueries({ queryKey: ["teams"] })
    toast(`Team ${team} deleted`)
  }
  return (
    <>
      <Button needs="teams.delete" variant="danger" onPress={() => setConfirming(true)}>
        Delete team
      </Button>
      {confirming && (
        <ConfirmDialog
          title="Delete this team?"
          action="Delete"
          onClose={() => setConfirming(false)}
          onConfirm={remove}
        >
          <p>
            <strong>{team}</strong> and its chat messages will be deleted. This is possible only while no webhook uses
            the team and it has no unfinished work.
          </p>
        </ConfirmDialog>
      )}
    </>
  )
}
