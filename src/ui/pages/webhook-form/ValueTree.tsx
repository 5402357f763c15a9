import { useState } from "react"
import * as Json from "../../../domain/Json.ts"
import { showDirectionMarks } from "../../components/UserText.tsx"

type Path = ReadonlyArray<string>

interface TreeProps {
  readonly onPick: (path: Path) => void
  /** The placeholder for the value. */
  readonly nameAt: (path: Path) => string
}

type Container = Readonly<Record<string, unknown>> | ReadonlyArray<unknown>

const isContainer = (value: unknown): value is Container =>
  typeof value === "object" && value !== null && !Json.isNumber(value)

const mostMembers = 100
const longest = 80

const preview = (value: unknown): string => {
  const text = isContainer(value) ? (Array.isArray(value) ? "[…]" : "{…}") : Json.stringify(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

/** A JSON value as a tree. Each part can be picked. */
export const ValueTree = ({
  value,
  label,
  ...props
}: TreeProps & { readonly value: Container; readonly label: string }) => (
  <div className="tree mono" role="group" aria-label={label}>
    <Members value={value} path={[]} {...props} />
  </div>
)

const Members = ({ value, path, ...props }: TreeProps & { readonly value: Container; readonly path: Path }) => {
  const members = Object.entries(value)
  return (
    <ul>
      {members.slice(0, mostMembers).map(([key, member]) => (
        <li key={key}>
          <Member name={key} value={member} path={[...path, key]} {...props} />
        </li>
      ))}
      {members.length > mostMembers && <li className="muted">and {members.length - mostMembers} more</li>}
    </ul>
  )
}

const Member = ({
  name,
  value,
  path,
  ...props
}: TreeProps & { readonly name: string; readonly value: unknown; readonly path: Path }) => {
  const isOpenable = isContainer(value) && Object.keys(value).length > 0
  const [isOpen, setIsOpen] = useState(path.length < 2)
  return (
    <>
      <div className="tree-line">
        {isOpenable ? (
          <button
            type="button"
            className="tree-toggle"
            aria-expanded={isOpen}
            aria-label={`Members of ${showDirectionMarks(name)}`}
            onClick={() => setIsOpen(!isOpen)}
          >
            <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span>
          </button>
        ) : (
          <span className="tree-toggle" aria-hidden="true" />
        )}
        <button
          type="button"
          className="tree-value"
          title={`Insert ${showDirectionMarks(props.nameAt(path))}`}
          onClick={() => props.onPick(path)}
        >
          <bdi className="tree-key">{showDirectionMarks(name)}</bdi> {showDirectionMarks(preview(value))}
        </button>
      </div>
      {isOpenable && isOpen && <Members value={value} path={path} {...props} />}
    </>
  )
}
