import { type Protocol, sentPieces, sse, usage } from "./Model.ts"

/** https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent */
export const gemini: Protocol = (response, turn, model) => {
  const send = sse(response)
  const part = (content: object, finish: object = {}) =>
    send({
      candidates: [{ index: 0, content: { role: "model", parts: [content] }, ...finish }],
      modelVersion: model,
      usageMetadata: {
        promptTokenCount: usage.input,
        cachedContentTokenCount: usage.cached,
        candidatesTokenCount: usage.output,
        totalTokenCount: usage.input + usage.output
      }
    })
  const stop = { finishReason: "STOP" }
  if (turn.kind === "call") {
    part({ functionCall: { name: turn.name, args: turn.arguments } }, stop)
  } else if (turn.kind === "tool") {
    const { command, description } = turn
    part({ functionCall: { name: "run_shell_command", args: { command, description } } }, stop)
  } else {
    const pieces = sentPieces(turn)
    for (const [index, text] of pieces.entries()) part({ text }, index === turn.pieces.length - 1 ? stop : {})
    if (turn.hangs) return
  }
  response.end()
}
