package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// The command from end to end: a table on stdout, a result to compare, and nothing else.
func TestBench(t *testing.T) {
	t.Parallel()
	p := serve(t, "--ephemeral")
	result := filepath.Join(t.TempDir(), "result.json")
	args := []string{"bench", "--kubeconfig", p.kubeconfig, "--pid", strconv.Itoa(p.Process.Pid), "--objects", "20", "--watchers", "2",
		"--shape", "flat,nested", "--duration", "50ms", "--only", "get,list,watch,deletecollection", "-o", result}
	cmd := kx(t, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("%v: %s%s", err, out, stderr.String())
	}
	for _, want := range []string{"20 flat objects of 1,500 bytes, 16 requests at a time", "20 nested objects", "CPU each", "\ncreate ", "\nget ", "\nwatch ", "\ndeletecollection "} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the table has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(string(out), "failed") {
		t.Errorf("%s", out)
	}
	out, err = kx(t, "bench", "compare", result, result).Output()
	if err != nil || strings.Count(string(out), "(×1.00)") < 10 {
		t.Errorf("compared with itself: %v\n%s", err, out)
	}
}

// An interrupt in the middle leaves nothing on the server, and is not a success.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	p := serve(t, "--ephemeral")
	cmd := kx(t, "bench", "--kubeconfig", p.kubeconfig, "--objects", "50", "--duration", "1h")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text, buffer := "", make([]byte, 4096)
	for !strings.Contains(text, "\ncreate ") {
		n, err := stdout.Read(buffer)
		text += string(buffer[:n])
		if err != nil {
			t.Fatalf("%v after %q: %s", err, text, stderr.String())
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "kx: bench: get: interrupted by interrupt") {
		t.Errorf("ended with %v: %s", err, stderr.String())
	}
	left, err := p.client(t).RESTClient().Get().AbsPath("/apis/apiextensions.k8s.io/v1/customresourcedefinitions").DoRaw(t.Context())
	if err != nil || strings.Contains(string(left), "bench.kx.dev") {
		t.Errorf("left: %v %s", err, left)
	}
}

func TestBenchWithoutServer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ args, want string }{
		{"--kubeconfig /does/not/exist", "/does/not/exist"},
		{"--objects 0 --kubeconfig KUBECONFIG", "0 objects"},
		{"--only fly --kubeconfig KUBECONFIG", `operation "fly" is unknown`},
		{"--kubeconfig KUBECONFIG", "connect to 127.0.0.1:1"},
		{"compare /does/not/exist /does/not/exist", "/does/not/exist"},
	} {
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		const text = `{"clusters":[{"name":"a","cluster":{"server":"https://127.0.0.1:1"}}],"contexts":[{"name":"a","context":{"cluster":"a"}}],"current-context":"a"}`
		if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args := strings.Fields(strings.ReplaceAll(tt.args, "KUBECONFIG", kubeconfig))
		out, err := kx(t, append([]string{"bench"}, args...)...).CombinedOutput()
		if err == nil || !strings.HasPrefix(string(out), "kx: ") || !strings.Contains(string(out), tt.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%s: %v %q, want %s", tt.args, err, out, tt.want)
		}
	}
}
