package upstream

import (
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/internal/wiretest/survey"
)

var only = flag.String("only", "", "record the survey of these groups and resources alone: apps,core/pods")

// TestSurvey asks a kube-apiserver, whose binary the environment names, what kx's TestSurvey asks kx:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestSurvey -rewrite -only core/pods
//
// records what it answers about pods. Without -only it records everything.
func TestSurvey(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" || flag.Lookup("rewrite").Value.String() != "true" {
		t.Skip("the survey is recorded with -rewrite, from a kube-apiserver whose binary KUBE_APISERVER names")
	}
	url, client := startKube(t, binary, "--disable-admission-plugins="+strings.Join(survey.Deciding, ","), "--runtime-config=api/beta=true", "--allow-privileged")
	client.Transport.(withToken).RoundTripper.(*http.Transport).MaxIdleConnsPerHost = 100
	server := survey.Server{URL: url, Client: client}
	dir := filepath.Join("..", "survey")
	sources, err := survey.Sources(filepath.Join(dir, "objects"), ".yaml")
	must(t, err)
	for _, source := range sources {
		if !source.Matches(*only) {
			continue
		}
		t.Run(source.String(), func(t *testing.T) {
			record(t, server, source, dir)
		})
	}
}

func record(t *testing.T, server survey.Server, source survey.Source, dir string) {
	documents, err := survey.Load(filepath.Join(dir, "objects"), source)
	must(t, err)
	var all survey.Resource
	for _, object := range documents.Objects {
		resource, err := server.Find(t.Context(), object, source.Resource)
		must(t, err)
		if resource == nil {
			t.Fatalf("the kube-apiserver does not serve the version of %v", object)
		}
		all.HasStatus = all.HasStatus || resource.HasStatus
		all.Stored = all.Stored || resource.Stored
	}
	cases, err := survey.Changes(source, documents.Objects, all)
	must(t, err)
	records, err := server.Ask(t.Context(), source.Resource, documents, cases)
	must(t, err)
	records = slices.DeleteFunc(records, func(r survey.Record) bool {
		if !r.Answered() {
			t.Logf("no answer: %+v", r.Case)
		}
		return !r.Answered()
	})
	for _, r := range records {
		if r.At == "" && !r.Accepted() {
			t.Errorf("object %d is not valid, %s: %d %s %v", r.Doc, r.Via, r.Code, r.Message, r.Causes)
		}
	}
	must(t, survey.Recording{Documents: documents, Records: records}.Write(survey.File(dir, source)))
	t.Logf("%d cases", len(records))
}
