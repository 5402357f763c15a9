import { isLoopback, tunnels } from "../../../domain/Loopback.ts"
import { Notice } from "../../components/Notice.tsx"
import { SnippetTabs } from "../../components/Snippets.tsx"

/** How a service on the internet reaches a server at an address of its own machine. Nothing for any other address. */
export const LocalAddress = ({ service, url }: { readonly service: string; readonly url: string }) => {
  const { hostname, origin } = new URL(url)
  if (!isLoopback(hostname)) return null
  const snippets = tunnels(origin).map((tunnel) => ({ id: tunnel.title, ...tunnel }))
  return (
    <Notice tone="warning">
      <div className="stack tight">
        <p>
          {service} does not reach <code>{origin}</code>, which is an address of this machine. Open a tunnel. Then start
          the server again with the tunnel's address in <code>PUBLIC_URL</code>.
        </p>
        <SnippetTabs snippets={snippets} label="Ways to open a tunnel" />
      </div>
    </Notice>
  )
}
