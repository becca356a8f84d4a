package kxtest_test

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// sceneVariable has the test binary run a test that only another test wants.
const sceneVariable = "KXTEST_SCENE"

// scene runs a test of this package, which fails or is killed, in a process of its own.
func scene(t *testing.T, name string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+name+"$", "-test.timeout=5m")
	cmd.Env = append(append(os.Environ(), sceneVariable+"=yes"), env...)
	return cmd
}

func onlyAsScene(t *testing.T) {
	if os.Getenv(sceneVariable) == "" {
		t.Skip("another test runs it")
	}
}

func TestSceneFails(t *testing.T) {
	onlyAsScene(t)
	s := kxtest.Start(t)
	_, err := clientOf(t, s.Config()).CoreV1().ConfigMaps("default").Create(within(t), configMap("of-the-scene"), metav1.CreateOptions{})
	must(t, err)
	t.Error("as it must be")
}

func TestSceneFailsLate(t *testing.T) {
	onlyAsScene(t)
	maps := clientOf(t, kxtest.Start(t).Config()).CoreV1().ConfigMaps("default")
	_, err := maps.Create(within(t), configMap("early"), metav1.CreateOptions{})
	must(t, err)
	if _, err = maps.Get(within(t), "refused-early", metav1.GetOptions{}); err == nil {
		t.Fatal("it is there")
	}
	for range 220 {
		_, err := maps.Get(within(t), "early", metav1.GetOptions{})
		must(t, err)
	}
	t.Error("as it must be")
}

func TestScenePanics(t *testing.T) {
	onlyAsScene(t)
	s := kxtest.Start(t)
	_, err := clientOf(t, s.Config()).CoreV1().ConfigMaps("default").Create(within(t), configMap("of-the-scene"), metav1.CreateOptions{})
	must(t, err)
	panic("as it must be")
}

func TestSceneFailsInPart(t *testing.T) {
	onlyAsScene(t)
	for _, name := range []string{"one", strings.Repeat("a long name, Ω ", 30)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := kxtest.Start(t)
			_, err := clientOf(t, s.Config()).CoreV1().ConfigMaps("default").Create(within(t), configMap("of-the-scene"), metav1.CreateOptions{})
			must(t, err)
			t.Error("as it must be")
		})
	}
}

func TestScenePasses(t *testing.T) {
	onlyAsScene(t)
	kxtest.Start(t, kxtest.CRDs("testdata/crd"))
}

func TestSceneWaits(t *testing.T) {
	onlyAsScene(t)
	s := kxtest.Start(t)
	fmt.Println(filepath.Dir(s.Kubeconfig()), s.Config().Host)
	time.Sleep(time.Hour) // until it is killed
}

// TestFailureLeavesAPage: the last line of the log of a failed test names a page with its requests. A test that passes
// says nothing.
func TestFailureLeavesAPage(t *testing.T) {
	t.Parallel()
	pages := t.TempDir()
	for n := 1; n <= 2; n++ {
		out, err := scene(t, "TestSceneFails", "KXTEST_ARTIFACTS="+pages).CombinedOutput()
		log, _, _ := strings.Cut(string(out), "FAIL\n")
		lines := strings.Split(strings.TrimSpace(log), "\n")
		_, page, named := strings.Cut(lines[len(lines)-1], "kx tui -r: ")
		if err == nil || !named || !strings.Contains(log, "the log of kx serve") {
			t.Fatalf("%v: %s", err, out)
		}
		text, err := os.ReadFile(page)
		must(t, err)
		if filepath.Dir(page) != pages || !strings.Contains(string(text), "<html") || !strings.Contains(string(text), "of-the-scene") {
			t.Errorf("%s has %d bytes", page, len(text))
		}
		if kept, _ := filepath.Glob(filepath.Join(pages, "TestSceneFails*.html")); len(kept) != n {
			t.Errorf("%d runs left %v", n, kept)
		}
	}
	out, err := scene(t, "TestSceneFailsLate", "KXTEST_ARTIFACTS="+pages).CombinedOutput()
	page, readErr := os.ReadFile(filepath.Join(pages, "TestSceneFailsLate.html"))
	if err == nil || readErr != nil || strings.Contains(string(page), "POST /api") || !strings.Contains(string(page), "configmaps/refused-early") {
		t.Errorf("%v, %v, %d bytes: %s", err, readErr, len(page), out)
	}
	for name, count := range map[string]int{"TestScenePanics": 1, "TestSceneFailsInPart": 2} {
		out, err := scene(t, name, "KXTEST_ARTIFACTS="+pages).CombinedOutput()
		if named := strings.Count(string(out), "kx tui -r: "+filepath.Join(pages, name)); err == nil || named != count {
			t.Errorf("%v, %d pages: %s", err, named, out)
		}
		kept, _ := filepath.Glob(filepath.Join(pages, name+"*.html"))
		if len(kept) != count {
			t.Errorf("%s left %v", name, kept)
		}
		for _, page := range kept {
			if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "of-the-scene") {
				t.Errorf("%s has %d bytes: %v", page, len(text), err)
			}
		}
	}
	out, err = scene(t, "TestScenePasses", "KXTEST_ARTIFACTS="+pages).CombinedOutput()
	if err != nil || string(out) != "PASS\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestKilled: of a test that is killed no server stays, and no directory after the next start.
