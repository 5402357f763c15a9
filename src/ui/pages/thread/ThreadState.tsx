import type { Thread } from "../../api/Types.ts"
import { Icon } from "../../components/Icon.tsx"

export const ThreadState = ({ thread: { ended_at } }: { readonly thread: Thread }) =>
  ended_at === undefined ? (
    <span className="badge success">
      <Icon name="check" />
      Open
    </span>
  ) : (
    <span className="badge neutral">
      <Icon name="cross" />
      Ended
    </span>
  )
