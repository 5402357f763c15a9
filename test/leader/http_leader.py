"""A leader over HTTP, in Python's standard library: python3 http_leader.py URL KEY_FILE"""

import json, sys, threading, time, uuid
from urllib.error import HTTPError
from urllib.request import Request, urlopen

url, key, leader = sys.argv[1], open(sys.argv[2]).read().strip(), str(uuid.uuid4())
headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}


def post(path, **body):
    """Repeats the request until the server has answered it. Fails if the server refuses it."""
    while True:
        try:
            with urlopen(Request(f"{url}/leader/{path}", json.dumps(body).encode(), headers), timeout=60) as response:
                return json.loads(response.read() or "null")
        except HTTPError as error:
            if error.code not in (429, 500, 502, 503, 504):
                raise
        except OSError:
            pass  # The server restarts, or a proxy has closed the connection.
        time.sleep(1)


def watch(run_id, stopped, replied):
    """Shows that the work goes on, and says when to stop it: the run was cancelled, or another leader has it."""
    while not replied.is_set():
        try:
            stopped.is_cancelled = post("work", leader=leader, run_id=run_id)["cancelled"]
        except HTTPError:
            return stopped.set()
        if stopped.is_cancelled:
            return stopped.set()


def answer(prompt, stopped):
    """Your work. Look at `stopped` from time to time."""
    return prompt["prompt"].upper()


while True:
    prompt = post("next", leader=leader)
    if prompt is None:
        continue
    stopped, replied = threading.Event(), threading.Event()
    stopped.is_cancelled = prompt["cancelled"]
    threading.Thread(target=watch, args=(prompt["run_id"], stopped, replied), daemon=True).start()
    reply = {"correlation_id": prompt["correlation_id"], "type": "response", "response": answer(prompt, stopped)}
    if stopped.is_cancelled:
        reply = {"correlation_id": prompt["correlation_id"], "type": "error", "message": "stopped"}
    post("reply", **reply)
    replied.set()