func TestKilled(t *testing.T) {
	t.Parallel()
	temporary := t.TempDir()
	cmd := scene(t, "TestSceneWaits", "TMPDIR="+temporary)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	var dir, host string
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	if _, err := fmt.Sscan(line, &dir, &host); err != nil || filepath.Dir(dir) != temporary {
		t.Fatalf("%q: %v", line, err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	address := strings.TrimPrefix(host, "https://")
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err != nil {
			break
		}
		c.Close()
		if time.Now().After(deadline) {
			t.Fatal("the server outlives its test")
		}
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("nobody is there to remove it: %v", err)
	}
	if out, err := scene(t, "TestScenePasses", "TMPDIR="+temporary).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if left, _ := filepath.Glob(filepath.Join(temporary, "*")); len(left) > 0 {
		t.Errorf("%v stay", left)
	}
}

// TestNoBinary: without kx, or with a program that is not kx, a test fails with one sentence that says so.
func TestNoBinary(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"talks": "echo hello; exec tail -f /dev/null", "ends": "echo nothing here >&2"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700))
	}
	for path, want := range map[string]string{
		"/does/not/exist":           "the variable KX names no program: ",
		filepath.Join(dir, "talks"): filepath.Join(dir, "talks") + ` serve printed "hello"`,
		filepath.Join(dir, "ends"):  filepath.Join(dir, "ends") + " serve ended: nothing here",
	} {
		out, err := scene(t, "TestScenePasses", "KX="+path).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "kxtest: "+want) {
			t.Errorf("%s: %v: %s", path, err, out)
		}
	}
}

// TestStopIsBounded: a request that does not end keeps the server from stopping, and the test names it.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	body, hold := io.Pipe()
	defer hold.Close()
	said := failing(t, func(t testing.TB) {
		s := kxtest.Start(t)
		config := s.Config()
		config.UserAgent = "slow-writer"
		client, err := rest.HTTPClientFor(config)
		must(t, err)
		go func() {
			response, err := client.Post(config.Host+"/api/v1/namespaces/default/configmaps", "application/json", body)
			if err == nil {
				response.Body.Close()
			}
		}()
		_, err = hold.Write([]byte("{"))
		must(t, err)
		s.MustSee(t, "phase:running verb:create agent:slow-writer")
	})
	if !strings.Contains(said, "did not stop within") || !strings.Contains(said, "POST /api/v1/namespaces/default/configmaps") ||
		!strings.Contains(said, "slow-writer") {
		t.Errorf("%q", said)
	}
}

// refuse serves a webhook that refuses all, where the server was told to find it.
func refuse(t *testing.T, w kxtest.Webhook) (stop func()) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/validate", func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		body, err := io.ReadAll(r.Body)
		if err = errors.Join(err, json.Unmarshal(body, &review)); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Result: &metav1.Status{Message: "no widgets today"}}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // the client is gone then
	})
	cert, err := tls.LoadX509KeyPair(filepath.Join(w.LocalServingCertDir, "tls.crt"), filepath.Join(w.LocalServingCertDir, "tls.key"))
	must(t, err)
	listener, err := tls.Listen("tcp", net.JoinHostPort(w.LocalServingHost, strconv.Itoa(w.LocalServingPort)),
		&tls.Config{Certificates: []tls.Certificate{cert}})
	must(t, err)
	server := &http.Server{Handler: mux}
	go func() { _ = server.Serve(listener) }()
	return func() { server.Close() }
}

// TestConversion: a conversion webhook behind a service is asked where the test serves it.
func TestConversion(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/conversion"))
	if _, err := os.Stat(filepath.Join(s.Webhook.LocalServingCertDir, "tls.crt")); err != nil || s.Webhook.LocalServingPort == 0 {
		t.Fatalf("%+v: %v", s.Webhook, err)
	}
	client, err := dynamic.NewForConfig(s.Config())
	must(t, err)
	gizmos := schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "gizmos"}
	gizmo := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gizmo", "metadata": map[string]any{"name": "one"}}}
	_, err = client.Resource(gizmos).Create(within(t), gizmo, metav1.CreateOptions{})
	address := net.JoinHostPort(s.Webhook.LocalServingHost, strconv.Itoa(s.Webhook.LocalServingPort))
	if want := "https://" + address + "/convert"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v does not name %s", err, want)
	}
}

// TestWebhooks: the webhooks of the manifests are asked where the test serves them. A webhook that is gone keeps no
// server from stopping.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Webhooks("testdata/webhook"))
	stop := refuse(t, s.Webhook)
	client, err := dynamic.NewForConfig(s.Config())
	must(t, err)
	widget := map[string]any{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": "refused"}}
	create := func(dryRun ...string) error {
		options := metav1.CreateOptions{DryRun: dryRun}
		_, err := client.Resource(widgets).Namespace("default").Create(within(t), &unstructured.Unstructured{Object: widget}, options)
		return err
	}
	// Admission learns of a webhook a moment after Start has stored it.
	for create(metav1.DryRunAll) == nil {
	}
	refused := func() {
		t.Helper()
		if err := create(); err == nil || !strings.Contains(err.Error(), "no widgets today") {
			t.Errorf("%v", err)
		}
	}
	refused()
	for how, want := range map[kxtest.Outage]string{
		kxtest.Refused: "connection refused", kxtest.ServerError: "500 Internal Server Error", kxtest.BadCertificate: "unknown authority",
	} {
		down := s.Fault(t, kxtest.WebhookDown("widgets.example.com", how).On("create", "widgets").Times(1))
		if err := create(); err == nil || !strings.Contains(err.Error(), "failed calling webhook") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", how, err)
		}
		down.MustHit(t, 1)
		refused()
	}
	seen := s.MustSee(t, "verb:create resource:widgets code>=400")
	if !strings.Contains(seen[0].Reason, "no widgets today") {
		t.Errorf("%+v", seen)
	}
	stop()
	if err := create(); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
		t.Errorf("a webhook that is gone: %v", err)
	}
}
