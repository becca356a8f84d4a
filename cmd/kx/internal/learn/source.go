package learn

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/kx-apiserver/kx/server"
)

// example is the program of docs/own-storage.md. The lesson own-storage takes its main.go.
//
//go:embed moons/main.go moons/storage.go
var example embed.FS

// exampleDir is the directory of this package in a checkout.
const exampleDir = "cmd/kx/internal/learn"

// rooms lists the directories whose source is in the binary.
var rooms = []string{"core", "server", "store"}

// WriteSource implements play.Server. It writes the files from which this binary was built. go.mod names the modules
// with the versions that the linker recorded.
func (*Server) WriteSource(dir string) error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errors.New("this binary does not say which modules it was built of: play the lesson in a checkout of kx")
	}
	return writeSource(dir, info)
}

func writeSource(dir string, info *debug.BuildInfo) error {
	mod, sum, err := module(info)
	if err != nil {
		return err
	}
	for _, room := range rooms {
		files, err := fs.Sub(server.Source(), room)
		if err != nil {
			return err
		}
		if err := os.CopyFS(filepath.Join(dir, room), files); err != nil {
			return err
		}
	}
	if err := os.CopyFS(filepath.Join(dir, exampleDir), example); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "go.sum"), []byte(sum), 0o600)
}

// module makes go.mod and go.sum from a binary's build info.
func module(info *debug.BuildInfo) (mod, sum string, err error) {
	var require, sums strings.Builder
	for _, m := range info.Deps {
		if m.Replace != nil || m.Sum == "" {
			return "", "", fmt.Errorf("this binary was built of a changed %s: play the lesson in a checkout of kx", m.Path)
		}
		fmt.Fprintf(&require, "\t%s %s\n", m.Path, m.Version)
		fmt.Fprintf(&sums, "%s %s %s\n", m.Path, m.Version, m.Sum)
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(info.GoVersion, "go"), " ") // experiments follow after a space
	if parts := strings.SplitN(version, ".", 3); len(parts) == 3 {
		version = parts[0] + "." + parts[1] + ".0" // any release of this Go will do
	}
	return fmt.Sprintf("module github.com/kx-apiserver/kx\n\ngo %s\n\nrequire (\n%s)\n", version, require.String()), sums.String(), nil
}
