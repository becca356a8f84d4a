package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestTraceRefused asks why requests were refused, and by whose doing.
func TestTraceRefused(t *testing.T) {
	p := newTyping(t)
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	must := func(args ...string) answer {
		t.Helper()
		a := typeCommand(args...)
		if a.code != 0 {
			t.Fatalf("%v: exit code %d: %s", args, a.code, a.err)
		}
		return a
	}
	must("create", "configmap", "moved", "--from-literal=a=1", "--from-literal=b=1")
	read := must("get", "configmap", "moved", "-o", "json").out
	change := func(name, from, to string) string {
		if !strings.Contains(read, from) {
			t.Fatalf("%s is not in %s", from, read)
		}
		return file(name, strings.ReplaceAll(read, from, to))
	}
	must("replace", "--trace", "-f", change("theirs.json", `"a": "1"`, `"a": "2"`))
	must("apply", "-f", file("definition.yaml", refusedDefinition), "--server-side")
	must("wait", "--for=condition=Established", "crd/ranges.refused.test", "--timeout=60s")
	must("create", "configmap", "gone")
	must("delete", "configmap", "gone")
	must("create", "clusterrole", "journeys", "--verb=get", "--resource=journeys.kx.dev")
	must("create", "clusterrolebinding", "journeys", "--clusterrole=journeys", "--user=ann")
	for deadline := time.Now().Add(patience); typeCommand("auth", "why", "get", "journeys.kx.dev", "-A", "--as", "ann").code != 0; {
		if time.Now().After(deadline) {
			t.Fatal("ann may not read journeys")
		}
	}

	for _, test := range []struct {
		name  string
		typed []string
		card  string // a regular expression
	}{
		{"both changed it", []string{"replace", "-f", change("yours.json", `"a": "1"`, `"a": "3"`)}, `409 Conflict
 +you sent +revision \d+
 +etcd has +revision \d+
 +moved by +request [0-9a-f]+-\d+, update of kx\S+ to revision \d+, \S+ earlier
 +yours +data.a: "1" → "3"
 +theirs +data.a: "1" → "2"
 +both +data.a
 +do +read the object again, decide`},
		{"each changed something else", []string{"replace", "-f", change("else.json", `"b": "1"`, `"b": "3"`)}, `409 Conflict
(.*\n)+ +yours +data.b: "1" → "3"
 +theirs +data.a: "1" → "2"
 +do +nobody else changed these fields`},
		{"it is there", []string{"create", "configmap", "moved"}, `409 Conflict
 +etcd has +the object already
 +written by +request [0-9a-f]+-\d+, create of kx\S+, \S+ earlier
 +written by +request [0-9a-f]+-\d+, update of kx`},
		{"others own it", []string{"apply", "--server-side", "--field-manager=me", "-f", file("mine.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: moved}\ndata: {a: \"9\"}\n")}, `409 Conflict
 +applied as +me
 +owned +data.a: conflict with "kubectl-\S+" using v1
 +do .*--force-conflicts`},
		{"a rule forbids it", []string{"create", "-f", file("range.yaml", "apiVersion: refused.test/v1\nkind: Range\nmetadata: {name: r}\nspec: {min: 5, max: 3}\n")}, `422 Unprocessable Entity
 +rule +self.max >= self.min
 +at spec in the schema of ranges.refused.test: spec: Invalid value: max below min`},
		{"the schema forbids it", []string{"create", "-f", file("high.yaml", "apiVersion: refused.test/v1\nkind: Range\nmetadata: {name: r}\nspec: {min: 20, max: 30}\n")}, `422 Unprocessable Entity
 +field +spec.max: Invalid value: 30: spec.max in body should be less than or equal to 10
( +field .*\n)? +schema +of ranges.refused.test;`},
		{"it was deleted", []string{"get", "configmap", "gone"}, `404 Not Found
 +etcd has +nothing at /registry/configmaps/default/gone
 +deleted by +request [0-9a-f]+-\d+, delete of kx`},
		{"a right lacks", []string{"get", "--raw", "/api/v1/secrets", "--as", "ann", "--as-group", "dev", "--as-group", "it's"}, `403 Forbidden
 +who +ann
(.*\n)+ +do +have somebody who may give the user the right to it: kx auth why list secrets -A --as ann --as-group dev --as-group 'it'\\''s' writes`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := typeCommand(append(test.typed, "--trace")...)
			if a.code == 0 {
				t.Fatalf("it was not refused: %s", a.out)
			}
			p.remember(a)
			shown := typeCommand("trace", "show", p.values["ID"])
			for _, text := range []string{a.err, shown.out} {
				if ok, err := regexp.MatchString("(?m)^  "+test.card, text); !ok || err != nil {
					t.Errorf("%v; exit code %d: %s%s", err, shown.code, shown.err, text)
				}
			}
			told := typeCommand("trace", "show", "--story", p.values["ID"])
			if !strings.Contains(told.out, "What can be done: ") {
				t.Errorf("the story does not say what can be done: %s%s", told.err, told.out)
			}
		})
	}
}

const refusedDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ranges.refused.test}
spec:
  group: refused.test
  scope: Namespaced
  names: {plural: ranges, kind: Range}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "self.max >= self.min", message: max below min}]
            properties:
              min: {type: integer}
              max: {type: integer, maximum: 10}
`
