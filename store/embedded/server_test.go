package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	bolt "go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

// start runs an etcd and reports its log if the test fails.
func start(t *testing.T, config embedded.Config) *embedded.Server {
	t.Helper()
	server, err := embedded.Start(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	return server
}

func client(t *testing.T, server *embedded.Server) *clientv3.Client {
	t.Helper()
	c := server.Client()
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func dial(t *testing.T, endpoint string) *clientv3.Client {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestKeepsDataAndDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "kx", "etcd")
	server := start(t, embedded.Config{Dir: dir})
	if _, err := client(t, server).Put(t.Context(), "/registry/a", "1"); err != nil {
		t.Fatal(err)
	}
	for _, made := range []string{dir, filepath.Dir(dir)} {
		info, err := os.Stat(made)
		if err != nil {
			t.Fatal(err)
		}
		if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %o", made, info.Mode().Perm())
		}
	}
	server.Close()
	if err, ok := <-server.Errors(); ok {
		t.Errorf("a closed etcd reports %v", err)
	}
	got, err := client(t, start(t, embedded.Config{Dir: dir})).Get(t.Context(), "/registry/a")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "1" {
		t.Errorf("after a restart: %v, %v", got, err)
	}
}

func TestSecondUserOfDirectory(t *testing.T) {
	dir := t.TempDir()
	first := start(t, embedded.Config{Dir: dir, Ephemeral: true})
	_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
	if err == nil || !strings.Contains(err.Error(), "the data directory "+dir+" is in use by another process") {
		t.Errorf("got %v", err)
	}
	if _, err := client(t, first).Put(t.Context(), "a", "1"); err != nil {
		t.Errorf("the first is disturbed: %v", err)
	}
	// Once the first is gone the second may have it.
	first.Close()
	start(t, embedded.Config{Dir: dir, Ephemeral: true})
}

func TestSocket(t *testing.T) {
	// Not t.TempDir, whose path can be longer than a socket's may be.
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := embedded.Config{Dir: dir, Ephemeral: true, Socket: filepath.Join(dir, embedded.SocketName)}
	leaveStaleSocket(t, config.Socket)

	server := start(t, config)
	info, err := os.Stat(config.Socket)
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %o", info.Mode().Perm())
	}
	if _, err := client(t, server).Put(t.Context(), "a", "1"); err != nil {
		t.Fatal(err)
	}
	got, err := dial(t, "unix://"+config.Socket).Get(t.Context(), "a")
	if err != nil || len(got.Kvs) != 1 {
		t.Errorf("through the socket: %v, %v", got, err)
	}
	server.Close()
	if _, err := os.Stat(config.Socket); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

// leaveStaleSocket makes what a killed process leaves.
func leaveStaleSocket(t *testing.T, path string) {
	t.Helper()
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestListensOnLoopback(t *testing.T) {
	server := start(t, embedded.Config{Dir: t.TempDir(), Ephemeral: true, Listen: []string{"http://127.0.0.1:0"}})
	if _, err := dial(t, "http://"+server.Addrs()[0].String()).Put(t.Context(), "a", "1"); err != nil {
		t.Fatal(err)
	}
}

func TestNoSocketByDefault(t *testing.T) {
	if addrs := embedtest.Shared(t).Addrs(); len(addrs) != 0 {
		t.Errorf("listens on %v", addrs)
	}
}

// peers is the configuration of a member that hears the others at url.
func peers(url string) embedded.Config {
	return embedded.Config{Cluster: &embedded.Cluster{Member: "a", PeerURLs: map[string]string{"a": url, "b": "http://127.0.0.1:2382"}}}
}

func TestRefusedConfig(t *testing.T) {
	for name, c := range map[string]struct {
		config embedded.Config
		want   string
	}{
		"no directory":   {embedded.Config{}, "no data directory given"},
		"open http":      {embedded.Config{Listen: []string{"http://0.0.0.0:2379"}}, "http is allowed on a loopback address only"},
		"http elsewhere": {embedded.Config{Listen: []string{"http://192.0.2.1:2379"}}, "http is allowed on a loopback address only"},
		"http by name":   {embedded.Config{Listen: []string{"http://etcd.example:2379"}}, "want an IP address to bind to, not a name"},
		"no port":        {embedded.Config{Listen: []string{"http://127.0.0.1"}}, "want an address and a port"},
		"no scheme":      {embedded.Config{Listen: []string{"127.0.0.1:2379"}}, "first path segment"},
		"other scheme":   {embedded.Config{Listen: []string{"ftp://127.0.0.1:21"}}, `scheme "ftp" is not https or http`},
		"path":           {embedded.Config{Listen: []string{"http://127.0.0.1:2379/v3"}}, "nothing after it"},
		"open peer":      {peers("http://0.0.0.0:2380"), "http is allowed on a loopback address only"},
		"https peer":     {peers("https://127.0.0.1:2380"), "https needs a certificate"},
		"no peer":        {peers(""), "want an address and a port"},
		"https alone":    {embedded.Config{Listen: []string{"https://0.0.0.0:2379"}}, "https needs a certificate, its key, and the CA of the clients"},
		"long socket":    {embedded.Config{Socket: "/" + strings.Repeat("x", 200)}, "the system allows"},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "no directory" {
				c.config.Dir = t.TempDir()
			}
			_, err := embedded.Start(t.Context(), c.config)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestTakenPort(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	address := listener.Addr().String()
	dir := t.TempDir()
	_, err = embedded.Start(t.Context(), embedded.Config{Dir: dir, Listen: []string{"http://" + address}})
	if err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("got %v", err)
	}
	// The failed start holds nothing.
	start(t, embedded.Config{Dir: dir, Ephemeral: true})
}

func TestUnusableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "cannot make the data directory") || !strings.Contains(err.Error(), file) {
			t.Errorf("got %v", err)
		}
	}
}

