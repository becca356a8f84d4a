package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// These tests have one server and a crowd of clients that behave badly. They say what the crowd costs the server in
// memory, and that others are served meanwhile.

var crowdSize = flag.Int("crowd", 120, "how many clients come at once in the tests of crowds; with -v these say what the server needs for them")

var measureMemory = flag.Bool("memory", false, "run the tests of how much memory a server takes: without the race detector, on a machine with nothing else to do")

var crowdWait = flag.Bool("crowd.wait", false, "wait until the server ends connections that do not go on")

const (
	announced = 1 << 20
	kib       = 1 << 10
	mib       = 1 << 20
)

// anonymous is how much memory a process has, in bytes, without the pages of files.
func anonymous(t testing.TB, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			var kilobytes int64
			if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
				t.Fatal(err)
			}
			return kilobytes << 10
		}
	}
	t.Fatalf("no RssAnon in %s", status)
	return 0
}

// crowd is a server and its connections.
type crowd struct {
	*process
	tls    *tls.Config
	before int64
}

func newCrowd(t *testing.T, flags ...string) *crowd {
	t.Helper()
	c := &crowd{process: serve(t, append([]string{"--ephemeral"}, flags...)...)}
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if c.tls, err = rest.TLSConfigFor(config); err != nil {
		t.Fatal(err)
	}
	c.othersAreServed(t, "before")
	c.before = anonymous(t, c.Process.Pid)
	return c
}

// connect opens a connection of HTTP/1.1, on which text is sent.
func (c *crowd) connect(t *testing.T, text string) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", strings.TrimPrefix(c.url, "https://"), c.tls)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// othersAreServed writes and reads as everybody does.
func (c *crowd) othersAreServed(t *testing.T, name string) {
	t.Helper()
	maps := c.client(t).CoreV1().ConfigMaps("default")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	start := time.Now()
	_, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{})
	if err == nil {
		_, err = maps.List(ctx, metav1.ListOptions{})
	}
	if err != nil {
		t.Fatalf("%s: another client: %v", name, err)
	}
	t.Logf("%s: another client wrote and listed in %v", name, time.Since(start).Round(time.Microsecond))
}

// costs says what the crowd costs, which is to be most bytes at most. What has been there for no longer than a moment does not count: the
// collector is asked to look, and gives memory back little by little.
func (c *crowd) costs(t *testing.T, what string, most int64) {
	t.Helper()
	client := c.httpClient(t)
	res, err := client.Get(c.url + "/debug/pprof/heap?gc=1")
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("the collector did not look: %s %v", res.Status, err)
	}
	var now int64
	defer func() {
		t.Logf("%d %s: %.1f MiB of memory, %.1f before them: %d KiB for each, and %.1f MiB are the most there may be", *crowdSize, what, float64(now)/mib, float64(c.before)/mib,
			(now-c.before)/kib/int64(*crowdSize), float64(c.before+most)/mib)
	}()
	until(t, "they hold little", func() bool {
		now = anonymous(t, c.Process.Pid)
		return now-c.before <= most
	})
}

// metric is the value of a line of /metrics.
func (c *crowd) metric(t *testing.T, client *http.Client, line string) (value int) {
	t.Helper()
	res, err := client.Get(c.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for lines := bufio.NewScanner(res.Body); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), line+" "); ok {
			if _, err := fmt.Sscan(rest, &value); err != nil {
				t.Fatal(err)
			}
		}
	}
	return value
}

