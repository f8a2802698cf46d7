# Runs the code of an answer in this process, behind limits. Arguments: the folder that
# it may use, the file of the code, the name of a function or "", and the limits in
# bytes, seconds and numbers. With a function, arguments come as JSON, one a line, on
# stdin, and its result goes to stdout as one line of JSON behind a mark.
import io, json, os, sys

folder, path, function, memory, seconds, size = sys.argv[1:7]
mark = sys.argv[7]
with open(path, encoding="utf-8") as f:
    code = f.read()

try:
    import resource

    for name, most in (
        ("RLIMIT_AS", int(memory)), ("RLIMIT_CPU", int(seconds)), ("RLIMIT_FSIZE", int(size)),
        ("RLIMIT_NPROC", 64), ("RLIMIT_NOFILE", 64), ("RLIMIT_CORE", 0),
    ):
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, ValueError, OSError):
            pass  # a limit that this system has not, or that is lower already
except ImportError:
    pass

prelude = {"__name__": "__main__"}
for name in (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io "
    "sys json builtins typing"
).split():
    exec("import %s\nfrom %s import *" % (name, name), prelude)
sys.setrecursionlimit(50000)


def guard(folder, roots):
    # What the limits of the system do not cover: other programs, connections, files.
    never = ("os.system", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.startfile", "os.kill",
             "os.killpg", "pty.spawn", "signal.pthread_kill", "subprocess.", "_posixsubprocess.", "socket.", "ctypes.",
             "os.setxattr", "os.chroot", "os.mount", "webbrowser.", "ftplib.", "urllib.", "http.", "gc.get_")
    changes = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod",
               "os.chown", "os.utime", "os.chdir", "os.listdir", "os.scandir", "shutil.")
    inside, real, denied = os.path.commonpath, os.path.realpath, PermissionError
    decode = os.fsdecode

    def below(p, root):
        try:
            return inside([p, root]) == root
        except ValueError:
            return False

    def hook(event, args):
        if event.startswith(never):
            raise denied(event + " is not allowed")
        if event == "open" and args and not isinstance(args[0], int):
            p = real(decode(args[0]))
            if below(p, folder) or p in ("/dev/null", "/dev/urandom", "/dev/stdin"):
                return
            write = isinstance(args[1], str) and any(c in args[1] for c in "wax+") or (args[2] or 0) & 3
            if write or not any(below(p, r) for r in roots):
                raise denied("open " + p + " is not allowed")
        elif event.startswith(changes):
            for a in args:
                if isinstance(a, (str, bytes)) and not any(below(real(decode(a)), r) for r in (folder, *roots)):
                    raise denied(event + " is not allowed")

    return hook


roots = {os.path.realpath(p) for p in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__)) if p != "/"}
roots = [r for r in roots if r not in ("/", "/usr")] + ["/usr/lib", "/usr/share/zoneinfo"]
folder = os.path.realpath(folder)
os.chdir(folder)
sys.argv = [path]
sys.path = [p for p in sys.path if p]
out = sys.stdout
answer = json.dumps
rest = sys.stdin.read() if function else ""
sys.addaudithook(guard(folder, roots))



def told(v, outer=False):
    # A result as JSON has it. Python finds a tuple unlike a list, which the result itself may
    # be all the same, and a key that is a number unlike one that is a text.
    if isinstance(v, tuple) and not outer:
        return {mark: [told(x) for x in v]}
    if isinstance(v, (tuple, list)):
        return [told(x) for x in v]
    if isinstance(v, dict):
        return {k if isinstance(k, str) else mark + repr(k): told(x) for k, x in v.items()}
    return v


exec(compile(code, "answer.py", "exec"), prelude)
if function:
    owner = prelude.get("Solution")
    call = getattr(owner(), function) if owner else prelude[function]
    result = call(*[json.loads(line) for line in rest.split("\n")])
    out.write("\n" + mark + answer(told(result, True)) + "\n")
    out.flush()
