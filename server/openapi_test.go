package server_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/version"
)

// TestDocumentsHash compares the hash by which clients know OpenAPI documents of another build of kx with the documents of
// everything that is built in. -rewrite writes it.
func TestDocumentsHash(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.RuntimeConfig = map[string]string{"api/all": "true"} })
	client := r.admin(t).RESTClient()
	index, err := r.admin(t).Discovery().OpenAPIV3().Paths()
	must(t, err)
	urls := []string{"/openapi/v2"}
	for _, path := range slices.Sorted(maps.Keys(index)) {
		urls = append(urls, "/openapi/v3/"+path)
	}
	if len(urls) < 15 {
		t.Errorf("documents: %q", urls)
	}
	hash := sha256.New()
	for _, url := range urls {
		document, err := client.Get().AbsPath(url).SetHeader("Accept", "application/json").DoRaw(t.Context())
		must(t, err)
		fmt.Fprintf(hash, "%s %s\n", url, strings.ReplaceAll(string(document), version.Info().GitVersion, "VERSION"))
	}
	file := filepath.Join("openapi", "documents.sha256")
	is := fmt.Sprintf("%x\n", hash.Sum(nil))
	if flag.Lookup("rewrite").Value.String() == "true" {
		must(t, os.WriteFile(file, []byte(is), 0o644))
		return
	}
	was, err := os.ReadFile(file)
	must(t, err)
	if string(was) != is {
		t.Errorf("the documents have the hash %sand %s says %sgo test ./server -run TestDocumentsHash -rewrite", is, file, was)
	}
}
