package docs

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestInstall installs from a place that has releases as goreleaser makes them.
func TestInstall(t *testing.T) {
	for _, name := range []string{"sh", "curl", "tar"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skip("there is no " + name)
		}
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		t.Skip("the script is for Linux and macOS")
	}
	const program = "#!/bin/sh\necho this is kx\n"
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for name, text := range map[string]string{"LICENSE": "free", "kx": program} {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(archive, text)
	}
	archive.Close()
	zipped.Close()
	name := func(version, system string) string { return "kx_" + version + "_" + system + ".tar.gz" }
	here := runtime.GOOS + "_" + runtime.GOARCH
	sums := func(version string, content []byte) string {
		sum := sha256.Sum256(content)
		return fmt.Sprintf("%x  %s\n%x  %s\n%x  kx_%s_linux_amd64.deb\n", sum, name(version, "plan9_amd64"), sum, name(version, here), sum, version)
	}
	files := map[string]string{
		"/latest/download/checksums.txt":          sums("1.3.0", packed.Bytes()),
		"/latest/download/" + name("1.3.0", here): packed.String(),
		"/download/v1.2.0/checksums.txt":          sums("1.2.0", packed.Bytes()),
		"/download/v1.2.0/" + name("1.2.0", here): packed.String(),
		"/download/v1.1.0/checksums.txt":          sums("1.1.0", packed.Bytes()),
		"/download/v1.1.0/" + name("1.1.0", here): packed.String()[:packed.Len()-1] + "!",
		"/download/v1.0.0/checksums.txt":          strings.ReplaceAll(sums("1.0.0", packed.Bytes()), here, "plan9_arm64"),
	}
	releases := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if text, ok := files[r.URL.Path]; ok {
			fmt.Fprint(w, text)
			return
		}
		http.NotFound(w, r)
	}))
	defer releases.Close()
	for _, test := range []struct{ version, want string }{
		{"latest", ""}, {"1.2.0", ""}, {"v1.2.0", ""},
		{"1.1.0", "does not have the checksum"},
		{"1.0.0", "release 1.0.0 has no archive for " + strings.Replace(here, "_", "/", 1)},
		{"0.9.0", "is 0.9.0 a release?"},
	} {
		to := filepath.Join(t.TempDir(), "a directory", "bin")
		cmd := exec.Command("ci/install.sh", test.version, to)
		cmd.Env = append(os.Environ(), "KX_RELEASES="+releases.URL)
		out, err := cmd.CombinedOutput()
		if test.want != "" {
			if err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("%s: %v, and not %q:\n%s", test.version, err, test.want, out)
			}
			if _, err := os.Stat(to); err == nil {
				t.Errorf("%s: there is a %s", test.version, to)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", test.version, err, out)
			continue
		}
		if said, err := exec.Command(filepath.Join(to, "kx")).Output(); string(said) != "this is kx\n" {
			t.Errorf("%s: %q, %v", test.version, said, err)
		}
	}
}
