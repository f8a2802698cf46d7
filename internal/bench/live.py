#!/usr/bin/env python3
"""What the live view costs, on a machine that others use too.

    internal/bench/live.py AIPERF [SECONDS [STARTS]]

Three figures, none of which a busy neighbour can make for us:

first frame   from the start to the first picture: wall time, and the CPU time that
              the program itself had used by then, which a neighbour does not add to.
cpu           CPU time of a run with the view less that of the one beside it without,
              in pairs whose order turns round, and a sign test over the pairs.
lateness      one run with the view. The times at which it drew are known, so that
              requests sent while it drew are told from the others: what they add to the
              p99 is p99(all) - p99(others). What chance makes of that is found by moving
              the times of drawing along the run, all by the same amount, many times: the
              neighbours' bursts stay where they are (a circular permutation test). Where
              those bursts make the p99, the share of requests that drawing makes later by
              more than 20 µs still tells: a p99 follows what happens to 1 % of them.

It needs Python's standard library, and sends its load to the built-in server.
"""

import csv, datetime, fcntl, math, os, pty, random, resource, select, statistics, struct, sys, tempfile, termios, time

RATE = 400
DRAWING = (0.020, 0.005)  # seconds before and after bytes came that count as drawing


def start(aiperf, out, ui, seconds):
    """Runs on a pseudoterminal; returns start, times of its output, CPU at the first frame, CPU in all."""
    began = time.time()
    pid, tty = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execv(aiperf, [aiperf, "profile", "-m", "demo", "-u", "mock:?ttft=5ms&itl=1ms", "--streaming", "--request-rate", str(RATE),
                          "--arrival-pattern", "constant", "--request-count", str(int(RATE * seconds)), "--isl", "16", "--osl", "4",
                          "--tokenizer", "builtin", "--ui", ui, "--report", "none", "--artifact-dir", out])
    fcntl.ioctl(tty, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    drawn, cpu, text = [], None, b""
    while True:
        try:
            data = os.read(tty, 65536)
        except OSError:
            break
        if not data:
            break
        drawn.append(time.time())
        text += data
        if cpu is None and b"this run" in text:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rsplit(")", 1)[1].split()
            cpu = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), drawn[-1] - began
    os.close(tty)
    _, _, used = os.wait4(pid, 0)
    return drawn, cpu, used.ru_utime + used.ru_stime


def quantile(values, q):
    v = sorted(values)
    at = q * (len(v) - 1)
    low = int(at)
    return v[low] + (v[min(low + 1, len(v) - 1)] - v[low]) * (at - low)


def requests(out):
    """Time of sending in Unix seconds and lateness in µs of each request, in the order of sending."""
    sent, late = [], []
    with open(os.path.join(out, "requests.csv")) as f:
        for row in csv.DictReader(f):
            t = row["start_time"].rstrip("Z")
            whole, _, part = t.partition(".")
            at = datetime.datetime.fromisoformat(whole + "+00:00").timestamp() + float("0." + (part or "0"))
            sent.append(at)
            late.append(1000 * float(row["dispatch_lateness_ms"]))
    order = sorted(range(len(sent)), key=sent.__getitem__)
    return [sent[i] for i in order], [late[i] for i in order]


def added(sent, late, drawn, shift, span, began):
    """What drawing adds to the p99 and to the median, and to the share of all requests
    that are more than 20 µs later than the median is."""
    times = sorted(began + (t - began + shift) % span for t in drawn)
    near, others, k = [], [], 0
    for at, value in zip(sent, late):
        while k < len(times) and times[k] + DRAWING[1] < at:
            k += 1
        (near if k < len(times) and times[k] - DRAWING[0] <= at else others).append(value)
    limit = quantile(late, 0.5) + 20
    share = lambda values: sum(v > limit for v in values) / max(len(values), 1)
    more = 100 * len(near) / len(late) * (share(near) - share(others))
    return quantile(late, 0.99) - quantile(others, 0.99), quantile(late, 0.5) - quantile(others, 0.5), more, len(near)


def main():
    aiperf = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    starts = int(sys.argv[3]) if len(sys.argv) > 3 else 12
    with tempfile.TemporaryDirectory() as home:
        firsts, differences = [], []
        for i in range(starts):
            cpus = {}
            for ui in ("dashboard", "none") if i % 2 else ("none", "dashboard"):
                _, first, cpus[ui] = start(aiperf, os.path.join(home, f"{i}-{ui}"), ui, 5)
                if ui == "dashboard" and first:
                    firsts.append(first)
            differences.append(cpus["dashboard"] - cpus["none"])
        walls, used = [f[1] for f in firsts], [f[0] for f in firsts]
        print(f"first frame: wall median {statistics.median(walls):.2f} s ({min(walls):.2f} to {max(walls):.2f}), CPU median {statistics.median(used):.2f} s (at most {max(used):.2f}), {len(firsts)} starts")
        above = sum(d > 0.05 for d in differences)
        chance = sum(math.comb(len(differences), k) for k in range(above + 1)) / 2 ** len(differences)
        print(f"cpu: median {statistics.median(differences) / 5 * 100:.2f} % of a core more, {above} of {len(differences)} pairs above 1 % (that so few are, if the median were 1 %: p = {chance:.3f})")

        out = os.path.join(home, "late")
        drawn, _, _ = start(aiperf, out, "dashboard", seconds)
        sent, late = requests(out)
        began, span = min(sent), max(sent) - min(sent)
        drawn = [t for t in drawn if began <= t <= began + span]
        p99, p50, more, near = added(sent, late, drawn, 0, span, began)
        random.seed(1)
        moved = [added(sent, late, drawn, random.uniform(1, span - 1), span, began) for _ in range(200)]
        chance = lambda i: f"by chance {quantile([m[i] for m in moved], 0.025):+.2f} to {quantile([m[i] for m in moved], 0.975):+.2f}"
        print(f"lateness: median {quantile(late, 0.5):.1f} µs, p99 {quantile(late, 0.99):.1f} µs of {len(sent)} requests, {near} of them while it drew {len(drawn)} times")
        print(f"  drawing adds {p99:+.2f} µs to the p99 ({chance(0)}) and {p50:+.2f} µs to the median ({chance(1)})")
        print(f"  drawing makes {more:+.2f} % of all requests later by more than 20 µs ({chance(2)})")


main()
