# Everything that is done with this repository, by name. Needs Go; installs the
# rest into build/ by itself.

BIN         := build/bin
GOFUMPT     := $(BIN)/gofumpt@v0.12.0
STATICCHECK := $(BIN)/staticcheck@v0.8.2

.PHONY: all test unit lint cross race nvml bench samples sim graders accuracy outlets image k8s-types k8s-test generate pictures venv clean

all: test

# test is what CI runs: style, other platforms, unit and script tests, readers in
# Python, real servers, the race detector. Without python3 the readers and the
# servers are skipped here and fail in CI.
test: lint cross venv unit race nvml

# LIMIT is what one package may take: a busy machine is no failure.
LIMIT := 30m
unit:
	go test -timeout $(LIMIT) ./...

# race is what runs beside itself under the race detector, which needs a C
# compiler. -short leaves out what compares values on one goroutine, as whole rooms
# do; the tests of internal/language and internal/acceptance judge by what programs
# print, which the detector does not see into. RACE=./... is everything.
ALONE := language acceptance stats docgen repo glossary
RACE   = ./loadgen/... ./runner/... ./sinks $(shell go list ./internal/... | grep -v $(ALONE:%=-e /%))
race:
	@if command -v $$(go env CC) >/dev/null; then echo go test -race -short $(RACE); go test -timeout $(LIMIT) -race -short $(RACE); \
	else echo "race: no C compiler, skipped"; fi

# nvml is what reads GPUs through NVIDIA's library, against a library that is made up:
# it needs a C compiler.
nvml:
	@if command -v $$(go env CC) >/dev/null; then CGO_ENABLED=1 go vet -tags nvml ./internal/telemetry && CGO_ENABLED=1 go test -tags nvml ./internal/telemetry; \
	else echo "nvml: no C compiler, skipped"; fi

# cross builds what this machine does not run.
cross:
	GOOS=darwin GOARCH=arm64 go build ./...
	GOOS=windows GOARCH=amd64 go build ./...

venv:
	@internal/repo/venv.sh

