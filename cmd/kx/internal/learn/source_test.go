package learn

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// A binary alone has what a program needs that is a server of its own: Go finds each import, file and module of it.
func TestSourceIsWhole(t *testing.T) {
	dir := t.TempDir()
	if err := writeSource(dir, noted(t)); err != nil {
		t.Fatal(err)
	}
	const files = `{{if not .Standard}}{{.ImportPath}} {{.GoFiles}} {{.EmbedFiles}} {{with .Module}}{{.Path}} {{.Version}}{{end}}{{end}}`
	whole := list(t, root, "-mod=readonly", files, "./"+exampleDir+"/moons")
	copied := list(t, dir, "-mod=mod", files, "./"+exampleDir+"/moons")
	if whole != copied {
		t.Errorf("the program is made of other files or modules:\n%s", difference(whole, copied))
	}
}

// root is a checkout.
var root = filepath.Join("..", "..", "..", "..")

// noted is what the linker notes in kx, which it does not in the binary of a test: the modules of all packages.
func noted(t *testing.T) *debug.BuildInfo {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		sums[fields[0]+" "+fields[1]] = fields[2]
	}
	info := &debug.BuildInfo{GoVersion: runtime.Version()}
	modules := list(t, root, "-mod=readonly", `{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}`, "./cmd/kx")
	for _, module := range slices.Compact(slices.Sorted(strings.SplitSeq(strings.TrimSpace(modules), "\n"))) {
		path, version, _ := strings.Cut(module, " ")
		info.Deps = append(info.Deps, &debug.Module{Path: path, Version: version, Sum: sums[module]})
	}
	return info
}

// list prints something of all packages of which one is built in a directory; nothing may be downloaded.
func list(t *testing.T, dir, flag, format, name string) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", flag, "-deps", "-f", format, name)
	list.Dir = dir
	list.Env = append(os.Environ(), "GOPROXY=off", "GONOSUMDB=*", "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", list, err, err.(*exec.ExitError).Stderr)
	}
	return string(out)
}

// difference has the lines that only one of two texts has.
func difference(a, b string) string {
	in := map[string]int{}
	for line := range strings.Lines(a) {
		in[line]++
	}
	for line := range strings.Lines(b) {
		in[line]--
	}
	var d strings.Builder
	for line, n := range in {
		if n != 0 {
			d.WriteString(map[bool]string{true: "-", false: "+"}[n > 0] + line)
		}
	}
	return d.String()
}
