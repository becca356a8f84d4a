package audit

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

const head = "apiVersion: audit.k8s.io/v1\nkind: Policy\n"

// TestPolicyErrors: what is wrong with a policy is one sentence, with the line and the field.
func TestPolicyErrors(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", "apiVersion: it is missing"},
		{"kind: Policy\nrules: [{level: None}]\n", "apiVersion: it is missing: write apiVersion: audit.k8s.io/v1"},
		{"apiVersion: audit.k8s.io/v1\nrules: []\n", "kind: it is missing: write kind: Policy"},
		{"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\n", `line 1: apiVersion: "audit.k8s.io/v1beta1" must be "audit.k8s.io/v1"`},
		{"apiVersion: audit.k8s.io/v1\nkind: Event\n", `line 2: kind: "Event" must be "Policy"`},
		{head, "line 1: rules: there is none"},
		{head + "rules:\n- level: [\n", "yaml: line "},
		{head + "rules: some\n", "line 3: rules: "},
		{head + "rules:\n- verbs: [get]\n", "line 4: rules[0].level: Required value"},
		{head + "rules:\n- {level: None}\n- {level: none}\n", `line 5: rules[1].level: Unsupported value: "none"`},
		{head + "omitStages:\n- RequestReceived\n- Later\nrules:\n- level: None\n", `line 5: omitStages[1]: Invalid value: "Later"`},
		{head + "rules:\n- level: None\n  nonResourceURLs:\n  - /a*b\n", `line 6: rules[0].nonResourceURLs[0]: Invalid value: "/a*b"`},
		{head + "rules:\n- level: None\n  resources:\n  - group: apps/v1\n", `line 6: rules[0].resources.group: Invalid value: "apps/v1"`},
		{head + "rules:\n- level: None\n  omitManagedFields: 7\n", "omitManagedFields"},
		{head + "omitStages: [Never]\nrules: [{}]\n", `line 3: omitStages[0]: Invalid value: "Never": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic; line 4: rules[0].level: Required value`},
	} {
		_, _, err := parsePolicy([]byte(tc.text))
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q\nsays %v\nnot  %s", tc.text, err, tc.want)
		}
	}
}

// TestPolicyWarnings: what a policy can't have is ignored, and the log says where it stands. That is what a kube-apiserver does.
func TestPolicyWarnings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "policy.yaml")
	text := head + "omitStage: [Panic]\nrules:\n- level: Metadata\n  level: Metadata\n  verb: [get]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	p, err := loadPolicy(file, slog.New(slog.NewTextHandler(&said, nil)))
	if err != nil || len(p.Rules) != 1 || p.Rules[0].Level != auditinternal.LevelMetadata {
		t.Errorf("%+v %v", p, err)
	}
	for _, want := range []string{`line 3: omitStage: unknown field`, `rules[0].verb: unknown field`, "already set", file} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, said.String())
		}
	}
}
