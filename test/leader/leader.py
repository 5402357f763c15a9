"""A team's leader in Python, written from docs/reference/amqp.md alone: it answers with the prompt in capitals.

usage: leader.py AMQP_URL TEAM
"""

import json
import sys
import threading
import time
import uuid

import pika

url, team = sys.argv[1:]
queue = f"team.{team}"
answers = {}  # run id -> (type, body): a prompt that is delivered again is answered again, not worked on again
cancelled = set()  # run ids


def work(prompt):
    while prompt["prompt"].startswith("wait") and prompt["run_id"] not in cancelled:
        time.sleep(0.01)
    if prompt["run_id"] in cancelled:
        raise InterruptedError("The run was cancelled.")
    if prompt["prompt"].startswith("fail"):
        raise ValueError("cannot do that: " + prompt["prompt"])
    return prompt["prompt"].upper()


def send(channel, properties, kind, body):
    """Returns once the broker has confirmed the reply; raises when there is no queue for it."""
    channel.basic_publish(
        exchange=properties.reply_to,
        routing_key="progress" if kind == "progress" else "",
        body=json.dumps(body),
        properties=pika.BasicProperties(
            type=kind,
            correlation_id=properties.correlation_id,
            content_type="application/json",
            delivery_mode=1 if kind == "progress" else 2,
        ),
        mandatory=kind != "progress",
    )


def on_prompt(channel, method, properties, body):
    run_id = properties.message_id
    try:
        prompt = json.loads(body)
    except ValueError:
        channel.basic_reject(method.delivery_tag, requeue=False)
        return
    now = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
    if run_id not in answers and prompt.get("deadline", now) < now:
        send(channel, properties, "discarded", {})  # nobody waits for it any more
        channel.basic_ack(method.delivery_tag)
        return
    if run_id not in answers:
        send(channel, properties, "started", {})
        send(channel, properties, "progress", {"seq": 0, "activity": "Reading the prompt"})
        try:
            answers[run_id] = ("response", {"response": work(prompt)})
        except Exception as error:
            answers[run_id] = ("error", {"message": str(error)})
        while len(answers) > 1000:
            del answers[next(iter(answers))]
    send(channel, properties, *answers[run_id])
    channel.basic_ack(method.delivery_tag)


def lead(connection):
    channel = connection.channel()
    channel.queue_declare(
        queue,
        durable=True,
        arguments={
            "x-queue-type": "classic",
            "x-single-active-consumer": True,
            "x-dead-letter-exchange": "webhook.dlx",
        },
    )
    channel.confirm_delivery()
    channel.basic_qos(prefetch_count=1)
    channel.basic_consume(queue, on_prompt)
    print(f"leading {team}", flush=True)
    channel.start_consuming()


def listen_for_cancellations(connection):
    channel = connection.channel()
    name = f"{queue}.cancel.{uuid.uuid4()}"
    channel.queue_declare(name, exclusive=True, auto_delete=True)
    channel.queue_bind(name, f"webhook.cancel.{team}")
    for _, _, body in channel.consume(name, auto_ack=True):
        cancelled.add(json.loads(body).get("run_id"))  # none: another leader's file


def forever(use):
    pause = 1
    while True:
        began = time.monotonic()
        try:
            parameters = pika.URLParameters(url)
            parameters.heartbeat = 10
            with pika.BlockingConnection(parameters) as connection:
                use(connection)
        except Exception as error:  # what pika raises has no common base: AMQPError, socket.gaierror, …
            print(f"connection lost: {error!r}", flush=True)
        pause = 1 if time.monotonic() - began > 60 else min(2 * pause, 15)
        time.sleep(pause)


threading.Thread(target=forever, args=[listen_for_cancellations], daemon=True).start()
forever(lead)