// TestDamagedDirectory breaks the files of an etcd that was closed. A start must say so: it may not end the process,
// and the process of this test is the witness.
func TestDamagedDirectory(t *testing.T) {
	db := func(dir string) string { return filepath.Join(dir, "member", "snap", "db") }
	for name, damage := range map[string]func(t *testing.T, dir string) string{
		"database is overwritten": func(t *testing.T, dir string) string {
			overwrite(t, db(dir), 0, bytes.Repeat([]byte("damaged"), 4096))
			return "db is damaged"
		},
		"database is empty of sense": func(t *testing.T, dir string) string {
			if err := os.WriteFile(db(dir), []byte("no database"), 0o600); err != nil {
				t.Fatal(err)
			}
			return "db is damaged"
		},
		"database lost its end": func(t *testing.T, dir string) string {
			if err := os.Truncate(db(dir), 2*int64(os.Getpagesize())); err != nil {
				t.Fatal(err)
			}
			return "db is damaged"
		},
		"log is overwritten": func(t *testing.T, dir string) string {
			files, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no log: %v", err)
			}
			overwrite(t, files[0], 0, bytes.Repeat([]byte("damaged"), 64))
			return ".wal is damaged: it has a record that is cut off"
		},
		"log has wrong bytes": func(t *testing.T, dir string) string {
			files, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no log: %v", err)
			}
			overwrite(t, files[0], 1<<19, []byte("damaged"))
			return "crc"
		},
		"database is missing": func(t *testing.T, dir string) string {
			if err := os.Remove(db(dir)); err != nil {
				t.Fatal(err)
			}
			// etcd replays the log then, which holds all of this young database.
			return ""
		},
		"database is of a newer etcd": func(t *testing.T, dir string) string {
			put(t, db(dir), "meta", "storageVersion", "3.99.0")
			return "cannot be used: it is of etcd 3.99.0, and the etcd in this kx is"
		},
		"cluster is of a newer etcd": func(t *testing.T, dir string) string {
			put(t, db(dir), "cluster", "clusterVersion", "4.0.0")
			return "cannot be used: it is of etcd 4.0.0, and the etcd in this kx is"
		},
		"database is missing, and the log says that it was full": func(t *testing.T, dir string) string {
			fillDatabase(t, dir)
			if err := os.Remove(db(dir)); err != nil {
				t.Fatal(err)
			}
			return "db is damaged: it is missing or empty"
		},
		"database is empty, and the log says that it was full": func(t *testing.T, dir string) string {
			fillDatabase(t, dir)
			if err := os.Truncate(db(dir), 0); err != nil {
				t.Fatal(err)
			}
			return "db is damaged: it is missing or empty"
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Cleanup(func() { removeAll(t, dir) })
			server := start(t, embedded.Config{Dir: dir, Ephemeral: true})
			if _, err := client(t, server).Put(t.Context(), "a", strings.Repeat("x", 1<<20)); err != nil {
				t.Fatal(err)
			}
			server.Close()
			want := damage(t, dir)
			again, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
			switch {
			case err == nil:
				t.Cleanup(again.Close)
				if want != "" {
					t.Errorf("starts, want %q", want)
				}
				got, err := client(t, again).Get(t.Context(), "a", clientv3.WithCountOnly())
				if err != nil || got.Count != 1 {
					t.Errorf("starts without its data: %v, %v", got, err)
				}
			case want == "" || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), dir):
				t.Errorf("got %v, want %q", err, want)
			}
		})
	}
}

