-- For wrk: POSTs one body to the given paths in turn. Arguments: the body, then the paths.
local requests = {}
local count, last = 0, 0

function init(args)
  wrk.method = "POST"
  wrk.headers["content-type"] = "application/json"
  wrk.body = args[1]
  for n = 2, #args do
    requests[n - 1] = wrk.format("POST", args[n])
  end
  count = #requests
end

function request()
  last = last % count + 1
  return requests[last]
end

function done(summary, latency)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  print(string.format('{"requests":%d,"seconds":%f,"refused":%d,"broken":%d,"p50":%f,"p99":%f}',
    summary.requests, summary.duration / 1e6, errors.status, broken,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
