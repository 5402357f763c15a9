/** `Promise.withResolvers`, which Restate's SDK calls and Node has since version 22: the benchmark also runs on Node 20. */
const withResolvers = () => {
  const functions = {}
  const promise = new Promise((resolve, reject) => Object.assign(functions, { resolve, reject }))
  return { promise, ...functions }
}

if (!("withResolvers" in Promise)) Object.assign(Promise, { withResolvers })
