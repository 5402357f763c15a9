import type { Thread } from "../../api/Types.ts"
import { showDirectionMarks } from "../UserText.tsx"

/** A thread's name for people: its key. A thread that began with the reply to a run has the run's id as its key. */
export const threadName = ({ id, key }: Pick<Thread, "id" | "key">): string =>
  key === id ? "Replies to a run" : showDirectionMarks(key)