// httpClient is a client of HTTP/2, as all are that are no browsers.
func (c *crowd) httpClient(t *testing.T) *http.Client {
	transport := &http.Transport{TLSClientConfig: c.tls.Clone(), ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestSlowSenders has clients announce a body of 1 MiB, and send nearly nothing, or nearly all of it.
func TestSlowSenders(t *testing.T) {
	onlyMeasured(t)
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2"} {
		for _, test := range []struct {
			sent, served int
			arrived      int64 // within a second, with what the collector has not collected
		}{{1, 100, 0}, {announced - 1, 32, 2 * 64 * mib}} {
			t.Run(fmt.Sprintf("%s/%d", protocol, test.sent), func(t *testing.T) {
				c := newCrowd(t)
				client := c.httpClient(t)
				const head = `{"data":{"k":"`
				body := (head + strings.Repeat("x", announced))[:test.sent]
				var answered atomic.Int64
				for range *crowdSize {
					if protocol == "HTTP/2" {
						c.beginToSend(t, client, body, &answered)
					} else {
						conn := c.connect(t, fmt.Sprintf("POST %s HTTP/1.1\r\nHost: kx\r\nContent-Length: %d\r\n\r\n%s", configMaps, announced, body))
						go func() {
							if res, err := http.ReadResponse(bufio.NewReader(conn), nil); err == nil && res.StatusCode == http.StatusTooManyRequests {
								answered.Add(1)
							}
						}()
					}
				}
				other := c.httpClient(t)
				until(t, "all are there, and those who are too many are told", func() bool {
					served := c.metric(t, other, `apiserver_current_inflight_requests{request_kind="mutating"}`)
					return served+int(answered.Load()) >= *crowdSize && served <= test.served
				})
				c.othersAreServed(t, "meanwhile")
				c.costs(t, "slow senders", int64(*crowdSize)*288*kib+2*int64(test.served*test.sent)+test.arrived)
			})
		}
	}
}

const configMaps = "/api/v1/namespaces/default/configmaps"

// beginToSend sends the beginning of a body on a stream of its own.
func (c *crowd) beginToSend(t *testing.T, client *http.Client, body string, answered *atomic.Int64) {
	t.Helper()
	rest, end := io.Pipe()
	t.Cleanup(func() { end.CloseWithError(io.ErrUnexpectedEOF) })
	req, err := http.NewRequest("POST", c.url+configMaps, io.MultiReader(strings.NewReader(body), rest))
	if err != nil {
		t.Fatal(err)
	}
	req.ContentLength = announced
	go func() {
		res, err := client.Do(req)
		if err != nil {
			return
		}
		if res.StatusCode == http.StatusTooManyRequests {
			answered.Add(1)
		}
		res.Body.Close()
	}()
}

// watch begins to watch config maps on a connection of its own, and reads the headers of the answer.
func (c *crowd) watch(t *testing.T) *http.Response {
	t.Helper()
	conn := c.connect(t, "GET "+configMaps+"?watch=1 HTTP/1.1\r\nHost: kx\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("watch: %v %v", res, err)
	}
	return res
}

// write creates a config map of some size.
func (c *crowd) write(t *testing.T, name string, size int) {
	t.Helper()
	obj := configMap(name)
	obj.Data = map[string]string{"k": strings.Repeat("x", size)}
	if _, err := c.client(t).CoreV1().ConfigMaps("default").Create(t.Context(), obj, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// TestWatchers has many watchers. Each gets what is written.
func TestWatchers(t *testing.T) {
	onlyMeasured(t)
	c := newCrowd(t)
	got := make(chan error, *crowdSize)
	for range *crowdSize {
		res := c.watch(t)
		go func() {
			lines := bufio.NewReader(res.Body)
			for {
				line, err := lines.ReadString('\n')
				if err != nil || strings.Contains(line, `"name":"meanwhile"`) {
					got <- err
					return
				}
			}
		}()
	}
	c.costs(t, "watchers", int64(*crowdSize)*256*kib)
	start := time.Now()
	c.othersAreServed(t, "meanwhile")
	for range *crowdSize {
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("all have what was written after %v", time.Since(start).Round(time.Millisecond))
}

// TestDeafWatchers has watchers that read nothing of 16 MiB that are written.
func TestDeafWatchers(t *testing.T) {
	onlyMeasured(t)
	for _, flags := range [][]string{nil, {"--watch-cache=false"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			c := newCrowd(t, flags...)
			for range *crowdSize {
				c.watch(t)
			}
			start := time.Now()
			for i := range 32 {
				c.write(t, fmt.Sprintf("large-%d", i), mib/2)
			}
			t.Logf("16 MiB were written in %v", time.Since(start).Round(time.Millisecond))
			c.othersAreServed(t, "meanwhile")
			each := int64(256 * kib)
			if flags != nil {
				each = 6 * mib // they have no object in common, and what was collected too late counts
			}
			c.costs(t, "deaf watchers", int64(*crowdSize)*each+144*mib)
		})
	}
}

// TestGetsWithBodies has watchers that send bodies, which nobody reads.
func TestGetsWithBodies(t *testing.T) {
	onlyMeasured(t)
	c := newCrowd(t)
	const streams, sent = 16, 256 * kib
	connections := max(*crowdSize/streams, 1)
	body := strings.Repeat("x", sent-1)
	for range connections {
		client := c.httpClient(t)
		for range streams {
			rest, end := io.Pipe()
			t.Cleanup(func() { end.CloseWithError(io.ErrUnexpectedEOF) })
			sending := &signalAtEnd{Reader: strings.NewReader(body), end: make(chan struct{})}
			req, err := http.NewRequestWithContext(t.Context(), "GET", c.url+configMaps+"?watch=1", io.MultiReader(sending, rest))
			if err != nil {
				t.Fatal(err)
			}
			res, err := client.Do(req)
			if err != nil || res.StatusCode != http.StatusOK {
				t.Fatalf("watch with a body: %v %v", res, err)
			}
			t.Cleanup(func() { res.Body.Close() })
			<-sending.end
		}
	}
	c.othersAreServed(t, "meanwhile")
	c.costs(t, "watchers with bodies", int64(connections*streams)*128*kib)
}

// signalAtEnd closes end when it was read to its end.
type signalAtEnd struct {
	io.Reader
	end chan struct{}
}

func (s *signalAtEnd) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		close(s.end)
	}
	return n, err
}

// TestSlowBeginnings has clients that connect, and go no further than into the handshake or the headers.
func TestSlowBeginnings(t *testing.T) {
	onlyMeasured(t)
	t.Run("handshake", func(t *testing.T) {
		c := newCrowd(t)
		conns := make([]net.Conn, *crowdSize)
		for i := range conns {
			conn, err := net.Dial("tcp", strings.TrimPrefix(c.url, "https://"))
			if err == nil {
				_, err = conn.Write([]byte("\x16\x03\x01\x02\x00\x01")) // of a ClientHello of 512 bytes
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			conns[i] = conn
		}
		c.slow(t, "handshakes", conns)
	})
	t.Run("headers", func(t *testing.T) {
		c := newCrowd(t)
		conns := make([]net.Conn, *crowdSize)
		for i := range conns {
			conns[i] = c.connect(t, "GET "+configMaps+" HTTP/1.1\r\nHost: kx\r\nX-Slow: "+strings.Repeat("x", 64*kib))
		}
		c.slow(t, "headers", conns)
	})
}

// slow says what connections cost that do not go on and, if it is asked to wait, when the server ends them.
func (c *crowd) slow(t *testing.T, what string, conns []net.Conn) {
	t.Helper()
	start := time.Now()
	other := c.httpClient(t)
	until(t, "all are there", func() bool { return c.metric(t, other, "kx_connections") >= len(conns) })
	c.othersAreServed(t, "meanwhile")
	c.costs(t, "slow "+what, int64(len(conns))*256*kib)
	if !*crowdWait {
		return
	}
	for _, conn := range conns {
		_, _ = io.Copy(io.Discard, conn)
	}
	t.Logf("all %s were ended after %v", what, time.Since(start).Round(time.Second))
}

// TestDeafReaders has readers of a list of 16 MiB that read nothing of it.
func TestDeafReaders(t *testing.T) {
	onlyMeasured(t)
	for _, flags := range [][]string{nil, {"--watch-cache=false"}} {
		t.Run(strings.Join(flags, ""), func(t *testing.T) {
			c := newCrowd(t, flags...)
			for i := range 1600 {
				c.write(t, fmt.Sprintf("large-%d", i), 10*kib)
			}
			c.before = anonymous(t, c.Process.Pid)
			for range *crowdSize {
				conn := c.connect(t, "GET "+configMaps+" HTTP/1.1\r\nHost: kx\r\n\r\n")
				if res, err := http.ReadResponse(bufio.NewReaderSize(conn, kib), nil); err != nil || res.StatusCode != http.StatusOK {
					t.Fatalf("list: %v %v", res, err)
				}
			}
			c.othersAreServed(t, "meanwhile")
			c.costs(t, "deaf readers", int64(*crowdSize)*8*mib)
		})
	}
}

// onlyMeasured skips a test that says how much memory a server takes, unless -memory asks for it.
func onlyMeasured(t *testing.T) {
	t.Helper()
	if !*measureMemory {
		t.Skip("it measures the memory of a process: -memory runs it")
	}
}
