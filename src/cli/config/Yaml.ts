/** A module of its own, which is loaded when it is needed: other commands start faster. */
export { Document, LineCounter, parseAllDocuments, visit } from "yaml"
