"""An endpoint: makes the bodies of requests to an API, and reads its answers.

It speaks JSON lines over stdin and stdout, needs nothing but Python, and is a frame to
copy: change body() and read().
"""

import json
import sys


def body(request):
    """The body of one request. request has what templates have, and more."""
    made = {"model": request["model"], "messages": request["turns"], "stream": request["stream"]}
    if request["max_tokens"]:
        made["max_tokens"] = request["max_tokens"]
    return {"body": made}


def read(data, stream):
    """What one answer, or one event of a stream, says."""
    said = json.loads(data)
    if said.get("error"):
        return {"failed": str(said["error"])}
    choice = (said.get("choices") or [{}])[0]
    piece = choice.get("delta" if stream else "message") or {}
    found = {"text": piece.get("content") or choice.get("text") or "", "finish": choice.get("finish_reason") or ""}
    if said.get("usage"):
        found["usage"] = said["usage"]
    return found


def answer(asked):
    if "request" in asked:
        return body(asked["request"])
    return read(asked["event"]["data"], asked["event"]["stream"])


def main():
    hello = json.loads(sys.stdin.readline())
    say({"aiperf": 1, "kind": "endpoint", "name": hello["name"], "version": "1.0"})
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            say({"id": asked["id"], **answer(asked)})
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            say({"id": asked["id"], "error": f"{type(error).__name__}: {error}"})


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
