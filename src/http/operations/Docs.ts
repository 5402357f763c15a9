/**
 * The contract for people: a page made from the OpenAPI document. Written by hand: `HttpApiScalar` and `HttpApiSwagger`
 * need scripts, and this page must work without scripts and without other servers. Its own script only adds the search.
 */
import { Effect, Option } from "effect"
import { HttpServerResponse } from "effect/http"
import type { OpenApi } from "effect/http-api"
import { titles } from "../../api/ProblemTitles.ts"
import { ifApiDocs } from "../access/OperationsAccess.ts"
import { below, UiPath } from "../request/UiPath.ts"
import { Html, html, prose } from "./Html.ts"
import { makeDocument, operationsIn } from "./OpenApi.ts"
import { hashOf, pageStyle } from "./PageStyle.ts"
import * as ReadOnlyRoute from "./ReadOnlyRoute.ts"

/** The part of a JSON Schema that the page shows. */
interface Shape {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly anyOf?: ReadonlyArray<Shape>
  readonly items?: Shape
  readonly properties?: { readonly [name: string]: Shape }
  readonly required?: ReadonlyArray<string>
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly description?: string
}

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1)

const range = (min: number | undefined, max: number | undefined, unit: string): string =>
  max === undefined ? (min === undefined ? "" : `, at least ${min}${unit}`) : `, ${min ?? 0} to ${max}${unit}`

const typeOf = (shape: Shape): Html => {
  const limits = range(shape.minimum, shape.maximum, "") + range(shape.minLength, shape.maxLength, " characters")
  if (shape.$ref === "#/components/schemas/Int") return html`integer${limits}`
  if (shape.$ref !== undefined) return html`<a href="#schema-${nameOf(shape.$ref)}">${nameOf(shape.$ref)}</a>`
  if (shape.enum !== undefined) return prose(shape.enum.map((value) => `\`${value}\``).join(" or "))
  if (shape.anyOf !== undefined) {
    return html`${shape.anyOf.map((one, i) => html`${i === 0 ? "" : " or "}${typeOf(one)}`)}`
  }
  if (shape.items !== undefined) return html`list of ${typeOf(shape.items)}`
  if (shape.properties !== undefined && Object.keys(shape.properties).length > 0) return fields(shape)
  return html`${shape.format ?? shape.type ?? "any"}${limits}`
}

const fields = ({ properties = {}, required = [] }: Shape): Html =>
  html`<dl>${Object.entries(properties).map(
    ([name, shape]) =>
      html`<dt><code>${name}</code>${required.includes(name) ? "" : " (optional)"}</dt><dd>${typeOf(shape)}${
        shape.description === undefined ? "" : html`<br>${prose(shape.description)}`
      }</dd>`
  )}</dl>`

const schemaIn = (content: object | undefined): Shape | undefined => Object.values(content ?? {})[0]?.schema

const parameter = ({ name, in: where, required, schema, description = "" }: OpenApi.OpenAPISpecParameter): Html =>
  html`<dt><code>${name}</code> (${where}${required ? "" : ", optional"})</dt><dd>${typeOf(
    schema as Shape
  )}<br>${prose(description)}</dd>`

const response = ([status, { description, content }]: [string, OpenApi.OpenApiSpecResponse]): Html => {
  const shape = schemaIn(content)
  return html`<tr><td><code>${status}</code></td><td>${prose(description)}</td><td>${shape === undefined ? "" : typeOf(shape)}</td></tr>`
}

const operation = (method: string, path: string, it: OpenApi.OpenAPISpecOperation): Html => {
  const body = schemaIn(it.requestBody?.content)
  return html`<section id="${it.operationId}">
<h3>${it.summary ?? it.operationId}</h3>
<p class="address"><code><b>${method.toUpperCase()}</b> ${path}</code></p>
<p>${prose(it.description ?? "")}</p>
${it.parameters.length === 0 ? "" : html`<h4>Parameters</h4><dl>${it.parameters.map(parameter)}</dl>`}
${body === undefined ? "" : html`<h4>Body</h4>${typeOf(body)}`}
<h4>Responses</h4><table>${Object.entries(it.responses).map(response)}</table>
</section>`
}

const style = `${pageStyle}
.address code { display: inline-block; padding: .5em .8em }
dl { margin: .3em 0 .3em .2em; padding-left: 1em; border-left: 2px solid var(--line) } dd { margin: 0 0 .6em 1em }
html { scroll-padding-top: 5rem } nav > ul { columns: 20rem; padding: 0; list-style: none } nav ul ul { padding-left: 1.2em }
nav > ul > li { margin-bottom: .8em } nav > ul > li > a { font-weight: 600 } nav li li { break-inside: avoid }
[role=search] { position: sticky; top: 0; padding: .8em 0; background: Canvas } input { font: inherit; width: min(24rem, 60%); padding: .3em .6em }
[hidden] { display: none !important }
`