// put writes one value of the database of an etcd that was closed.
func put(t *testing.T, file, bucket, key, value string) {
	t.Helper()
	db, err := bolt.Open(file, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists([]byte(bucket))
		if err != nil {
			return err
		}
		return b.Put([]byte(key), []byte(value))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// fillDatabase writes as often as an etcd needs to say in its log that its database is full.
func fillDatabase(t *testing.T, dir string) {
	t.Helper()
	server := start(t, embedded.Config{Dir: dir, Ephemeral: true})
	defer server.Close()
	c := client(t, server)
	for range 600 {
		if _, err := c.Put(t.Context(), "b", "x"); err != nil {
			t.Fatal(err)
		}
	}
}

// removeAll removes a directory in which an etcd that could not start still makes the next file of its log.
func removeAll(t *testing.T, dir string) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(time.Millisecond) {
		err := os.RemoveAll(dir)
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func overwrite(t *testing.T, file string, offset int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, offset)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestStartIsGivenUp ends the context at some moment of the start. However far it came, the directory is free after it.
func TestStartIsGivenUp(t *testing.T) {
	dir := t.TempDir()
	config := embedded.Config{Dir: dir, Ephemeral: true}
	for _, after := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), after, errors.New("told to stop"))
		server, err := embedded.Start(ctx, config)
		cancel()
		if err == nil {
			server.Close()
		} else if !strings.Contains(err.Error(), "told to stop") {
			t.Errorf("got %v", err)
		}
	}
	start(t, config)
}

func TestRequestSizes(t *testing.T) {
	c := client(t, embedtest.Shared(t))
	key := embedtest.Prefix()
	if _, err := c.Put(t.Context(), key, strings.Repeat("x", 3<<20)); err != nil {
		t.Errorf("3 MiB are refused: %v", err)
	}
	_, err := c.Put(t.Context(), key, strings.Repeat("x", embedded.MaxRequestBytes+1))
	if !errors.Is(err, rpctypes.ErrRequestTooLarge) {
		t.Errorf("above the limit: %v", err)
	}
}

// slow is what etcd says of a machine that has much else to do.
var slow = regexp.MustCompile(`took too long|slow fdatasync|failed to send out heartbeat on time`)

func TestQuietLog(t *testing.T) {
	var log bytes.Buffer
	dir := filepath.Join(t.TempDir(), "etcd")
	for range 2 {
		server := start(t, embedded.Config{
			Dir: dir, Ephemeral: true, Listen: []string{"http://127.0.0.1:0"},
			Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		if _, err := client(t, server).Put(t.Context(), "a", "1"); err != nil {
			t.Fatal(err)
		}
		server.Close()
	}
	for line := range strings.Lines(log.String()) {
		if !slow.MatchString(line) {
			t.Errorf("an undisturbed etcd logs: %s", line)
		}
	}
}

// TestProgress says that an idle watch is told the revision when somebody asks.
func TestProgress(t *testing.T) {
	c := client(t, embedtest.Shared(t))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	put, err := c.Put(ctx, embedtest.Prefix(), "1")
	if err != nil {
		t.Fatal(err)
	}
	watch := c.Watch(ctx, embedtest.Prefix(), clientv3.WithCreatedNotify())
	if r := <-watch; !r.Created {
		t.Fatalf("got %v", r)
	}
	if err := c.RequestProgress(ctx); err != nil {
		t.Fatal(err)
	}
	if r := <-watch; !r.IsProgressNotify() || r.Header.Revision < put.Header.Revision {
		t.Errorf("got %v, want progress to at least %d", r, put.Header.Revision)
	}
}

func BenchmarkStart(b *testing.B) {
	for _, c := range []struct {
		name string
		fill int
	}{{"new", 0}, {"10000 objects of 1 KiB", 10000}} {
		b.Run(c.name, func(b *testing.B) {
			filled := b.TempDir()
			fill(b, filled, c.fill)
			for range b.N {
				b.StopTimer()
				dir := filled
				if c.fill == 0 {
					dir = b.TempDir()
				}
				b.StartTimer()
				server, err := embedded.Start(context.Background(), embedded.Config{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				server.Close()
				b.StartTimer()
			}
		})
	}
}

func fill(b *testing.B, dir string, objects int) {
	b.Helper()
	if objects == 0 {
		return
	}
	server, err := embedded.Start(context.Background(), embedded.Config{Dir: dir, Ephemeral: true})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	c := server.Client()
	defer func() { _ = c.Close() }()
	value := strings.Repeat("x", 1024)
	for i := range objects {
		if _, err := c.Put(context.Background(), fmt.Sprint("/registry/configmaps/default/", i), value); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPut(b *testing.B) {
	server, err := embedded.Start(context.Background(), embedded.Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	c := server.Client()
	defer func() { _ = c.Close() }()
	value := strings.Repeat("x", 1024)
	for b.Loop() {
		if _, err := c.Put(context.Background(), "/registry/a", value); err != nil {
			b.Fatal(err)
		}
	}
}
