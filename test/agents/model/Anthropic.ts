import { nextId, type Protocol, sentPieces, sse, usage } from "./Model.ts"

/** https://docs.anthropic.com/en/docs/build-with-claude/streaming */
export const anthropic: Protocol = (response, turn, model) => {
  const send = sse(response)
  const event = (type: string, data: object) => send({ type, ...data }, type)
  const message = { id: nextId(), type: "message", role: "assistant", model, content: [], stop_reason: null }
  const input = { input_tokens: usage.input, cache_read_input_tokens: usage.cached, cache_creation_input_tokens: 0 }
  const block = (content_block: object, deltas: ReadonlyArray<object>) => {
    event("content_block_start", { index: 0, content_block })
    for (const delta of deltas) event("content_block_delta", { index: 0, delta })
  }
  event("message_start", { message: { ...message, usage: { ...input, output_tokens: 1 } } })
  if (turn.kind === "tool") {
    const { command, description } = turn
    const partial_json = JSON.stringify({ command, description })
    block({ type: "tool_use", id: "toolu_1", name: "Bash", input: {} }, [{ type: "input_json_delta", partial_json }])
  } else if (turn.kind === "call") {
    const partial_json = JSON.stringify(turn.arguments)
    block({ type: "tool_use", id: `toolu_${nextId()}`, name: turn.name, input: {} }, [
      { type: "input_json_delta", partial_json }
    ])
  } else {
    block(
      { type: "text", text: "" },
      sentPieces(turn).map((text) => ({ type: "text_delta", text }))
    )
    if (turn.hangs) return
  }
  event("content_block_stop", { index: 0 })
  event("message_delta", {
    delta: { stop_reason: turn.kind === "text" ? "end_turn" : "tool_use", stop_sequence: null },
    usage: { ...input, output_tokens: usage.output }
  })
  event("message_stop", {})
  response.end()
}
