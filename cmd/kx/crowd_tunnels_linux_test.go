package main

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// filled is how much goes into a tunnel, in any case, before the buffers on its way are full.
const filled = 64 * kib

// deafKubelet upgrades each connection, and then writes to it without an end, or reads nothing of it.
type deafKubelet struct {
	*httptest.Server
	writes bool
	// full is how many tunnels took what fills their buffers, ended how many are gone.
	full, ended atomic.Int64
	conns       sync.Map
}

func startDeafKubelet(t *testing.T, writes bool) *deafKubelet {
	k := &deafKubelet{writes: writes}
	k.Server = httptest.NewTLSServer(k)
	t.Cleanup(func() {
		k.conns.Range(func(conn, _ any) bool { conn.(net.Conn).Close(); return true })
		k.Close()
	})
	return k
}

func (k *deafKubelet) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	k.conns.Store(conn, nil)
	_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n")
	if k.writes {
		fill(conn, &k.full)
		k.ended.Add(1)
	}
}

// fill writes until the connection ends, and counts it once its buffers are full, or it has ended before.
func fill(conn net.Conn, full *atomic.Int64) {
	piece := make([]byte, 16*kib)
	count := sync.OnceFunc(func() { full.Add(1) })
	defer count()
	for written := 0; ; written += len(piece) {
		if written >= filled {
			count()
		}
		if _, err := conn.Write(piece); err != nil {
			return
		}
	}
}

// node makes a pod p on a node whose kubelet is this one.
func (k *deafKubelet) node(t *testing.T, c *crowd) {
	t.Helper()
	at, err := url.Parse(k.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(at.Port())
	if err != nil {
		t.Fatal(err)
	}
	core := c.client(t).CoreV1()
	node, err := core.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: at.Hostname()}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = int32(port)
	if _, err := core.Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}},
	}}
	if _, err := core.Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// tunnel opens a command's connection, and reads the headers of the answer.
func (c *crowd) tunnel(t *testing.T) *tls.Conn {
	t.Helper()
	conn := c.connect(t, "POST /api/v1/namespaces/default/pods/p/exec?command=x&stdin=true&stdout=true HTTP/1.1\r\nHost: kx\r\n"+
		"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReaderSize(conn, kib), nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("exec: %v %v", res, err)
	}
	return conn
}

// TestDeafTunnels has commands on a node, of which one side writes and the other reads nothing.
func TestDeafTunnels(t *testing.T) {
	onlyMeasured(t)
	for _, test := range []struct {
		name   string
		writes bool // the node does
	}{{"clients", true}, {"nodes", false}} {
		t.Run(test.name, func(t *testing.T) {
			k := startDeafKubelet(t, test.writes)
			c := newCrowd(t, "--disable-admission-plugins=ServiceAccount") // nobody makes the pod's account
			k.node(t, c)
			c.before = anonymous(t, c.Process.Pid)
			full, ended := &k.full, &k.ended
			if !test.writes {
				full, ended = new(atomic.Int64), new(atomic.Int64)
			}
			for range *crowdSize {
				conn := c.tunnel(t)
				if !test.writes {
					go func() {
						fill(conn, full)
						ended.Add(1)
					}()
				}
			}
			start := time.Now()
			until(t, "all tunnels are full", func() bool { return int(full.Load()) == *crowdSize })
			c.othersAreServed(t, "meanwhile")
			c.costs(t, "tunnels with deaf "+test.name, int64(*crowdSize)*512*kib)
			if !*crowdWait {
				return
			}
			until(t, "all tunnels are ended", func() bool { return int(ended.Load()) == *crowdSize })
			t.Logf("all tunnels were ended after %v", time.Since(start).Round(time.Second))
		})
	}
}
