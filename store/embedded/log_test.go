package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.etcd.io/etcd/server/v3/etcdserver"
	"go.etcd.io/etcd/server/v3/etcdserver/api/v3client"
	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
)

// write starts an etcd, writes entries to it and stops it.
func write(t *testing.T, config Config, entries int) {
	t.Helper()
	s, err := Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Client()
	defer func() { _ = c.Close() }()
	put(t, c, entries)
}

// put writes entries, many at a time.
func put(t *testing.T, c *clientv3.Client, entries int) {
	t.Helper()
	var writers errgroup.Group
	writers.SetLimit(64)
	for i := range entries {
		writers.Go(func() error {
			_, err := c.Put(t.Context(), fmt.Sprint("/registry/", i), "1")
			return err
		})
	}
	if err := writers.Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestLogTail(t *testing.T) {
	config := Config{Dir: t.TempDir(), Ephemeral: true}
	member := filepath.Join(config.Dir, "member")
	if tail, err := readLogTail(member); err != nil || tail != (logTail{}) {
		t.Errorf("no log: %+v, %v", tail, err)
	}
	write(t, config, 50)
	first, err := readLogTail(member)
	if err != nil || first.snapshot != 0 || first.entries() < 50 || first.commit < 50 {
		t.Errorf("50 entries: %+v, %v", first, err)
	}
	write(t, config, firstSnapshotEntries)
	second, err := readLogTail(member)
	if err != nil || second.snapshot < firstSnapshotEntries || second.last < first.last+firstSnapshotEntries {
		t.Errorf("past a snapshot: %+v, %v", second, err)
	}
}

// TestElectionAtAnyMoment asks a starting etcd to stand for election all the time, as its clock may do at any moment. Raft
// looks through the entries that the start has not replayed then: all must be there.
func TestElectionAtAnyMoment(t *testing.T) {
	config := Config{Dir: t.TempDir(), Ephemeral: true}
	write(t, config, 2*firstSnapshotEntries)
	write(t, config, 3*catchUpEntries)
	if tail, err := readLogTail(filepath.Join(config.Dir, "member")); err != nil || tail.snapshot == 0 || tail.entries() < 2*catchUpEntries {
		t.Fatalf("want a snapshot, and many entries after it: %+v, %v", tail, err)
	}
	for i := range 20 {
		s, err := Begin(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		go hurry(ctx, s.etcd.Server)
		err = s.Ready(ctx)
		cancel()
		if err != nil {
			t.Fatalf("start %d: %v", i+1, err)
		}
		s.Close()
	}
}

// hurry tells etcd not to wait with its election, until it leads.
func hurry(ctx context.Context, etcd *etcdserver.EtcdServer) {
	for etcd.Lead() == 0 && ctx.Err() == nil {
		if stand(ctx, etcd) != nil {
			return
		}
	}
}

func TestRequestsWaitForElection(t *testing.T) {
	s, err := Begin(t.Context(), Config{Dir: t.TempDir(), Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	c := s.Client()
	defer func() { _ = c.Close() }()
	if s.etcd.Server.Lead() != 0 {
		t.Skip("it was elected before it could be asked")
	}
	if _, err := c.Get(t.Context(), "/registry/a"); err != nil {
		t.Errorf("a read: %v", err)
	}
}

func TestBusyStartIsNoNews(t *testing.T) {
	var log bytes.Buffer
	logger := newLogger(slog.New(slog.NewTextHandler(&log, nil)), newFaults(), &atomic.Bool{}, func() {})
	logger.Warn(notPublished, zap.Error(etcderrors.ErrTooManyRequests))
	if log.Len() > 0 {
		t.Errorf("said: %s", &log)
	}
	logger.Warn(notPublished, zap.Error(etcderrors.ErrTimeout))
	if !strings.Contains(log.String(), notPublished) {
		t.Errorf("another reason is not said: %s", &log)
	}
}

// TestHostileKeys: etcd logs slow requests with their keys, which clients choose.
func TestHostileKeys(t *testing.T) {
	for _, text := range escapetest.Texts {
		var log bytes.Buffer
		logger := newLogger(slog.New(slog.NewTextHandler(&log, nil)), newFaults(), &atomic.Bool{}, func() {})
		logger.Warn("apply request took too long", zap.String("request", text.Raw), zap.Strings("keys", []string{text.Raw}),
			zap.Error(errors.New(text.Raw)))
		if raw := escapetest.Find(log.String(), "\n"); raw != "" || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%s: %s: %s", text.Name, raw, &log)
		}
	}
}

// TestStartOverLongLog starts over a log that is longer than etcd lets itself fall behind, as an etcd with other settings
// leaves it.
func TestStartOverLongLog(t *testing.T) {
	config := Config{Dir: filepath.Join(t.TempDir(), "etcd"), Ephemeral: true}
	leaveLongLog(t, config, 6000)
	var log bytes.Buffer
	config.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	for range 2 {
		s, err := Start(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	if strings.Contains(log.String(), notPublished) {
		t.Errorf("said: %s", &log)
	}
}

// leaveLongLog writes that many entries with an etcd that makes no snapshot.
func leaveLongLog(t *testing.T, config Config, entries int) {
	t.Helper()
	if err := prepareDir(config.Dir); err != nil {
		t.Fatal(err)
	}
	c, err := config.etcdConfig(newFaults(), &atomic.Bool{})
	if err != nil {
		t.Fatal(err)
	}
	c.SnapshotCount, c.SnapshotCatchUpEntries = uint64(2*entries), uint64(2*entries)
	etcd, err := embed.StartEtcd(c)
	if err != nil {
		t.Fatal(err)
	}
	defer etcd.Close()
	<-etcd.Server.ReadyNotify()
	client := v3client.New(etcd.Server)
	defer func() { _ = client.Close() }()
	put(t, client, entries)
}