/**
 * Shows only the operations, errors and schemas with all words in their title, description or fields. A link to a hidden one ends
 * the search.
 */
const script = `
const box = document.querySelector("[role=search]"), input = box.querySelector("input"), output = box.querySelector("output")
const textOf = (entry) => [...entry.querySelectorAll("h3, p, dt, div > dd")].map((part) => part.textContent.toLowerCase()).join(" ")
const entries = [...document.querySelectorAll("main section section, #problems dl > div")].map((entry) => [entry, textOf(entry)])
const find = () => {
  const words = input.value.toLowerCase().split(/\\s+/)
  for (const [entry, text] of entries) entry.hidden = !words.every((word) => text.includes(word))
  for (const group of document.querySelectorAll("main > section")) {
    group.hidden = !group.querySelector(":scope > section:not([hidden]), dl > div:not([hidden])")
  }
  for (const link of document.querySelectorAll("nav a")) link.parentElement.hidden = document.getElementById(link.hash.slice(1)).hidden
  output.textContent = input.value.trim() === "" ? "" : entries.filter(([entry]) => !entry.hidden).length + " found"
}
box.hidden = false
input.addEventListener("input", find)
addEventListener("hashchange", () => {
  const target = document.getElementById(location.hash.slice(1))
  if (target === null || target.closest("[hidden]") === null) return
  input.value = ""
  find()
  target.scrollIntoView()
})
find()
`

const pageOf = (document: OpenApi.OpenAPISpec, home: string | undefined): Html => {
  const operations = operationsIn(document).map(({ method, operation: it, path }) => ({
    tag: it.tags[0],
    part: operation(method, path, it),
    it
  }))
  const groups = document.tags.map((tag) => ({
    ...tag,
    id: `group-${tag.name.toLowerCase().replaceAll(/\W+/g, "-")}`,
    operations: operations.filter((each) => each.tag === tag.name)
  }))
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}: HTTP API</title>
<style>${new Html(style)}</style></head><body>
<header>${home === undefined ? "" : html`<p><a href="${home}">← Web UI</a></p>`}
<h1>${document.info.title}: HTTP API</h1>
<p>${document.info.description ?? ""} For machines: <a href="openapi.json">openapi.json</a>.</p>
<p>Callers need only a trigger URL. The <code>/api</code> operations require
<code>Authorization: Bearer &lt;admin key&gt;</code>. Bodies are JSON in UTF-8; times are RFC 3339 in UTC.</p></header>
<div role="search" hidden><label>Search: <input type="search"></label> <output></output></div>
<nav aria-label="Contents"><ul>${groups.map(
    ({ id, name, operations }) =>
      html`<li><a href="#${id}">${name}</a><ul>${operations.map(({ it }) => html`<li><a href="#${it.operationId}">${it.summary ?? it.operationId}</a></li>`)}</ul></li>`
  )}
<li><a href="#problems">Errors</a></li><li><a href="#schemas">Schemas</a></li></ul></nav>
<main>${groups.map(
    ({ id, name, description = "", operations }) =>
      html`<section id="${id}"><h2>${name}</h2><p>${prose(description)}</p>${operations.map(({ part }) => part)}</section>`
  )}
<section id="problems"><h2>Errors</h2>
<p>Every error is <code>application/problem+json</code> (RFC 9457). Its <code>code</code> is one of these.</p>
<dl>${Object.entries(titles).map(([code, title]) => html`<div id="${code}"><dt><code>${code}</code></dt><dd>${prose(title)}.</dd></div>`)}</dl></section>
<section id="schemas"><h2>Schemas</h2>
${Object.entries(document.components.schemas).map(([name, shape]) =>
  name === "Int"
    ? html``
    : html`<section id="schema-${name}"><h3>${name}</h3><p>${prose((shape as Shape).description ?? "")}</p>${typeOf(shape as Shape)}</section>`
)}</section></main>
<script>${new Html(script)}</script>
</body></html>
`
}

/** Allows only the page's own style and script, by their hashes. */
const policy = `default-src 'none'; style-src ${hashOf(style)}; script-src ${hashOf(script)}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** Created by the first request for it, like the document. */
const make = Effect.flatMap(UiPath, (path) =>
  Effect.cached(
    Effect.sync(() => {
      const home = Option.map(path, (path) => `.${below(path, "/")}`)
      return HttpServerResponse.text(pageOf(makeDocument(), Option.getOrUndefined(home)).text, {
        contentType: "text/html; charset=utf-8",
        headers: { "content-security-policy": policy }
      })
    })
  )
)

export const layer = ifApiDocs(ReadOnlyRoute.layer("/docs", make))
