import { Button } from "./Button.tsx"
import { CopyButton } from "./CopyButton.tsx"
import { Notice } from "./Notice.tsx"
import { UserText } from "./UserText.tsx"

/** A new key, once. */
export const ShownKey = ({
  name,
  secret,
  what,
  onClose
}: {
  readonly name: string
  readonly secret: string
  /** As in "Copy the leader key". */
  readonly what: string
  readonly onClose: () => void
}) => (
  <Notice tone="warning">
    <div className="stack tight">
      <p role="alert">
        <strong>Copy it now.</strong> The key <UserText>{name}</UserText> is shown only once; the server stores only its
        hash.
      </p>
      <code className="secret mono">{secret}</code>
      <div className="row">
        <CopyButton text={secret} what={what} />
        <Button compact onPress={onClose}>
          Done
        </Button>
      </div>
    </div>
  </Notice>
)
