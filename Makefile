# Everything that is done with this repository, by name. Needs Go; installs the
# rest into build/ by itself.

PY      := build/venv/bin/python
BIN     := build/bin
GOFUMPT := $(BIN)/gofumpt@$(FUMPT)
FUMPT   := v0.12.0
STATIC  := v0.8.2
SC      := $(BIN)/staticcheck@$(STATIC)

.PHONY: all test unit lint cross bench generate fuzz real venv clean

all: test

# test is what CI runs: style, unit and script tests, readers in Python, real
# servers. Without python3 the last two are skipped here and fail in CI.
test: lint venv unit

unit:
	go test ./...

# cross builds what this machine does not run.
cross:
	GOOS=darwin GOARCH=arm64 go build ./...
	GOOS=windows GOARCH=amd64 go build ./...

venv:
	@internal/repo/venv.sh

lint: $(GOFUMPT) $(SC)
	@out=$$($(GOFUMPT) -l $$(git ls-files '*.go')); [ -z "$$out" ] || { echo "gofumpt would change:"; echo "$$out"; exit 1; }
	go vet ./...
	$(SC) ./...

$(GOFUMPT):
	GOBIN=$(abspath $(BIN)) go install mvdan.cc/gofumpt@$(FUMPT) && mv $(BIN)/gofumpt $@

$(SC):
	GOBIN=$(abspath $(BIN)) go install honnef.co/go/tools/cmd/staticcheck@$(STATIC) && mv $(BIN)/staticcheck $@

# bench prints the figures of docs/performance.md.
bench:
	go test -run '^$$' -bench . -benchmem ./...

generate:
	go generate ./...

clean:
	rm -rf build
