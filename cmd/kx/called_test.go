package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// binaries is a directory of kx testassets.
type binaries string

// testassets makes the directory, by several processes at once.
func testassets(t *testing.T) binaries {
	t.Helper()
	cache := t.TempDir()
	var wanted sync.WaitGroup
	said := make([]string, 3)
	for i := range said {
		wanted.Go(func() {
			cmd := kx(t, "testassets")
			cmd.Env = append(cmd.Env, "XDG_CACHE_HOME="+cache, "HOME="+cache)
			out, err := cmd.Output()
			if err != nil {
				t.Errorf("kx testassets: %v", err)
			}
			said[i] = string(out)
		})
	}
	wanted.Wait()
	if len(slices.Compact(slices.Clone(said))) != 1 {
		t.Fatalf("three processes made %q", said)
	}
	dir := strings.TrimSuffix(said[0], "\n")
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(found) != 3 || !strings.HasPrefix(dir, cache) {
		t.Fatalf("%s has %q, %v", dir, found, err)
	}
	return binaries(dir)
}

// called is kx by another name.
func (b binaries) called(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := kx(t, args...)
	cmd.Path = filepath.Join(string(b), name)
	cmd.Args[0] = cmd.Path
	return cmd
}

// run starts a program, which is interrupted at the end of the test and must end in good order: etcd then ends itself by
// the signal.
func (b binaries) run(t *testing.T, name string, variables []string, args ...string) *buffer {
	t.Helper()
	cmd, stderr := b.called(t, name, args...), &buffer{}
	cmd.Env = append(cmd.Env, variables...)
	cmd.Stderr = stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		interrupt(t, cmd, func() error {
			err := cmd.Wait()
			if name == "etcd" && err != nil && err.Error() == "signal: interrupt" {
				return nil
			}
			return err
		})
		if t.Failed() {
			t.Logf("%s said\n%s", name, stderr)
		}
	})
	return stderr
}

// controlPlane is an etcd and a kube-apiserver, started as envtest starts them.
type controlPlane struct {
	binaries
	etcd, url, certs string
	stderr           *buffer
}

// start begins with the etcd, and goes on when it is healthy.
func (b binaries) start(t *testing.T, variables []string, more ...string) *controlPlane {
	t.Helper()
	port := portsInARow(t, 3)
	url := func(i int) string { return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(port+i)) }
	p := &controlPlane{binaries: b, etcd: url(0), url: strings.Replace(url(2), "http", "https", 1), certs: t.TempDir()}
	b.run(t, "etcd", nil, "--listen-peer-urls="+url(1), "--listen-client-urls="+p.etcd, "--advertise-client-urls="+p.etcd,
		"--data-dir="+t.TempDir(), "--unsafe-no-fsync=true")
	answers(t, http.DefaultClient, p.etcd+"/health", `{"health":"true","reason":""}`)
	tokens := filepath.Join(p.certs, "tokens")
	if err := os.WriteFile(tokens, []byte("t-admin,admin,1,system:masters\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.stderr = b.run(t, "kube-apiserver", variables, append([]string{"--etcd-servers=" + p.etcd, "--cert-dir=" + p.certs,
		"--bind-address=127.0.0.1", "--secure-port=" + strconv.Itoa(port+2), "--service-cluster-ip-range=10.0.0.0/24", "--allow-privileged=true",
		"--disable-admission-plugins=ServiceAccount", "--service-account-issuer=" + p.url + "/", "--token-auth-file=" + tokens}, more...)...)
	until(t, "the certificate is there", func() bool {
		_, err := os.Stat(filepath.Join(p.certs, "apiserver.key"))
		return err == nil
	})
	client, err := rest.HTTPClientFor(p.config())
	if err != nil {
		t.Fatal(err)
	}
	answers(t, client, p.url+"/healthz", "ok")
	return p
}

func (p *controlPlane) config() *rest.Config {
	return &rest.Config{Host: p.url, BearerToken: "t-admin", QPS: -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(p.certs, "apiserver.crt")}}
}

// answers waits until a server answers so.
func answers(t *testing.T, client *http.Client, url, want string) {
	t.Helper()
	until(t, url+" answers "+want, func() bool {
		res, err := client.Get(url)
		if err != nil {
			return false
		}
		defer res.Body.Close()
		body := make([]byte, 4096)
		n, _ := res.Body.Read(body)
		return res.StatusCode == http.StatusOK && string(body[:n]) == want
	})
}

