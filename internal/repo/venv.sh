#!/bin/sh
# Makes a Python environment that tests need, once:
#
#   internal/repo/venv.sh            build/venv: readers of the result files
#   internal/repo/venv.sh notebooks  build/venv-notebooks: the same and pictures
#   internal/repo/venv.sh servers    build/venv-servers: inference servers by others
#   internal/repo/venv.sh grpc       build/venv-grpc: another gRPC, with Triton's messages
#   internal/repo/venv.sh outlets    build/venv-outlets: receivers and exporters of metrics by others
#   internal/repo/venv.sh graders    build/venv-graders: all of AIPerf, and what its graders are made of
#   internal/repo/venv.sh aiperf     build/venv-aiperf: AIPerf, as far as its models need
#
# Prints the path of its interpreter; nothing, with a word on stderr, on a
# machine without python3, which is a failure only in CI (CI is set). Needs a
# package index; asks for wheels only, so nothing is compiled. Safe to call from
# several tests at once: the first makes it, the others wait.
set -eu
cd "$(dirname "$0")/../.."
case ${1:-readers} in
readers)
	dir=build/venv
	packages="pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.0 numpy==2.4.6"
	;;
notebooks)
	dir=build/venv-notebooks
	packages="pyarrow==26.0.1 pandas==3.1.1 polars==2.1.0 duckdb==2.0.0 numpy==2.4.6 matplotlib==3.11.2"
	;;
servers)
	dir=build/venv-servers
	packages="llmock==0.2.2 fakellm==0.3.5 llm-mock-api==0.1.2 fastapi==0.165.0 starlette==1.10.0 uvicorn==0.54.0 pydantic==2.14.3"
	;;
grpc)
	dir=build/venv-grpc
	packages="tritonclient==2.73.0 grpcio==1.85.1 grpcio-reflection==1.81.1 protobuf==6.33.6 numpy==2.4.6 packaging==26.3"
	;;
outlets)
	dir=build/venv-outlets
	packages="mlflow==3.17.2 prometheus_client==0.26.0 opentelemetry-proto==1.45.2 protobuf==7.36.2 rotel==0.0.1a15"
	;;
graders) # of lighteval what matches and of deepeval its prompts, without what models need
	dir=build/venv-graders
	packages="aiperf==0.13.0 latex2sympy2_extended==1.11.0 antlr4-python3-runtime==4.13.2 sympy==1.14.0 mpmath==1.3.0"
	bare="lighteval==0.13.0 deepeval==4.3.1"
	;;
aiperf) # what its models import, and nothing of the rest that it would bring
	dir=build/venv-aiperf
	alone=--no-deps
	packages="aiperf==0.13.0 annotated-types==0.8.0 attrs==26.1.0 cyclopts==4.25.3 jinja2==3.1.6 markupsafe==3.0.4 msgspec==0.22.0 numpy==2.4.6 orjson==3.11.9 pydantic==2.14.3 pydantic-core==2.50.4 pydantic-settings==2.16.3 python-dotenv==1.2.4 pyyaml==6.0.3 ruamel.yaml==0.18.17 typing-extensions==4.16.0 typing-inspection==0.4.5"
	;;
*)
	echo "venv.sh: $1: want readers, notebooks, servers, grpc, outlets, graders or aiperf" >&2
	exit 2
	;;
esac
mark=$dir/.made-of

if ! command -v python3 >/dev/null 2>&1; then
	echo "venv.sh: no python3: tests that need it are skipped" >&2
	[ -z "${CI:-}" ]
	exit
fi
mkdir -p "$(dirname "$dir")"
exec 9>"$dir.lock"
if command -v flock >/dev/null 2>&1; then flock 9; fi
want=$packages${bare:+ $bare}
if [ "$(cat "$mark" 2>/dev/null)" != "$want" ]; then
	rm -rf "$dir"
	python3 -m venv "$dir" >&2
	# shellcheck disable=SC2086
	"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: ${alone:-} $packages >&2
	if [ -n "${bare:-}" ]; then
		# shellcheck disable=SC2086
		"$dir/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: --no-deps $bare >&2
	fi
	printf '%s' "$want" >"$mark"
fi
printf '%s/bin/python\n' "$(cd "$dir" && pwd)"
