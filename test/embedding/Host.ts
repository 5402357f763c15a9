/** Somebody else's Effect API server: one route of its own, the webhook engine beside it, its own way to reach agents. */
import { HttpApi, HttpApiBuilder, HttpApiEndpoint, HttpApiGroup, HttpLayerRouter } from "@effect/platform"
import { Effect, Layer, Queue, Schema } from "effect"
import { Bus, Engine, type Prompt, Routes } from "../../src/index.ts"

class HostApi extends HttpApi.make("host").add(
  HttpApiGroup.make("greetings").add(HttpApiEndpoint.get("hello", "/hello").addSuccess(Schema.String))
) {}

const greetings = HttpApiBuilder.group(HostApi, "greetings", (handlers) =>
  handlers.handle("hello", () => Effect.succeed("hello from the host"))
)

/** The agent of this host: it answers in capitals, and never answers `sleep`. */
const agent = ({ prompt }: Prompt) => (prompt === "sleep" ? Effect.never : Effect.succeed(prompt.toUpperCase()))

/** In place of a message broker: the host calls its agent itself. */
const HostBus = Layer.scoped(
  Bus,
  Effect.gen(function* () {
    const prompts = yield* Effect.acquireRelease(Queue.unbounded<Prompt>(), Queue.shutdown)
    return Bus.of({
      durable: false,
      publish: (prompt) => Effect.asVoid(prompts.offer(prompt)),
      queue: () => Effect.map(prompts.size, (messages) => ({ exists: true, consumers: 1, messages })),
      removeQueue: () => Effect.void,
      consume: (handle) =>
        prompts.take.pipe(
          Effect.flatMap((prompt) =>
            agent(prompt).pipe(
              Effect.flatMap((response) => handle([{ _tag: "Answered", run_id: prompt.run_id, response }])),
              Effect.retry({ times: 3 }),
              Effect.ignoreLogged,
              Effect.forkScoped
            )
          ),
          Effect.forever,
          Effect.forkScoped
        ),
      ping: Effect.void
    })
  })
)

/** What is left to choose: the rows, the limiter, the renderer, the settings and the admin key. */
export const host = Layer.mergeAll(
  HttpLayerRouter.addHttpApi(HostApi).pipe(Layer.provide(greetings)),
  Routes.trigger,
  Routes.management
).pipe(Layer.provide(Engine.layer), Layer.provide(HostBus))