// TestCalled starts kx by the three names, as envtest does, and wants what a bare kube-apiserver does: no controller
// makes or ends anything, unless the variable says so.
func TestCalled(t *testing.T) {
	t.Parallel()
	b := testassets(t)
	for _, test := range []struct {
		variables []string
		ends      bool
	}{{nil, false}, {[]string{"KX_CONTROLLERS=on"}, true}, {[]string{"KX_CONTROLLERS=namespace"}, true}} {
		t.Run(fmt.Sprint(test.variables), func(t *testing.T) {
			t.Parallel()
			p := b.start(t, test.variables, "--authorization-mode=RBAC", "--v=2", "--goaway-chance=0.1", "--feature-gates=A=true")
			client := kubernetes.NewForConfigOrDie(p.config())
			namespaces := client.CoreV1().Namespaces()
			if _, err := namespaces.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}}
			if _, err := client.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
				t.Errorf("a pod without the service account that nobody makes: %v", err)
			}
			if svc, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{}); err != nil || svc.Spec.ClusterIP != "10.0.0.1" {
				t.Errorf("the service of the API: %+v, %v", svc, err)
			}
			if err := namespaces.Delete(t.Context(), "shop", metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			gone := func() bool {
				_, err := namespaces.Get(t.Context(), "shop", metav1.GetOptions{})
				return apierrors.IsNotFound(err)
			}
			if test.ends {
				until(t, "the namespace is gone", gone)
			} else if got, err := p.kubectl(t, "get", "namespace", "shop", "-o", "jsonpath={.status.phase}"); err != nil || got != "Terminating" {
				t.Errorf("kubectl said %q, %v", got, err)
			}
			if want := "flags of kube-apiserver that mean nothing to kx: --feature-gates, --goaway-chance, --v\""; strings.Count(p.stderr.String(), "WARN msg=\"flags") != 1 ||
				!strings.Contains(p.stderr.String(), want) {
				t.Errorf("the warning is not %q", want)
			}
		})
	}
}

// kubectl runs a command on the server, with flags before it as envtest has them.
func (p *controlPlane) kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	out, err := p.called(t, "kubectl", append([]string{"--server=" + p.url, "--token=t-admin",
		"--certificate-authority=" + filepath.Join(p.certs, "apiserver.crt")}, args...)...).CombinedOutput()
	return string(out), err
}

// TestCalledAsOthersDo starts the pair with the flags of jenvtest: dashes of etcd's own form, all addresses, and flags
// that are given twice.
func TestCalledAsOthersDo(t *testing.T) {
	t.Parallel()
	b := testassets(t)
	port := portsInARow(t, 3)
	at := func(host string, i int) string { return "http://" + net.JoinHostPort(host, strconv.Itoa(port+i)) }
	certs := t.TempDir()
	b.run(t, "etcd", nil, "-data-dir", t.TempDir(), "-wal-dir", t.TempDir(), "--listen-client-urls", at("0.0.0.0", 0),
		"--advertise-client-urls", at("0.0.0.0", 0), "--initial-cluster", "default="+at("localhost", 1),
		"--initial-advertise-peer-urls", at("localhost", 1), "--listen-peer-urls", at("localhost", 1))
	answers(t, http.DefaultClient, at("127.0.0.1", 0)+"/health", `{"health":"true","reason":""}`)
	b.run(t, "kube-apiserver", nil, "--cert-dir", certs, "--secure-port", strconv.Itoa(port+2), "--etcd-servers", at("0.0.0.0", 0),
		"--authorization-mode", "RBAC", "--service-account-issuer", "https://localhost", "--service-account-issuer", "/certs/apiserver.crt",
		"--disable-admission-plugins", "ServiceAccount", "--service-cluster-ip-range", "10.0.0.0/24", "--allow-privileged")
	url := strings.Replace(at("127.0.0.1", 2), "http", "https", 1)
	until(t, "the certificate is there", func() bool {
		_, err := os.Stat(filepath.Join(certs, "apiserver.key"))
		return err == nil
	})
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: rest.TLSClientConfig{CAFile: filepath.Join(certs, "apiserver.crt")}})
	if err != nil {
		t.Fatal(err)
	}
	answers(t, client, url+"/readyz", "ok")
}

