import { useState } from "react"
import { Button } from "./Button.tsx"
import { CopyButton } from "./CopyButton.tsx"
import { showDirectionMarks } from "./UserText.tsx"

/** How many characters are shown at first. */
const portion = 100_000

/** Text exactly as received. The copy button copies the original. */
export const RawText = ({
  text,
  title,
  what
}: {
  readonly text: string
  readonly title: string
  readonly what: string
}) => {
  const [shown, setShown] = useState(portion)
  return (
    <div className="code wrap">
      <div className="code-bar">
        <span>{title}</span>
        <CopyButton text={text} what={what} />
      </div>
      <pre tabIndex={0} role="region" aria-label={what} dir="auto">
        {showDirectionMarks(text.slice(0, shown))}
      </pre>
      {text.length > shown && (
        <div className="code-bar">
          <span>{Math.round((text.length - shown) / 1000)} thousand more characters</span>
          <Button compact onPress={() => setShown(text.length)}>
            Show all
          </Button>
        </div>
      )}
    </div>
  )
}
