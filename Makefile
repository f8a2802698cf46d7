# Everything that is done with this repository, by name. Needs Go; installs the
# rest into build/ by itself.

BIN         := build/bin
GOFUMPT     := $(BIN)/gofumpt@v0.12.0
STATICCHECK := $(BIN)/staticcheck@v0.8.2

.PHONY: all test unit lint cross race bench generate venv clean

all: test

# test is what CI runs: style, unit and script tests, readers in Python, real
# servers. Without python3 the last two are skipped here and fail in CI.
test: lint venv unit

unit:
	go test ./...

# race is unit under the race detector; it takes several minutes.
race:
	go test -race ./...

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
# for the first.
bench:
	go run ./internal/bench $(BENCH)
	go test -run '^$$' -bench . -benchmem ./...

generate:
	go generate ./...

clean:
	rm -rf build