// TestCalledFlags has what the programs say of their flags, without starting.
func TestCalledFlags(t *testing.T) {
	t.Parallel()
	b := testassets(t)
	for _, test := range []struct {
		call string
		code int
		want string // of the output
	}{
		{"kube-apiserver --version", 0, `^Kubernetes v1\.37\.\d+\+kx\n$`},
		{"kube-apiserver --help", 0, `(?m)^\s*--etcd-servers\b`},
		{"kube-apiserver --help", 0, `(?m)^\s*--egress-selector-config-file\b.*means nothing to kx`},
		{"kube-apiserver --bind-adress=127.0.0.1", 1, `^kube-apiserver: kube-apiserver has no flag --bind-adress: did you mean --bind-address\?\n$`},
		{"kube-apiserver --insecure-port=0", 1, `^kube-apiserver: kube-apiserver has no flag --insecure-port: `},
		{"kube-apiserver --etcd_servers=http://127.0.0.1:1 --secure_port=0", 1, `^kube-apiserver: --secure-port: 0 is not from 1 to 65535\n$`},
		{"kube-apiserver --ephemeral", 1, "has no flag --ephemeral"},
		{"kube-apiserver", 1, "^kube-apiserver: --etcd-servers is missing"},
		{"kube-apiserver --etcd-servers=http://127.0.0.1:1 --secure-port=0", 1, "--secure-port: 0 is not from 1 to 65535"},
		{"kube-apiserver --etcd-servers=http://127.0.0.1:1 --service-cluster-ip-range=fd00::/108", 1, "is not an IPv4 range"},
		{"KX_CONTROLLERS=name kube-apiserver --etcd-servers=http://127.0.0.1:1", 1, `^kube-apiserver: KX_CONTROLLERS: "name" is not in the list`},
		{"kube-apiserver serve", 1, `takes flags only, and got \["serve"\]`},
		{"etcd --version", 0, `^etcd Version: 3\.`},
		{"etcd --help", 0, `(?m)^\s*--unsafe-no-fsync\b`},
		{"etcd --data-dri=x", 1, `^etcd: etcd has no flag --data-dri: did you mean --data-dir`},
		{"ETCD_HEARTBEAT_INTERVAL=900 etcd", 1, `--election-timeout\[1000ms\] should be at least as 5 times as --heartbeat-interval\[900ms\]`},
		{"ETCD_NAME=a etcd --name=b", 1, `conflicting environment variable .*"ETCD_NAME"`},
		{"kubectl completion bash", 0, `^# bash completion V2 for kubectl `},
		{"kubectl __complete get --as", 0, `(?m)^--as-group\b`},
		{"KUBECONFIG=testdata/contexts.yaml kubectl __complete get --context al", 0, `^alpha\n:4\n`},
		{"KUBECONFIG=testdata/contexts.yaml kubectl __complete --cluster co", 0, `^count\n:4\n`},
		{"kubectl version --client", 0, `^Client Version: v1\.37\.\d+\+kx\n$`},
		{"kubectl version --client -o json", 0, `"minor": "37"`},
		{"kubectl get --server=http://127.0.0.1:1 pods", 1, `refused`},
		{"kubectl gett", 1, `^error: unknown command "gett" for "kubectl"`},
	} {
		words := strings.Fields(test.call)
		variable, calls := "", words
		if strings.Contains(words[0], "=") {
			variable, calls = words[0], words[1:]
		}
		cmd := b.called(t, calls[0], calls[1:]...)
		cmd.Env = append(cmd.Env, variable)
		out, err := cmd.CombinedOutput()
		code := 0
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = exit.ExitCode()
		}
		if code != test.code || !regexp.MustCompile(test.want).Match(out) {
			t.Errorf("%s ended with %d, want %d, and said %.400s, want %s", test.call, code, test.code, out, test.want)
		}
	}
	if out, err := b.called(t, "kube-apiserver", "--help").CombinedOutput(); err != nil || regexp.MustCompile(`(?m)^\s*--insecure-port\b`).Match(out) {
		t.Errorf("--help has flags of older versions: %v", err)
	}
}
