/** The HTTP contract as code: what a client or a user interface needs, and nothing that only a server needs. */
export { Api } from "./Api.ts"
export * as Client from "./Client.ts"
