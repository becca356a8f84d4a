package server_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/embedded"
)

// outside starts a server on an etcd of its own that is reached as one elsewhere is, and says where that is.
func outside(t *testing.T, quotaBytes int64) (r *running, endpoint string) {
	t.Helper()
	dir := t.TempDir()
	etcd, err := embedded.Start(t.Context(), embedded.Config{
		Dir: filepath.Join(dir, "etcd"), Ephemeral: true, QuotaBytes: quotaBytes, Socket: filepath.Join(dir, embedded.SocketName),
		Logger: slog.New(slog.DiscardHandler),
	})
	must(t, err)
	t.Cleanup(etcd.Close)
	endpoint = "unix://" + filepath.Join(dir, embedded.SocketName)
	return start(t, func(o *options.Options) { o.Etcd.Servers = []string{endpoint} }), endpoint
}

// TestFullEtcd: writes are refused with what to do, reads and deletions go on.
func TestFullEtcd(t *testing.T) {
	t.Parallel()
	r, _ := outside(t, 4_000_000)
	client := r.httpClient(t)
	const maps = "/api/v1/namespaces/default/configmaps"
	var refused string
	for i := 0; i < 20 && refused == ""; i++ {
		body := fmt.Sprintf(`{"metadata":{"name":"m%d"},"data":{"x":%q}}`, i, strings.Repeat("x", 900_000))
		if res, data := ask(t, client, "POST", r.URL+maps, strings.NewReader(body), "Content-Type: application/json"); res.StatusCode != 201 {
			refused = fmt.Sprint(res.StatusCode, " ", string(data))
		}
	}
	if !strings.HasPrefix(refused, "500 ") || !strings.Contains(refused, "etcdserver: mvcc: database space exceeded: etcd has raised the alarm NOSPACE") {
		t.Errorf("a write to a full etcd: %.500s", refused)
	}
	if res, data := ask(t, client, "POST", r.URL+"/api/v1/namespaces/default/events", strings.NewReader(`{"metadata":{"name":"e"},"involvedObject":{"namespace":"default"}}`), "Content-Type: application/json"); !strings.Contains(string(data), "NOSPACE") {
		t.Errorf("an event, which needs a lease: %s %s", res.Status, data)
	}
	readyz(t, client, r.URL, 200, "[+]etcd-alarms ok, but NOSPACE: etcd is full and takes only deletions\n")
	if res, data := ask(t, r.anyone(t), "GET", r.URL+"/readyz?verbose", nil); res.StatusCode != 200 || strings.Contains(string(data), "NOSPACE") {
		t.Errorf("anybody is told: %s %s", res.Status, data)
	}
	if res, data := ask(t, client, "DELETE", r.URL+maps+"/m0", nil); res.StatusCode != 200 {
		t.Errorf("a deletion: %s %.300s", res.Status, data)
	}
}

// TestCorruptEtcd: nobody should ask a server whose etcd may answer wrong.
func TestCorruptEtcd(t *testing.T) {
	t.Parallel()
	r, endpoint := outside(t, 0)
	client := r.httpClient(t)
	readyz(t, client, r.URL, 200, "[+]etcd-alarms ok\n")
	direct, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	must(t, err)
	defer direct.Close()
	status, err := direct.Status(within(t), endpoint)
	must(t, err)
	_, err = etcdserverpb.NewMaintenanceClient(direct.ActiveConnection()).Alarm(within(t), &etcdserverpb.AlarmRequest{
		Action: etcdserverpb.AlarmRequest_ACTIVATE, MemberID: status.Header.MemberId, Alarm: etcdserverpb.AlarmType_CORRUPT,
	})
	must(t, err)
	readyz(t, client, r.URL, 500, "[-]etcd-alarms failed: CORRUPT: the data of etcd's members differ\n")
	res, data := ask(t, client, "POST", r.URL+"/api/v1/namespaces/default/configmaps", strings.NewReader(`{"metadata":{"name":"small"}}`), "Content-Type: application/json")
	if res.StatusCode != 500 || !strings.Contains(string(data), "etcdserver: corrupt cluster: etcd has raised the alarm CORRUPT") {
		t.Errorf("a write: %s %s", res.Status, data)
	}
}

// readyz waits until /readyz?verbose says a line, with a code.
func readyz(t *testing.T, client *http.Client, url string, code int, line string) {
	t.Helper()
	for ctx := within(t); ; {
		res, data := ask(t, client, "GET", url+"/readyz?verbose", nil)
		if res.StatusCode == code && strings.Contains(string(data), line) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s, want %d with %q: %s", res.Status, code, line, data)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
