"""A grader: the last number of an answer is right if it is within 1 % of the truth.

It speaks JSON lines over stdin and stdout, needs nothing but Python, and is a frame to
copy: change judge().
"""

import json
import re
import sys

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")


def number(text):
    found = NUMBER.findall(text)
    return float(found[-1].replace(",", "")) if found else None


def judge(answer, truth):
    """What is said of one answer: outcome is right, wrong or not_judged."""
    want, got = number(truth), number(answer)
    if want is None:
        return {"outcome": "not_judged", "reason": "the truth is not a number"}
    if got is None:
        return {"outcome": "not_judged", "reason": "no number in the answer", "unparsed": True}
    close = abs(got - want) <= 0.01 * abs(want)
    return {"outcome": "right" if close else "wrong", "actual": str(got)}


def main():
    hello = json.loads(sys.stdin.readline())
    say({"aiperf": 1, "kind": "grader", "name": hello["name"], "version": "1.0"})
    for line in sys.stdin:
        asked = json.loads(line)
        say({"id": asked["id"], **judge(asked["grade"]["answer"], asked["grade"]["truth"])})


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
