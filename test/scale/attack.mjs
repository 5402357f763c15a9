// Sends one request again and again on some connections, in a process of its own, until it is told to stop. Then it tells
// how many answers there were.
let isOver = false
let answers = 0

const connection = async ({ body, headers, method, url }) => {
  while (!isOver) {
    const answer = await fetch(url, { method, headers, body })
    await answer.text()
    answers++
  }
}

process.on("message", async (message) => {
  if (message === "stop") {
    isOver = true
    return
  }
  await Promise.all(Array.from({ length: message.connections }, () => connection(message)))
  process.send(answers)
})
