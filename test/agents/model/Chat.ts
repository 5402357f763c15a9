import { nextId, type Protocol, sentPieces, sse, usage } from "./Model.ts"

/** https://platform.openai.com/docs/api-reference/chat-streaming */
export const chat: Protocol = (response, turn, model) => {
  const send = sse(response)
  const chunk = (more: object) => send({ id: "c1", object: "chat.completion.chunk", created: 1, model, ...more })
  const choice = (delta: object, finish_reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta, finish_reason }] })
  if (turn.kind !== "text") {
    const call =
      turn.kind === "call"
        ? { name: turn.name, arguments: JSON.stringify(turn.arguments) }
        : { name: "bash", arguments: JSON.stringify({ command: turn.command, description: turn.description }) }
    choice({ role: "assistant", tool_calls: [{ index: 0, id: nextId(), type: "function", function: call }] })
    choice({}, "tool_calls")
  } else {
    for (const content of sentPieces(turn)) choice({ role: "assistant", content })
    if (turn.hangs) return
    choice({}, "stop")
  }
  chunk({
    choices: [],
    usage: {
      prompt_tokens: usage.input,
      completion_tokens: usage.output,
      total_tokens: usage.input + usage.output,
      prompt_tokens_details: { cached_tokens: usage.cached }
    }
  })
  response.end("data: [DONE]\n\n")
}
