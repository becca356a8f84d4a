package main

import (
	_ "embed"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"text/template"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin/all"
)

// beside lists the packages of kinds that are in no table: kx's own, and definitions of custom resources.
var beside = []string{
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1",
}

// parts lists the packages whose types occur in those.
var parts = []string{
	"k8s.io/api/scheduling/v1alpha3",
	"k8s.io/apimachinery/pkg/api/resource",
	"k8s.io/apimachinery/pkg/apis/meta/v1",
	"k8s.io/apimachinery/pkg/runtime",
	"k8s.io/apimachinery/pkg/util/intstr",
	"k8s.io/apimachinery/pkg/version",
}

//go:embed dump.go.tmpl
var dumpSource string

func main() {
	out := flag.String("out", "", "the file to write")
	flag.Parse()
	if *out == "" {
		fmt.Fprintln(os.Stderr, "gen: -out is needed: the file to write")
		os.Exit(2)
	}
	if err := run(*out); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// packagesOfKinds returns the packages whose types have kinds. openapi-gen silently skips a package whose doc.go lacks
// +k8s:openapi-gen=true.
func packagesOfKinds() ([]string, error) {
	packages := slices.Clone(beside)
	for _, group := range all.Groups(all.Needs{}) {
		for _, version := range group.Versions {
			scheme := runtime.NewScheme()
			if err := version.Types(scheme); err != nil {
				return nil, fmt.Errorf("register the types of %s: %w", version.GroupVersion, err)
			}
			for _, goType := range scheme.KnownTypes(version.GroupVersion) {
				if path := goType.PkgPath(); !slices.Contains(parts, path) {
					packages = append(packages, path)
				}
			}
		}
	}
	slices.Sort(packages)
	return slices.Compact(packages), nil
}

func run(out string) error {
	kinds, err := packagesOfKinds()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "kx-openapi-gen-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	header := filepath.Join(dir, "header.txt")
	if err := os.WriteFile(header, nil, 0o600); err != nil {
		return err
	}
	// With a report file openapi-gen writes its complaints about upstream's types there instead of failing.
	args := []string{"tool", "openapi-gen", "--output-dir", dir, "--output-pkg", "kx/main", "--output-file", "definitions.go",
		"--go-header-file", header, "--report-filename", filepath.Join(dir, "violations.txt")}
	if err := goCommand(slices.Concat(args, kinds, parts)...); err != nil {
		return err
	}

	dump := filepath.Join(dir, "dump.go")
	if err := writeDump(dump, kinds); err != nil {
		return err
	}
	// Named files are compiled as part of this module, wherever they lie, so go.mod decides the versions.
	return goCommand("run", dump, filepath.Join(dir, "definitions.go"), out)
}

func writeDump(path string, kinds []string) error {
	tmpl, err := template.New("dump").Parse(dumpSource)
	if err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := tmpl.Execute(f, kinds); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return f.Close()
}

func goCommand(args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go %v: %w", args, err)
	}
	return nil
}
