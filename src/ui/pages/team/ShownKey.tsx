import type { LeaderKeyWithSecret } from "../../api/Types.ts"
import { Button } from "../../components/Button.tsx"
import { CopyButton } from "../../components/CopyButton.tsx"
import { Notice } from "../../components/Notice.tsx"
import { UserText } from "../../components/UserText.tsx"

/** A new leader key, once. */
export const ShownKey = ({
  created: { key, leader_key },
  onClose
}: {
  readonly created: LeaderKeyWithSecret
  readonly onClose: () => void
}) => (
  <Notice tone="warning">
    <div className="stack tight">
      <p role="alert">
        <strong>Copy it now.</strong> The key <UserText>{leader_key.name}</UserText> is shown only once; the server
        stores only its hash.
      </p>
      <code className="secret mono">{key}</code>
      <div className="row">
        <CopyButton text={key} what="the leader key" />
        <Button compact onPress={onClose}>
          Done
        </Button>
      </div>
    </div>
  </Notice>
)
