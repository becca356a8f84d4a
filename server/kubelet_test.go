package server_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// secretWords are in all that the kubelet of the test is told and answers.
const secretWords = "words-between-client-and-node"

// testKubelet answers as a kubelet does: what a pod logs, and a command that says back what it is told.
type testKubelet struct {
	*httptest.Server
	asked chan string
	// more lets a log that is followed go on, ended says that an upgraded connection has ended.
	more, ended chan struct{}
}

func startKubelet(t *testing.T) *testKubelet {
	k := &testKubelet{asked: make(chan string, 10), more: make(chan struct{}), ended: make(chan struct{}, 10)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.log)
	mux.HandleFunc("POST /exec/{namespace}/{pod}/{container}", k.exec)
	mux.HandleFunc("GET /exec/{namespace}/{pod}/{container}", k.exec)
	k.Server = httptest.NewTLSServer(mux)
	t.Cleanup(k.Close)
	return k
}

func (k *testKubelet) log(w http.ResponseWriter, r *http.Request) {
	k.asked <- r.URL.String()
	if r.FormValue("tailLines") == "13" {
		http.Error(w, "no tail of "+secretWords, http.StatusBadRequest)
		return
	}
	fmt.Fprintln(w, secretWords)
	w.(http.Flusher).Flush()
	if r.FormValue("follow") == "true" {
		select {
		case <-k.more:
			fmt.Fprintln(w, "more")
		case <-r.Context().Done():
			k.ended <- struct{}{}
		}
	}
}

// exec copies stdin to stdout until stdin ends.
func (k *testKubelet) exec(w http.ResponseWriter, r *http.Request) {
	k.asked <- r.URL.String()
	if _, err := httpstream.Handshake(r, w, []string{"v4.channel.k8s.io"}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 3)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer func() { k.ended <- struct{}{} }()
	defer conn.Close()
	by := map[string]httpstream.Stream{}
	for len(by) < 3 {
		select {
		case s := <-streams:
			by[s.Headers().Get(corev1.StreamType)] = s
		case <-conn.CloseChan():
			return
		}
	}
	_, _ = io.Copy(by[corev1.StreamTypeStdout], by[corev1.StreamTypeStdin])
	_ = by[corev1.StreamTypeStdout].Close()
	_, _ = io.WriteString(by[corev1.StreamTypeError], `{"metadata":{},"status":"Success"}`)
	_ = by[corev1.StreamTypeError].Close()
	<-conn.CloseChan()
}

// on makes a pod that runs on a node whose kubelet is this one.
func (k *testKubelet) on(t *testing.T, r *running) {
	t.Helper()
	at, err := url.Parse(k.URL)
	must(t, err)
	port, err := strconv.Atoi(at.Port())
	must(t, err)
	core := r.admin(t).CoreV1()
	node, err := core.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	must(t, err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: at.Hostname()}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	_, err = core.Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	must(t, err)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
	_, err = core.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	must(t, err)
}

// TestKubelet reads logs of a node that answers, and runs commands there, in both ways that clients have. Journeys say nothing
// of what goes to and fro.
func TestKubelet(t *testing.T) {
	t.Parallel()
	k := startKubelet(t)
	r, stop, err := launch()
	must(t, err)
	r.ready(t)
	k.on(t, r)
	pods := r.admin(t).CoreV1().Pods("default")

	text, err := pods.GetLogs("p", &corev1.PodLogOptions{TailLines: new(int64(2))}).DoRaw(t.Context())
	must(t, err)
	if asked := <-k.asked; string(text) != secretWords+"\n" || asked != "/containerLogs/default/p/c?tailLines=2" {
		t.Errorf("%s said %q", asked, text)
	}
	res, body := ask(t, r.httpClient(t), http.MethodGet, r.URL+"/api/v1/namespaces/default/pods/p/log?tailLines=13", nil)
	if res.StatusCode != http.StatusBadRequest || !strings.Contains(string(body), "no tail of "+secretWords) {
		t.Errorf("the client was not told what the kubelet says: %s %s", res.Status, body)
	}
	<-k.asked

	stream, err := pods.GetLogs("p", &corev1.PodLogOptions{Follow: true}).Stream(t.Context())
	must(t, err)
	piece := make([]byte, len(secretWords)+1)
	_, err = io.ReadFull(stream, piece) // comes before there is more
	must(t, err)
	k.more <- struct{}{}
	rest, err := io.ReadAll(stream)
	if err != nil || string(rest) != "more\n" {
		t.Errorf("the log went on with %q (%v)", rest, err)
	}
	<-k.asked

	exec := r.admin(t).CoreV1().RESTClient().Post().Namespace("default").Resource("pods").Name("p").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"echo", secretWords}, Stdin: true, Stdout: true}, scheme.ParameterCodec)
	overSPDY, err := remotecommand.NewSPDYExecutor(r.config, http.MethodPost, exec.URL())
	must(t, err)
	overWebSocket, err := remotecommand.NewWebSocketExecutor(r.config, http.MethodGet, exec.URL().String())
	must(t, err)
	for name, executor := range map[string]remotecommand.Executor{"SPDY": overSPDY, "WebSocket": overWebSocket} {
		var out bytes.Buffer
		err := executor.StreamWithContext(within(t), remotecommand.StreamOptions{Stdin: strings.NewReader(secretWords), Stdout: &out})
		if asked := <-k.asked; err != nil || out.String() != secretWords || !strings.HasPrefix(asked, "/exec/default/p/c?command=echo&command="+secretWords) {
			t.Errorf("%s: the command said %q (%v), asked as %s", name, out.String(), err, asked)
		}
		<-k.ended
	}

	journeys := string(r.get(t, "/apis/kx.dev/v1alpha1/journeys"))
	if !strings.Contains(journeys, "pods/exec") && !strings.Contains(journeys, `"exec"`) {
		t.Errorf("there is no journey of the command: %s", journeys)
	}
	if i := strings.Index(journeys, secretWords); i >= 0 {
		t.Errorf("a journey has what went between client and node: …%s…", journeys[max(i-300, 0):i+len(secretWords)])
	}

	// A command that nobody ends ends with the server.
	input, keep := io.Pipe()
	defer keep.Close()
	done := make(chan error)
	go func() {
		done <- overSPDY.StreamWithContext(context.Background(), remotecommand.StreamOptions{Stdin: input, Stdout: io.Discard})
	}()
	<-k.asked
	must(t, stop())
	if err := <-done; err == nil {
		t.Error("the command ended as if it were done")
	}
	<-k.ended
}
