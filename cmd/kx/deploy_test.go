package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
)

// deployments is the directory of the files that run kx as a service.
var deployments = filepath.Join("..", "..", "docs", "deploy")

// TestDeployment holds the kustomization against an API server, and the flags in it, and in the unit, against those of kx serve.
func TestDeployment(t *testing.T) {
	t.Parallel()
	dir, err := filepath.Abs(filepath.Join(deployments, "kubernetes"))
	if err != nil {
		t.Fatal(err)
	}
	if a := newMachine(t).run("", "check", "--strict", "-k", dir); a.code != 0 {
		t.Errorf("exit code %d:\n%s%s", a.code, a.out, a.err)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "server.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096).Decode(&deployment); err != nil {
		t.Fatal(err)
	}
	unit, err := os.ReadFile(filepath.Join(deployments, "kx.service"))
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=/usr/bin/kx (.*) \$KX_FLAGS$`).FindSubmatch(unit)
	if start == nil {
		t.Fatalf("the unit starts no kx:\n%s", unit)
	}
	for name, args := range map[string][]string{
		"server.yaml": deployment.Spec.Template.Spec.Containers[0].Args, "kx.service": strings.Fields(string(start[1])),
	} {
		cmd, flags, err := newRootCommand(kubectl.Streams{}).Find(args)
		if err != nil || cmd.Name() != "serve" {
			t.Errorf("%s runs %q: %v", name, args, err)
			continue
		}
		for i := range flags {
			flags[i] = strings.ReplaceAll(flags[i], "$(ADDRESS)", "10.0.0.1")
		}
		if err := cmd.ParseFlags(flags); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
