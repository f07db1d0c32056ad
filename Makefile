# clusterctl: "make help" explains the targets.
SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

KUBERNETES ?= v1.37.2
FORMER     ?= v1.36.3
SPEC       ?= examples/local.yaml
CLI        := bin/clusterctl
# A make of its own in a bare environment still needs a place for Go's cache.
export HOME ?= /root
# Every tool is the one that is installed: nothing fetches another Go.
export GOTOOLCHAIN := local

# What a bare Debian machine lacks: a C compiler and libseccomp for runc, debootstrap for local
# hosts, a real sshd and sudo for the tests of the transport.
PACKAGES := ca-certificates debootstrap gcc git iproute2 iptables libc6-dev libseccomp-dev nftables openssh-client openssh-server pkg-config procps sudo

# With an empty cache Go compiles for minutes: of the packages that it names, every hundredth is told of.
COUNTED := awk 'NF == 1 && /^[^:]+$$/ { if (++n % 100 == 0) print n " packages compiled"; fflush(); next } { print } { fflush() }'

.PHONY: help
help: ## Show this text
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: deps
deps: ## Install the OS packages that building and local hosts need (as root, on Debian)
	@missing=""; for p in $(PACKAGES); do dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
	if [ -n "$$missing" ]; then \
	  echo "installing:$$missing"; \
	  apt-get update -qq; DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; \
	fi
	@command -v go >/dev/null || { echo "Go is not installed: put Go 1.26 or newer on PATH (https://go.dev/dl)" >&2; exit 1; }

.PHONY: build
build: deps ## Build bin/clusterctl
	@mkdir -p bin
	@CGO_ENABLED=0 go build -v -trimpath -ldflags '-s -w' -o $(CLI) ./cmd/clusterctl 2>&1 | $(COUNTED)

.PHONY: bundle
bundle: build ## Build the bundles of both versions that upgrades are tested with (unchanged components are kept)
	$(CLI) bundle build --kubernetes $(KUBERNETES) --with aws
	$(CLI) bundle build --kubernetes $(FORMER)

PULUMI     := github.com/pulumi/pulumi
# Where clusterctl looks for the CLI and keeps plugins.
PULUMI_DIR  = $${CLUSTERCTL_CACHE:-$${XDG_CACHE_HOME:-$$HOME/.cache}/clusterctl}/pulumi

.PHONY: pulumi
pulumi: deps ## Build the Pulumi CLI, which hosts in a cloud need, from its pinned module
	@CGO_ENABLED=0 go build -C provision/cloud/engine/build -v -trimpath \
	  -ldflags "-s -w -X $(PULUMI)/sdk/v3/go/common/version.Version=$$(go list -C provision/cloud/engine/build -m -f '{{.Version}}' $(PULUMI)/pkg/v3)" \
	  -o "$(PULUMI_DIR)/bin/pulumi" $(PULUMI)/pkg/v3/cmd/pulumi 2>&1 | $(COUNTED)

.PHONY: up
up: build ## Bring SPEC up and show its nodes and pods
	$(CLI) bundle build --kubernetes $(KUBERNETES)
	$(CLI) up $(SPEC) --yes
	@$(CLI) kubectl $(SPEC) -- get nodes -o wide
	@$(CLI) kubectl $(SPEC) -- get pods --all-namespaces -o wide

.PHONY: down
down: build ## Remove SPEC's cluster and its hosts
	$(CLI) down $(SPEC) --yes

.PHONY: test
test: vet unit e2e ## Everything: vet, unit tests, end-to-end tests on real clusters

.PHONY: vet
vet: deps ## Formatting and go vet
	@unformatted="$$(gofmt -l $$(git ls-files '*.go'))"; [ -z "$$unformatted" ] || { echo "gofmt would change:" $$unformatted >&2; exit 1; }
	go vet ./...
	go vet -tags e2e ./...

.PHONY: unit
unit: deps ## Unit tests of all modules of ours
	go test ./...
	cd components/balancer/build/1 && go test ./...
	cd components/pause/build/1 && go test ./...

.PHONY: e2e
e2e: bundle pulumi ## End-to-end tests: real clusters on this machine (as root)
	go test -tags e2e -count=1 -p 1 -timeout 80m -v ./provision/... ./phases/preflight ./e2e/...

.PHONY: bench
bench: bundle pulumi ## Measure and print a table: cold up, up again, plan of 1,000 hosts, sizes
	go run ./e2e/bench

.PHONY: schema
schema: ## Write the JSON Schema of the spec again
	go generate ./provision/spec
