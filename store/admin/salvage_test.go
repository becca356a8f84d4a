package admin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/store/datadir"
	"github.com/kx-apiserver/kx/store/embedded"
)

const (
	// inDatabase keys are in the database of a killed etcd, and allKeys in its log.
	inDatabase, allKeys = 30, 60
	salvageBump         = 1000
)

func salvageKey(i int) string { return fmt.Sprintf("/registry/keys/%03d", i) }

// writeKeys starts an etcd in dir, writes keys, and stops it.
func writeKeys(t *testing.T, dir string, from, to int) {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	c := server.Client()
	defer func() { _ = c.Close() }()
	for i := from; i < to; i++ {
		if _, err := c.Put(t.Context(), salvageKey(i), salvageKey(i)+strings.Repeat("x", 2000)); err != nil {
			t.Fatal(err)
		}
	}
}

// killed is the directory of an etcd that was killed: its log has entries that its database does not have yet.
func killed(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	writeKeys(t, dir, 0, inDatabase)
	database, err := os.ReadFile(datadir.DatabasePath(dir))
	if err != nil {
		t.Fatal(err)
	}
	writeKeys(t, dir, inDatabase, allKeys)
	if err := os.WriteFile(datadir.DatabasePath(dir), database, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lastSegment is the newest file of the log.
func lastSegment(t *testing.T, dir string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(datadir.LogPath(dir), "*.wal"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no log: %v", err)
	}
	return names[len(names)-1]
}

// entryAt is where in the newest file of the log the entry is that writes a key.
func entryAt(t *testing.T, dir string, key int) int64 {
	t.Helper()
	data, err := os.ReadFile(lastSegment(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(data, []byte(salvageKey(key)))
	if at < 0 {
		t.Fatalf("the log does not have %s", salvageKey(key))
	}
	return int64(at)
}

func overwriteAt(t *testing.T, path string, at int64, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteAt(data, at)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// filesOf are the files of a directory, without the zeros at their ends, which a file allocated beforehand has.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = strings.TrimRight(string(data), "\x00")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

var damages = []struct {
	name   string
	damage func(t *testing.T, dir string)
	// refused is in the error of a start, empty if the start is left to etcd, which has all there is.
	refused []string
	// keys are those salvaged: all before.
	keys int
	// losses are in what was not read.
	losses []string
}{
	{
		name: "none", damage: func(*testing.T, string) {}, keys: allKeys,
	},
	{
		name: "the log is cut off before what the database has",
		damage: func(t *testing.T, dir string) {
			if err := os.Truncate(lastSegment(t, dir), entryAt(t, dir, 10)); err != nil {
				t.Fatal(err)
			}
		},
		refused: []string{".wal is damaged: it ends at byte ", "and the database has entry ", "all up to revision 31 can be saved: kx etcd salvage "},
		keys:    inDatabase,
		losses:  []string{"if there were any"},
	},
	{
		name: "the log has a hole in what the database has",
		damage: func(t *testing.T, dir string) {
			overwriteAt(t, lastSegment(t, dir), entryAt(t, dir, 10), make([]byte, 5000))
		},
		refused: []string{".wal is damaged: ", "can be saved: kx etcd salvage "},
		keys:    allKeys,
		losses:  []string{".wal has "},
	},
	{
		name: "the log has a hole behind what the database has",
		damage: func(t *testing.T, dir string) {
			overwriteAt(t, lastSegment(t, dir), entryAt(t, dir, 45), make([]byte, 5000))
		},
		refused: []string{".wal is damaged: it has ", "was committed; all up to revision 31 and entries "},
		keys:    45,
		losses:  []string{".wal has ", "entries ", salvageKey(50), salvageKey(59)},
	},
	{
		name: "a record of the log was changed",
		damage: func(t *testing.T, dir string) {
			overwriteAt(t, lastSegment(t, dir), entryAt(t, dir, 40)+30, []byte("damaged"))
		},
		refused: []string{".wal is damaged: it has a wrong checksum (crc) at byte ", "can be saved: kx etcd salvage "},
		keys:    40,
		losses:  []string{"crc", salvageKey(41), salvageKey(59)},
	},
	{
		name: "the beginning of the log was changed",
		damage: func(t *testing.T, dir string) {
			overwriteAt(t, lastSegment(t, dir), 0, bytes.Repeat([]byte("damaged"), 64))
		},
		refused: []string{".wal is damaged: it has a record that is cut off at byte 0, after entry 0", "can be saved: kx etcd salvage "},
		keys:    allKeys,
		losses:  []string{".wal has a record that is cut off at byte 0"},
	},
	{
		name: "the log is missing",
		damage: func(t *testing.T, dir string) {
			if err := os.RemoveAll(datadir.LogPath(dir)); err != nil {
				t.Fatal(err)
			}
		},
		refused: []string{"wal is damaged: it has no log file, and the database has entry ", "all up to revision 31 can be saved: kx etcd salvage "},
		keys:    inDatabase,
		losses:  []string{"if there were any"},
	},
	{
		name: "the database is missing",
		damage: func(t *testing.T, dir string) {
			if err := os.Remove(datadir.DatabasePath(dir)); err != nil {
				t.Fatal(err)
			}
		},
		keys:   allKeys, // the log of this young etcd has everything
		losses: []string{"the database: "},
	},
	{
		name: "the database lost its beginning",
		damage: func(t *testing.T, dir string) {
			overwriteAt(t, datadir.DatabasePath(dir), 0, bytes.Repeat([]byte("damaged"), 4096))
		},
		refused: []string{"db is damaged: ", "can be saved: kx etcd salvage "},
		keys:    allKeys,
		losses:  []string{"the database: "},
	},
	{
		name: "the database lost its end",
		damage: func(t *testing.T, dir string) {
			if err := os.Truncate(datadir.DatabasePath(dir), 2*int64(os.Getpagesize())); err != nil {
				t.Fatal(err)
			}
		},
		refused: []string{"db is damaged: ", "can be saved: kx etcd salvage "},
		keys:    allKeys,
		losses:  []string{"the database: "},
	},
}

// TestSalvage damages the directory of a killed etcd. A start must refuse what it would lose or hang on, in one sentence
// and without a change; a salvage must find all that is left, and an etcd must serve it.
func TestSalvage(t *testing.T) {
	for _, c := range damages {
		t.Run(c.name, func(t *testing.T) {
			dir := killed(t)
			c.damage(t, dir)
			before := filesOf(t, dir)
			if c.refused != nil {
				wantRefused(t, dir, c.refused)
			}
			wantDoctor(t, dir, c.losses != nil)
			to := filepath.Join(t.TempDir(), "new")
			salvaged, err := Salvage(t.Context(), SalvageOptions{From: dir, Dir: to, Bump: salvageBump})
			if err != nil {
				t.Fatal(err)
			}
			after := filesOf(t, dir)
			for path := range before {
				if before[path] != after[path] {
					t.Errorf("%s was changed", path)
				}
			}
			if len(before) != len(after) {
				t.Errorf("there are %d files, and were %d", len(after), len(before))
			}
			lost := fmt.Sprint(salvaged.Losses)
			t.Log(lost)
			for _, want := range c.losses {
				if !strings.Contains(lost, want) {
					t.Errorf("losses %s: want %q", lost, want)
				}
			}
			if c.losses == nil && len(salvaged.Losses) > 0 {
				t.Errorf("lost %s", lost)
			}
			wantKeys(t, to, c.keys, salvaged)
		})
	}
}

func wantRefused(t *testing.T, dir string, want []string) {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
	if err == nil {
		server.Close()
		t.Fatal("it starts")
	}
	t.Log(err)
	for _, text := range append(want, dir) {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
}

func wantDoctor(t *testing.T, dir string, damaged bool) {
	t.Helper()
	findings, _ := ExamineFiles(dir)
	bad := slices.ContainsFunc(findings, func(f Finding) bool { return f.Level == Problem && strings.Contains(f.Advice, "kx etcd salvage") })
	if bad != damaged || len(findings) != 2 {
		t.Errorf("the doctor says %+v", findings)
	}
}

// wantKeys starts an etcd twice on what was salvaged.
func wantKeys(t *testing.T, dir string, keys int, salvaged *SalvageResult) {
	t.Helper()
	if salvaged.Keys != int64(keys) || salvaged.Revision != salvaged.Salvaged+salvageBump || salvaged.Salvaged < int64(keys) {
		t.Errorf("salvaged %+v, want %d keys", salvaged, keys)
	}
	for range 2 {
		server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		c := server.Client()
		got, err := c.Get(t.Context(), "/registry/", clientv3.WithPrefix())
		if err != nil || got.Header.Revision != salvaged.Revision || len(got.Kvs) != keys {
			t.Errorf("revision %d, %d keys, %v: want %+v", got.Header.Revision, len(got.Kvs), err, salvaged)
		}
		for i, kv := range got.Kvs {
			// A new etcd is at revision 1, and writes the first key at 2.
			if string(kv.Key) != salvageKey(i) || !strings.HasPrefix(string(kv.Value), salvageKey(i)+"x") || kv.ModRevision != int64(i)+2 {
				t.Errorf("key %d is %s at %d", i, kv.Key, kv.ModRevision)
			}
		}
		_ = c.Close()
		server.Close()
	}
}

// TestSalvageDatabasePages destroys pages of the database, which has no copy of what is in them in the log's newer entries.
func TestSalvageDatabasePages(t *testing.T) {
	dir := killed(t)
	path := datadir.DatabasePath(dir)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := os.Getpagesize()
	for at := bytes.Index(data, []byte(salvageKey(10))); at >= 0; at = bytes.Index(data, []byte(salvageKey(10))) {
		from := at / page * page
		clear(data[from : from+page])
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, dir, []string{"is damaged", "kx etcd salvage "})
	wantDoctor(t, dir, true)
	salvaged, err := Salvage(t.Context(), SalvageOptions{From: dir, Dir: filepath.Join(t.TempDir(), "new"), Bump: salvageBump})
	if err != nil {
		t.Fatal(err)
	}
	// A page has two of these keys, at the most three.
	if salvaged.Keys < allKeys-3 || salvaged.Keys >= allKeys || len(salvaged.Losses) != 1 ||
		!strings.HasPrefix(salvaged.Losses[0].What, "the database's revisions from 1") {
		t.Errorf("salvaged %+v", salvaged)
	}
	if _, ok := ExamineFiles(salvaged.Dir); !ok {
		t.Error("what was salvaged is damaged")
	}
}

// TestSalvageRefuses wants nothing to be written where something is.
func TestSalvageRefuses(t *testing.T) {
	dir := t.TempDir()
	writeKeys(t, dir, 0, 1)
	for name, c := range map[string]struct {
		options SalvageOptions
		want    string
	}{
		"no data directory": {SalvageOptions{From: t.TempDir(), Dir: t.TempDir(), Bump: 1}, "is no data directory"},
		"no bump":           {SalvageOptions{From: dir, Dir: t.TempDir()}, "can't be raised by 0"},
		"into itself":       {SalvageOptions{From: dir, Dir: filepath.Join(dir, "new"), Bump: 1}, "which is only read"},
		"over another":      {SalvageOptions{From: dir, Dir: filepath.Dir(dir), Bump: 1}, "is not empty"},
	} {
		if _, err := Salvage(context.Background(), c.options); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: dir, Ephemeral: true})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if _, err := Salvage(t.Context(), SalvageOptions{From: dir, Dir: t.TempDir(), Bump: 1}); !errors.Is(err, datadir.ErrInUse) {
		t.Errorf("of an etcd that runs: %v", err)
	}
}
