import { useState } from "react"
import { Button } from "./Button.tsx"
import { Copy } from "./Copy.tsx"
import { plain } from "./Text.tsx"

const portion = 100_000

/** Text exactly as it came; what is copied is the original. */
export const Raw = ({
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
        <Copy text={text} what={what} />
      </div>
      <pre tabIndex={0} role="region" aria-label={what} dir="auto">
        {plain(text.slice(0, shown))}
      </pre>
      {text.length > shown && (
        <div className="code-bar">
          <span>{Math.round((text.length - shown) / 1000)} thousand characters more</span>
          <Button compact onPress={() => setShown(text.length)}>
            Show all
          </Button>
        </div>
      )}
    </div>
  )
}