lint: $(GOFUMPT) $(STATICCHECK)
	@out=$$($(GOFUMPT) -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofumpt would change:"; echo "$$out"; exit 1; }
	go vet ./...
	$(STATICCHECK) ./...

$(GOFUMPT):
	GOBIN=$(abspath $(BIN)) go install mvdan.cc/$(notdir $@) && mv $(BIN)/gofumpt $@

$(STATICCHECK):
	GOBIN=$(abspath $(BIN)) go install honnef.co/go/tools/cmd/$(notdir $@) && mv $(BIN)/staticcheck $@

# bench prints the figures of docs/performance.md: the engine beside net/http
# and a raw client, then the benchmarks of every package. BENCH=-quick takes 20 s
# for the first. The last line holds measured times against a server's own log,
# which a busy machine moves.
bench:
	go run ./internal/bench $(BENCH)
	go test -run '^$$' -bench . -benchmem ./...
	go test -run 'TestAgainstServersLog|TestStoppedClient|TestClientOnABusyCore' ./internal/acceptance -v -timed

# samples makes the result files of other clients again that sinks/results holds pairs of, with
# the clients that the PATH finds, the python3 with sglang, and a folder TOK with tokenizer.json.
# CLIENTS names some of them, as in "guidellm aiperf:a1".
# It is no test: the tools are large, and CI has none of them.
samples:
	go build -o build/aiperf ./cmd/aiperf
	python3 sinks/results/testdata/pairs.py build/aiperf $(TOK) $(CLIENTS)

# sim prints the figures of docs/simulations.md: how often a conclusion is wrong,
# over TIMES times as many plans as the tests simulate (10 take seven minutes of a
# core), SEARCHES whole searches of each server (200 take three minutes of a core each, and two
# more beside AIPerf's planners), PLANS servers of each kind whose limit is looked for, and
# shown by an experiment, a thousand workers, WAYS drawn experiments that are
# carried out in all ways (100 take four minutes), HISTORIES series of results of each kind
# (2000 take three minutes), and how often the quick start is VALID on this machine.
TIMES := 10
SEARCHES := 200
PLANS := 12
WAYS := 100
HISTORIES := 2000
sim:
	go test -v -timeout 10h ./internal/sim -times $(TIMES) -searches $(SEARCHES) -ways $(WAYS)
	go test -v ./internal/stats -run TestChangesOfDrawnHistories -histories $(HISTORIES)
	go test -v -timeout 10h ./sweep/search -run TestCoverage -searches $(SEARCHES)
	go test -v -timeout 10h ./internal/diagnose -run TestDrawnServers -plans $(PLANS)
	go test -v ./runner/cluster -run TestACrowd -crowd 1000
	go test -v -timeout 10h ./internal/diagnose/prove -run TestDrawnServers -plans $(PLANS)
	internal/sim/quickstart.sh 20

# graders compares ANSWERS answers of each kind, in forms that models give, with AIPerf's
# graders and what they are made of (2000 take ten minutes of a core, most of them for code).
# BBH=DIR compares all prompts of BIG-Bench Hard, made of a checkout of its authors'
# repository, too.
ANSWERS := 2000
graders:
	go test -v -timeout $(LIMIT) ./internal/grade -run TestAgainstReference -reference $$(internal/repo/venv.sh graders) -answers $(ANSWERS)
	@if [ -n "$(BBH)" ]; then go test -v ./loadgen/dataset/exam -run TestBigBenchPrompts -bbh $(abspath $(BBH)); fi

# accuracy carries AIPerf's accuracy runs out against the server that answers our own, and
# compares its files with what is recorded of it (five minutes, most of them its packages).
accuracy:
	go test -v -count=1 -timeout $(LIMIT) ./cmd/aiperf -run 'AIPerfsAccuracyIsAsRecorded|AccuracyIsAIPerfs' -aiperf $$(internal/repo/venv.sh graders)

# outlets compares tables with what real programs receive and serve: an MLflow server, an
# OpenTelemetry collector and its messages in Python, Prometheus' client, and node exporter
# where prometheus-node-exporter is installed. LLAMA=URL compares those of a llama.cpp server,
# started with --metrics, with its own counters.
outlets:
	AIPERF_LLAMA_SERVER="$(LLAMA)" go test -v -count=1 -timeout $(LIMIT) ./internal/acceptance -run 'TheTable|IsRead|LlamaCounts' -outlets $$(internal/repo/venv.sh outlets)

# image makes build/aiperf.tar, a container image of the program for ARCH and the certificates
# that this machine trusts, without a daemon. The same sources give the same bytes.
ARCH := $(shell go env GOARCH)
image:
	CGO_ENABLED=0 GOOS=linux GOARCH=$(ARCH) go build -trimpath -ldflags "-s -w" -o build/aiperf-linux-$(ARCH) ./cmd/aiperf
	go run ./cmd/aiperf kube image --binary build/aiperf-linux-$(ARCH) -o build/aiperf.tar

# k8s-types has Kubernetes' own code read and validate the manifests, and judge their pods by the
# restricted level of pod security (three minutes of a core, once). k8s-test has its servers run the
# jobs, too: an API server, the controllers of jobs, and etcd, which are built once, into build/k8s.
k8s-types:
	cd internal/launch/k8stest && go test -v .

K8S := build/k8s
k8s-test: k8s-types $(K8S)/etcd $(K8S)/kube-apiserver $(K8S)/kube-controller-manager
	go test -v -count=1 ./internal/launch/kube -run TestRealCluster -servers $(abspath $(K8S))

$(K8S)/etcd: internal/launch/k8stest/go.mod
	cd internal/launch/k8stest && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o $(abspath $@) go.etcd.io/etcd/server/v3

$(K8S)/kube-%: internal/launch/k8stest/go.mod
	cd internal/launch/k8stest && CGO_ENABLED=0 go build -trimpath -ldflags "-s -w" -o $(abspath $@) k8s.io/kubernetes/cmd/kube-$*

generate:
	go generate ./...

# pictures makes those of the README, with a Chromium and the quick start.
pictures:
	go run ./internal/pictures

clean:
	rm -rf build
