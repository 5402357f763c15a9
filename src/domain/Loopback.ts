/** Addresses that only their own machine reaches. */

/** Whether this host of a URL means the machine itself. */
export const isLoopback = (hostname: string): boolean => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/** Commands that give a server on this machine a public https address. */
export const tunnels = (url: string) => {
  const port = new URL(url).port || "80"
  return [
    { title: "Cloudflare", text: `cloudflared tunnel --url ${url}` },
    { title: "ngrok", text: `ngrok http ${port}` },
    { title: "Tailscale", text: `tailscale funnel ${port}` }
  ] as const
}
