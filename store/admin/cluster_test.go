package admin

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// TestCluster asks three members, then two and one that is gone, then one alone.
func TestCluster(t *testing.T) {
	cluster := embedtest.StartCluster(t)
	ctx := context.Background()
	live, err := Connect(ctx, Endpoint{URLs: cluster.Endpoints()})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if _, err := live.Client.Put(ctx, "/registry/a", "1"); err != nil {
		t.Fatal(err)
	}
	leaders := 0
	for _, m := range live.Status(ctx) {
		if m.Leader {
			leaders++
		}
	}
	if members, err := live.Members(ctx); err != nil || len(members) != 3 || leaders != 1 {
		t.Errorf("%d leaders of %+v, %v", leaders, members, err)
	}
	if hashes, err := live.Hashes(ctx, 0); err != nil || len(hashes) != 3 {
		t.Errorf("%+v, %v", hashes, err)
	}
	levels := func() (out map[string]Finding) {
		out = map[string]Finding{}
		findings, err := Examine(ctx, live, &Decoder{Prefix: defaultPrefix}, nil, time.Now(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			out[f.Check] = f
		}
		return out
	}
	if f := levels()["members"]; f.Level != OK {
		t.Errorf("all run: %+v", f)
	}
	leader := cluster.Leader()
	cluster.Stop((leader + 1) % 3)
	if f := levels()["members"]; f.Level != Problem || !strings.Contains(f.Finding, cluster.Endpoints()[(leader+1)%3]) {
		t.Errorf("one is stopped: %+v", f)
	}
	cluster.Stop((leader + 2) % 3)
	f := levels()
	if f["latency"].Level != Problem || f["latency"].Advice == "" || len(f) != 2 {
		t.Errorf("no majority runs: %+v", f)
	}
}
