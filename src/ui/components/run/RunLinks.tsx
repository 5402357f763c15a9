import type { Run } from "../../api/Types.ts"
import { UserText } from "../UserText.tsx"

/** The results of the agent's work, such as a pull request. */
export const RunLinks = ({ run: { links = [] } }: { readonly run: Run }) =>
  links.length === 0 ? null : (
    <ul>
      {links.map(({ title, url }) => (
        <li key={url}>
          <a href={url} target="_blank" rel="noopener noreferrer">
            <UserText>{title}</UserText>
          </a>
        </li>
      ))}
    </ul>
  )
