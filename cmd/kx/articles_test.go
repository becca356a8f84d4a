package main

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/docs"
)

// lampDefinition is a definition with all that the articles look at.
const lampDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"lamps.example.com"},"spec":{
"group":"example.com","scope":"Namespaced","names":{"plural":"lamps","singular":"lamp","kind":"Lamp"},"versions":[{"name":"v1","served":true,
"storage":true,"subresources":{"status":{}},"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}}`

// TestLearnArticles reads what kx says of the articles, in both languages: it has their names and no chains.
func TestLearnArticles(t *testing.T) {
	for _, c := range []struct {
		args  []string
		wants []string
	}{
		{[]string{"learn", "articles", "--lang", "en"}, []string{"K8s Apiserver 中的存储层调用链路梳理", "now, in Kubernetes 1.37", "kx trace ls step:crd.info"}},
		{[]string{"learn", "articles", "--lang", "zh"}, []string{"kube-apiserver handler 注册源码分析", "亲眼看", "kx trace ls step:crd.info"}},
	} {
		a := typeCommand(c.args...)
		said := strings.Join(strings.Fields(a.out), " ")
		for _, want := range c.wants {
			if !strings.Contains(said, want) {
				t.Errorf("%q do not say %q: %s", c.args, want, a.out)
			}
		}
		if a.code != 0 || strings.Contains(a.out, "transcripts/") {
			t.Errorf("%q: %d", c.args, a.code)
		}
	}
}

// TestArticlesAreSeen runs the commands by which the documents about the articles have their rows seen, after requests like those that the
// articles follow. Each must name a request, or the installation of a resource.
func TestArticlesAreSeen(t *testing.T) {
	t.Parallel()
	p := serve(t, "--data-dir", t.TempDir())
	m := newMachine(t)
	run := func(input string, args ...string) answer {
		return m.run(input, append(args, "--kubeconfig", p.kubeconfig)...)
	}
	for _, request := range []struct{ input, args string }{
		{lampDefinition, "create -f -"},
		{"", "wait --for=condition=Established crd/lamps.example.com"},
		{`{"apiVersion":"example.com/v1","kind":"Lamp","metadata":{"name":"one"}}`, "create -f -"},
		{"", "get lamp one"},
		{"", "create deployment web --image=nginx"},
		{"", "patch deployment web --subresource=status --type=merge -p {\"status\":{\"replicas\":0}}"},
		{"", "scale deployment web --replicas=2"},
		{"", "create service clusterip web --tcp=80"},
		{"", "create configmap app --from-literal=a=b"},
		{"", "get configmap app"},
		{"", "get configmaps"},
	} {
		if a := run(request.input, strings.Fields(request.args)...); a.code != 0 {
			t.Fatalf("kx %s: %+v", request.args, a)
		}
	}
	// It waits for a revision that never comes, until the client leaves.
	if a := run("", "get", "--raw", "/api/v1/namespaces/default/configmaps/app?resourceVersion=1000000", "--request-timeout=3s"); a.code == 0 {
		t.Errorf("an object of a later revision was read: %s", a.out)
	}
	rows := map[string]int{}
	for _, name := range []string{"articles.md", "articles.zh.md"} {
		data, err := fs.ReadFile(docs.Files, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, command := range regexp.MustCompile("(?m)`kx trace ls ([^`]+)` · ").FindAllStringSubmatch(string(data), -1) {
			rows[command[1]]++
		}
	}
	if len(rows) < 20 {
		t.Errorf("the documents have %d commands", len(rows))
	}
	for command, times := range rows {
		if times%2 != 0 {
			t.Errorf("kx trace ls %s is in one of the two documents more often than in the other", command)
		}
		until(t, "kx trace ls "+command+" shows a request", func() bool {
			a := run("", "trace", "ls", strings.Trim(command, "'"))
			return a.code == 0 && strings.TrimSpace(a.out) != ""
		})
	}
}
