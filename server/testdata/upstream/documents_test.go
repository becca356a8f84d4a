package upstream

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/kx-apiserver/kx/server/internal/wiretest/documents"
)

// TestDocuments records what a kube-apiserver, whose binary the environment names, tells about itself in discovery and OpenAPI:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestDocuments -rewrite
//
// kx's TestDocumentsAsUpstream asks kx the same.
func TestDocuments(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" || flag.Lookup("rewrite").Value.String() != "true" {
		t.Skip("the documents are recorded with -rewrite, from a kube-apiserver whose binary KUBE_APISERVER names")
	}
	for _, flags := range []struct{ name, value string }{{"default", ""}, {"beta", "--runtime-config=api/beta=true"}} {
		var more []string
		if flags.value != "" {
			more = append(more, flags.value)
		}
		url, client := startKube(t, binary, more...)
		server := documents.Server{URL: url, Client: client}
		record := func(topic string, list func(context.Context, documents.Server) ([]documents.Ask, error)) {
			asks, err := list(t.Context(), server)
			must(t, err)
			var answers []documents.Answer
			must(t, server.Answers(t.Context(), asks, func(a documents.Answer) error {
				answers = append(answers, a)
				return nil
			}))
			must(t, documents.Write(filepath.Join("..", "documents", topic+"."+flags.name+documents.Ending), answers))
			t.Logf("%s at %s flags: %d answers", topic, flags.name, len(answers))
		}
		record("discovery", documents.Discovery)
		record("openapi", documents.OpenAPI)
	}
}
