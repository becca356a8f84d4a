package admin

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/datadir"
	"github.com/kx-apiserver/kx/store/embedded"
)

var (
	damagesCount = flag.Int("damages", 12, "how many `times` TestDamageAnywhere damages a directory")
	damagesSeed  = flag.Uint64("damages.seed", 1, "what decides where TestDamageAnywhere does, and how")
)

// TestDamageAnywhere damages the log or the database at any place. The start either serves or ends with an error; it does
// not hang, nor end the process of this test. What a start would serve, a salvage finds.
func TestDamageAnywhere(t *testing.T) {
	whole := killed(t)
	for i := range *damagesCount {
		seed := *damagesSeed + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "etcd")
			if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
				t.Fatal(err)
			}
			inLog, what := damageAnywhere(t, dir, rand.New(rand.NewPCG(seed, 0)))
			to := filepath.Join(t.TempDir(), "new")
			salvaged, err := Salvage(t.Context(), SalvageOptions{From: dir, Dir: to, Bump: salvageBump})
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			found, err := startAndCount(t, to)
			if err != nil || found != salvaged.Keys {
				t.Errorf("%s: salvaged %d keys, an etcd has %d: %v", what, salvaged.Keys, found, err)
			}
			served, err := startAndCount(t, dir)
			switch {
			case err != nil && !strings.Contains(err.Error(), dir):
				t.Errorf("%s: the error names no file: %v", what, err)
			case inLog && err == nil && (served < inDatabase || served > found):
				t.Errorf("%s: a start serves %d keys, salvaged are %d", what, served, found)
			case inLog && found < inDatabase:
				t.Errorf("%s: salvaged are %d keys, the database has %d", what, found, inDatabase)
			}
		})
	}
}

// damageAnywhere damages the written part of the log or of the database.
func damageAnywhere(t *testing.T, dir string, random *rand.Rand) (inLog bool, what string) {
	t.Helper()
	path := datadir.DatabasePath(dir)
	if inLog = random.IntN(2) == 0; inLog {
		path = lastSegment(t, dir)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := random.IntN(len(strings.TrimRight(string(data), "\x00")))
	n := 1 + random.IntN(20_000)
	switch random.IntN(3) {
	case 0:
		what = fmt.Sprintf("%s ends at %d", path, at)
		err = os.Truncate(path, int64(at))
	case 1:
		what = fmt.Sprintf("%s has %d zeros at %d", path, n, at)
		overwriteAt(t, path, int64(at), make([]byte, min(n, len(data)-at)))
	default:
		what = fmt.Sprintf("%s has %d other bytes at %d", path, n, at)
		garbage := make([]byte, min(n, len(data)-at))
		for i := range garbage {
			garbage[i] = byte(random.Uint32())
		}
		overwriteAt(t, path, int64(at), garbage)
	}
	if err != nil {
		t.Fatal(err)
	}
	return inLog, what
}

// startAndCount starts an etcd and counts its keys.
func startAndCount(t *testing.T, dir string) (int64, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Config{Dir: dir, Ephemeral: true})
	if err != nil {
		if ctx.Err() != nil {
			t.Errorf("the start hangs: %v", err)
		}
		return 0, err
	}
	defer server.Close()
	c := server.Client()
	defer func() { _ = c.Close() }()
	got, err := c.Get(ctx, "/registry/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return got.Count, nil
}
