import { nextId, type Protocol, sentPieces, sse, usage } from "./Model.ts"

/** https://platform.openai.com/docs/api-reference/responses-streaming */
export const responses: Protocol = (response, turn, model) => {
  const send = sse(response)
  let sequence_number = 0
  const event = (type: string, data: object) => send({ type, sequence_number: sequence_number++, ...data }, type)
  const id = `resp_${Date.now()}`
  const base = { id, object: "response", created_at: 1, model, status: "in_progress", output: [] }
  event("response.created", { response: base })
  const end = (item: object) => {
    event("response.output_item.done", { output_index: 0, item })
    const counted = {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: usage.input + usage.output
    }
    event("response.completed", { response: { ...base, status: "completed", output: [item], usage: counted } })
    response.end()
  }
  if (turn.kind === "tool") {
    const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "exec_command", status: "completed" }
    return end({ ...call, arguments: JSON.stringify({ cmd: turn.command }) })
  }
  if (turn.kind === "call") {
    const { name, namespace } = turn
    const call = { type: "function_call", id: `fc_${nextId()}`, call_id: `call_${nextId()}`, name, status: "completed" }
    return end({ ...call, ...(namespace && { namespace }), arguments: JSON.stringify(turn.arguments) })
  }
  const item_id = nextId()
  const item = { id: item_id, type: "message", role: "assistant", status: "in_progress", content: [] }
  event("response.output_item.added", { output_index: 0, item })
  for (const delta of sentPieces(turn)) {
    event("response.output_text.delta", { item_id, output_index: 0, content_index: 0, delta })
  }
  if (turn.hangs) return
  const text = turn.pieces.join("")
  end({ ...item, status: "completed", content: [{ type: "output_text", text, annotations: [] }] })
}
