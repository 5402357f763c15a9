/** Generated at build time from the API's definition; see `vite.config.ts`. */
declare module "virtual:api-routes" {
  const routes: Record<string, Record<string, [method: string, path: string]>>
  export default routes
}

declare module "*.css"
