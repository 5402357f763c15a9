import { type ReactNode, useState } from "react"
import { queries, runAction } from "../api/Queries.ts"
import { RelativeTime } from "../format/Time.tsx"
import { releaseNavigation, useNavigationGuard } from "../frame/NavigationGuard.ts"
import { Button } from "./Button.tsx"
import { ConfirmDialog } from "./ConfirmDialog.tsx"
import { CopyButton } from "./CopyButton.tsx"
import { Loaded } from "./Loaded.tsx"
import { Notice } from "./Notice.tsx"
import { toast } from "./Toasts.tsx"
import { UserText } from "./UserText.tsx"

interface NewKey {
  readonly name: string
  readonly secret: string
}

export interface NewKeyProps {
  readonly onClose: () => void
  readonly onCreated: (created: NewKey) => void
}

/** Keys, to create and revoke. New ones are shown until the user has saved them. */
export const KeyList = <Key extends { readonly id: string; readonly name: string; readonly hint: string }>({
  what,
  query,
  queryKey,
  dialog,
  entry,
  list,
  revoke,
  revoked,
  children
}: {
  readonly what: "API key" | "leader key"
  readonly query: Parameters<typeof Loaded<ReadonlyArray<Key>>>[0]["query"]
  readonly queryKey: ReadonlyArray<string>
  /** The dialog for a new key. */
  readonly dialog: (props: NewKeyProps) => ReactNode
  /** A line of the list, with the button that revokes the key. */
  readonly entry: (key: Key, button: ReactNode) => ReactNode
  readonly list: { readonly className: string; readonly empty: ReactNode }
  readonly revoke: (id: string) => Promise<unknown>
  /** The consequences when this key is revoked. */
  readonly revoked: (name: ReactNode) => ReactNode
  /** The page around the list, with the button for a new key. */
  readonly children: (onNew: () => void, keys: ReactNode) => ReactNode
}) => {
  const [creating, setCreating] = useState(false)
  const [shown, setShown] = useState<ReadonlyArray<NewKey>>([])
  const [revoking, setRevoking] = useState<Key>()
  const leaving = useNavigationGuard(shown.length > 0)
  const refresh = () => queries.invalidateQueries({ queryKey })
  const title = what.replace(/^l/, "L")
  const hide = async (key: NewKey) => {
    const others = shown.filter((each) => each !== key)
    if (others.length === 0) await releaseNavigation()
    setShown(others)
  }
  const confirm = async ({ id, name }: Key) => {
    await runAction(() => revoke(id))
    setRevoking(undefined)
    await refresh()
    toast(`${title} ${name} revoked`)
  }
  return (
    <>
      {children(
        () => setCreating(true),
        <>
          {shown.map((key) => (
            <ShownKey key={key.secret} {...key} what={what} onClose={() => void hide(key)} />
          ))}
          <Loaded query={query}>
            {(data) =>
              data.length === 0 ? (
                list.empty
              ) : (
                <ul className={list.className} aria-label={`${title}s, oldest first`}>
                  {data.map((key) => entry(key, <RevokeButton {...key} onPress={() => setRevoking(key)} />))}
                </ul>
              )
            }
          </Loaded>
        </>
      )}
      {creating &&
        dialog({
          onClose: () => setCreating(false),
          onCreated: async (created) => {
            setShown([...shown, created])
            setCreating(false)
            await refresh()
          }
        })}
      {revoking !== undefined && (
        <ConfirmDialog
          title={`Revoke this ${what}?`}
          action="Revoke"
          onConfirm={() => confirm(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          <p>
            {revoked(
              <strong>
                <UserText>{revoking.name}</UserText>
              </strong>
            )}
          </p>
        </ConfirmDialog>
      )}
      {leaving && (
        <ConfirmDialog
          title="Have you saved the key?"
          action="Yes, leave"
          cancel="Stay"
          harmless
          onClose={leaving.cancel}
          onConfirm={leaving.confirm}
        >
          <p>It cannot be shown again, because only its hash is stored. If you lose it, create another one.</p>
        </ConfirmDialog>
      )}
    </>
  )
}

const RevokeButton = ({
  hint,
  name,
  onPress
}: {
  readonly hint: string
  readonly name: string
  readonly onPress: () => void
}) => (
  <Button compact variant="danger" label={`Revoke ${name}, which ends in ${hint}`} onPress={onPress}>
    Revoke
  </Button>
)

/** When a key was last used, as part of a sentence. */
export const LastUse = ({ at }: { readonly at: string | undefined }) =>
  at === undefined ? (
    "never used"
  ) : (
    <>
      last used <RelativeTime at={at} />
    </>
  )

/** A new key, once. */
const ShownKey = ({
  name,
  secret,
  what,
  onClose
}: NewKey & { readonly what: string; readonly onClose: () => void }) => (
  <Notice tone="warning">
    <div className="stack tight">
      <p role="alert">
        <strong>Copy it now.</strong> The key <UserText>{name}</UserText> is shown only once; the server stores only its
        hash.
      </p>
      <code className="secret mono">{secret}</code>
      <div className="row">
        <CopyButton text={secret} what={`the ${what}`} />
        <Button compact onPress={onClose}>
          Done
        </Button>
      </div>
    </div>
  </Notice>
)
