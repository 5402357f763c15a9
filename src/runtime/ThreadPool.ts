import { Worker } from "node:worker_threads"
import { Data, Effect, type Scope } from "effect"

/** The thread ended during the task: it ran out of memory, or could not be stopped otherwise. */
class ThreadLost extends Data.TaggedError("ThreadLost") {}

/** `refused`: by `mayStart`. `late`: it waited too long for a thread. */
class NotStarted extends Data.TaggedError("NotStarted")<{ readonly reason: "refused" | "late" }> {}

interface ThreadPoolOptions<Answer> {
  /** The program of a thread. It answers each message of its port with one message. */
  readonly program: URL
  readonly threads: number
  /** How long a task may wait for its turn, in milliseconds. */
  readonly longestWait: number
  /** How long a task may take, in milliseconds. It then loses its thread, so this is only the last resort. */
  readonly longest: number
  /** The limit of a thread's own memory, in MiB. */
  readonly maxMemory: number
  /** Asked when it is a task's turn. */
  readonly mayStart: (key: string) => boolean
  /** Told of every task that ran, also of an interrupted one; without an answer, its thread was lost. */
  readonly onEnd: (key: string, answer?: Answer) => void
}

type RunOnThread<Task, Answer> = (key: string, task: Task) => Effect.Effect<Answer, ThreadLost | NotStarted>

interface Job<Task, Answer> {
  readonly key: string
  readonly task: Task
  /** When it came. */
  readonly since: number
  readonly resume: (result: Effect.Effect<Answer, ThreadLost | NotStarted>) => void
}

/**
 * Runs tasks on threads, which start when they are needed first. The tasks of one key run one after the other, and keys take
 * turns, so none keeps the others waiting for more than one task. An interrupted task still ends on its thread.
 */
export const make = <Task, Answer>(
  options: ThreadPoolOptions<Answer>
): Effect.Effect<RunOnThread<Task, Answer>, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => new Threads<Task, Answer>(options)),
      (threads) => threads.end
    ),
    (threads): RunOnThread<Task, Answer> =>
      (key, task) =>
        Effect.callback((resume) => {
          const job = { key, task, since: performance.now(), resume }
          threads.add(job)
          return Effect.sync(() => threads.remove(job))
        })
  )

class Threads<Task, Answer> {
  readonly #options: ThreadPoolOptions<Answer>
  /** By key, in the order of their turns. */
  readonly #waiting = new Map<string, Array<Job<Task, Answer>>>()
  readonly #running = new Map<Worker, Job<Task, Answer> & { readonly timer: NodeJS.Timeout }>()
  readonly #idle: Array<Worker> = []

  constructor(options: ThreadPoolOptions<Answer>) {
    this.#options = options
  }

  add(job: Job<Task, Answer>): void {
    const alike = this.#waiting.get(job.key) ?? []
    alike.push(job)
    this.#waiting.set(job.key, alike)
    this.#next()
  }

  remove(job: Job<Task, Answer>): void {
    const alike = this.#waiting.get(job.key) ?? []
    const at = alike.indexOf(job)
    if (at >= 0) alike.splice(at, 1)
  }

  readonly end: Effect.Effect<void> = Effect.suspend(() => {
    const threads = [...this.#idle, ...this.#running.keys()]
    return threads.length === 0
      ? Effect.void
      : Effect.promise(() => Promise.all(threads.map((worker) => worker.terminate())))
  })

  #next(): void {
    while (this.#idle.length > 0 || this.#running.size < this.#options.threads) {
      const job = this.#take()
      if (job === undefined) return
      const isLate = performance.now() - job.since > this.#options.longestWait
      if (isLate) job.resume(Effect.fail(new NotStarted({ reason: "late" })))
      else if (this.#options.mayStart(job.key)) this.#start(job)
      else job.resume(Effect.fail(new NotStarted({ reason: "refused" })))
    }
  }

  /** The next job of the key whose turn it is. */
  #take(): Job<Task, Answer> | undefined {
    const busy = new Set(Array.from(this.#running.values(), ({ key }) => key))
    for (const [key, alike] of this.#waiting) {
      if (busy.has(key)) continue
      const job = alike.shift()
      this.#waiting.delete(key)
      if (alike.length > 0) this.#waiting.set(key, alike)
      if (job !== undefined) return job
    }
    return undefined
  }

  #start(job: Job<Task, Answer>): void {
    const worker = this.#idle.pop() ?? this.#newThread()
    const timer = setTimeout(() => void worker.terminate(), this.#options.longest)
    this.#running.set(worker, { ...job, timer })
    worker.postMessage(job.task)
  }

  #newThread(): Worker {
    const worker = new Worker(this.#options.program, {
      resourceLimits: { maxOldGenerationSizeMb: this.#options.maxMemory },
      // No options for tests and profiles, and no secrets.
      execArgv: [],
      env: {}
    })
    worker.on("message", (answer: Answer) => {
      this.#idle.push(worker)
      this.#ended(worker, answer)
    })
    // Its exit follows.
    worker.on("error", () => {})
    worker.on("exit", () => {
      const at = this.#idle.indexOf(worker)
      if (at >= 0) this.#idle.splice(at, 1)
      this.#ended(worker)
    })
    worker.unref()
    return worker
  }

  #ended(worker: Worker, answer?: Answer): void {
    const job = this.#running.get(worker)
    if (job === undefined) return
    this.#running.delete(worker)
    clearTimeout(job.timer)
    this.#options.onEnd(job.key, answer)
    job.resume(answer === undefined ? Effect.fail(new ThreadLost()) : Effect.succeed(answer))
    this.#next()
  }
}
