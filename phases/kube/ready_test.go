package kube

import (
	"context"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func caOf(ts *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: ts.Certificate().Raw})
}

func TestPlainAtTellsGoodFromBad(t *testing.T) {
	answer := http.StatusOK
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || r.Host != "127.0.0.1:10248" {
			t.Errorf("asked for %s of %s", r.URL.Path, r.Host)
		}
		w.WriteHeader(answer)
		_, _ = w.Write([]byte(strings.Repeat("x", 1000) + "[-]syncloop failed"))
	}))
	defer ts.Close()
	if err := PlainAt(t.Context(), dialTo(ts), 10248, "/healthz"); err != nil {
		t.Error(err)
	}
	answer = http.StatusInternalServerError
	err := PlainAt(t.Context(), dialTo(ts), 10248, "/healthz")
	if err == nil || !strings.HasPrefix(err.Error(), "500 ") || !strings.HasSuffix(err.Error(), "[-]syncloop failed") || len(err.Error()) > 400 {
		t.Errorf("error %v, want the status and the end of the answer", err)
	}
}

func TestPlainAtGivesTheErrorOfTheConnection(t *testing.T) {
	refused := errors.New("connection refused")
	dial := func(context.Context, string, string) (net.Conn, error) { return nil, refused }
	if err := PlainAt(t.Context(), dial, 10248, "/healthz"); !errors.Is(err, refused) {
		t.Errorf("error %v", err)
	}
}

func TestReadyAtRefusesAServerOfAnotherAuthority(t *testing.T) {
	ts := httptest.NewTLSServer(http.NotFoundHandler())
	defer ts.Close()
	ts.Config.ErrorLog = nil
	if err := ReadyAt(t.Context(), dialTo(ts), nil, 6443, "/readyz"); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("error %v", err)
	}
}
