package main

import (
	"bytes"
	"context"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

const aDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"crontabs.stable.example.com"},
 "spec":{"group":"stable.example.com","scope":"Namespaced","names":{"plural":"crontabs","singular":"crontab","kind":"CronTab"},
  "versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]}}`

// TestInstallsOnScreen finds installs by the filter that names them, and goes from a create to what it caused and back.
func TestInstallsOnScreen(t *testing.T) {
	server := serve(t, "--ephemeral")
	p := playScreen(t, server.kubeconfig, filepath.Join(t.TempDir(), "state.json"))
	p.see("live")
	if frame := p.model.View(); strings.Contains(frame, " install ") {
		t.Errorf("the screen begins with installs:\n%s", frame)
	}
	p.press("/", "verb:install resource:deployments", "enter")
	p.see("matching 1", "deployments.apps", "InstallAPIs", "registerResourceHandlers", "StorageWithCacher")

	// The definition of a custom resource is followed to what it caused.
	config, err := clientcmd.BuildConfigFromFlags("", server.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		config.Host+"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", bytes.NewReader([]byte(aDefinition)))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.Body.Close(); res.StatusCode != http.StatusCreated {
		t.Fatal(res.Status)
	}
	p.press("/", "ctrl+u", "agent:establishing", "enter")
	p.until("all has come to pass", func(frame string) bool { return strings.Contains(cursorRow(frame), " customresourcedefinitions") })
	p.press("/", "ctrl+u", "verb:create resource:customresourcedefinitions", "enter")
	p.until("the create is open", func(frame string) bool {
		return strings.Contains(cursorRow(frame), " create ") && strings.Contains(frame, "createHandler")
	})
	for range 7 {
		p.press("]")
	}
	p.see("caused", "kx/naming-controller")
	p.press("tab", "tab", "f", "naming-controller", "enter", "enter")
	p.see("kx/naming-controller", "cause ", "all requests")
	p.press("f", "which", "enter", "enter")
	p.see("createHandler")
}

// TestTraceInstalls lists, shows, tells and exports an install.
func TestTraceInstalls(t *testing.T) {
	newTyping(t)
	if a := typeCommand("trace", "ls"); a.code != 0 || strings.Contains(a.out, "INSTALL") {
		t.Errorf("exit code %d, all requests: %s", a.code, a.out)
	}
	listed := typeCommand("trace", "ls", "verb:install resource:configmaps")
	lines := strings.Split(strings.TrimSpace(listed.out), "\n")
	if listed.code != 0 || len(lines) != 1 {
		t.Fatalf("exit code %d: %s%s", listed.code, listed.err, listed.out)
	}
	fields := strings.Fields(lines[0])
	id := fields[len(fields)-1]
	for _, tt := range []struct {
		typed []string
		tells string
	}{
		{[]string{"trace", "show", id}, "GetRESTOptions configmaps — --watch-cache=false: UndecoratedStorage, as for every resource"},
		{[]string{"trace", "show", id, "--story"}, "May it watch? — the storage is a rest.Lister and a rest.Watcher: GET /api/v1/watch/namespaces/{namespace}/configmaps,"},
		{[]string{"trace", "show", id, "--source"}, "case !f.Options.EnableWatchCache:"},
		{[]string{"trace", "export", id}, "From then on it is served."},
		{[]string{"get", "journey", id, "-o", "jsonpath={.spec.verb}"}, "install"},
		{[]string{"get", "journeys", "--field-selector", "spec.verb=install,spec.resource=configmaps"}, id},
	} {
		if a := typeCommand(tt.typed...); a.code != 0 || !strings.Contains(a.out, tt.tells) {
			t.Errorf("%q (exit code %d) does not say %q:\n%s%s", tt.typed, a.code, tt.tells, a.err, a.out)
		}
	}
}
