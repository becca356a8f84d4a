package logfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// openHere opens a log in a new directory. Failures are the test's, unless c says otherwise.
func openHere(t *testing.T, c Config, now func() time.Time) *File {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "deep", "audit.log")
	}
	if c.Failed == nil {
		c.Failed = func(err error) { t.Error(err) }
	}
	f, err := open(c, now)
	must(t, err)
	return f
}

// standing is a clock that always says the same.
func standing() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC) }

// content returns the names of the log and its backups, the oldest first, and what they hold.
func content(t *testing.T, path string) (names []string, texts [][]byte) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	must(t, err)
	for _, e := range entries {
		file, err := os.Open(filepath.Join(filepath.Dir(path), e.Name()))
		must(t, err)
		defer file.Close()
		info, err := file.Stat()
		must(t, err)
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has the mode %v", e.Name(), info.Mode())
		}
		var in io.Reader = file
		if strings.HasSuffix(e.Name(), zipped) {
			in, err = gzip.NewReader(file)
			must(t, err)
		}
		text, err := io.ReadAll(in)
		must(t, err)
		names, texts = append(names, e.Name()), append(texts, text)
	}
	return names, texts
}

// TestRotation writes far more than fits into a file, from many goroutines: each line is there once, whole, and no file is too long.
func TestRotation(t *testing.T) {
	for _, compress := range []bool{false, true} {
		const most, writers, each = 64 << 10, 8, 400
		f := openHere(t, Config{MaxBytes: most, Compress: compress}, standing) // all rotations are in one millisecond
		var running sync.WaitGroup
		for w := range writers {
			running.Go(func() {
				for i := range each {
					line := fmt.Sprintf("%d-%d %s\n", w, i, strings.Repeat("x", 500))
					if n, err := f.Write([]byte(line)); n != len(line) || err != nil {
						t.Errorf("wrote %d of %d: %v", n, len(line), err)
					}
				}
			})
		}
		running.Wait()
		must(t, f.Close())
		if compress { // what the end broke off, the next start does
			again := openHere(t, f.config, standing)
			for left := true; left; {
				backups, err := again.backups()
				must(t, err)
				left = slices.ContainsFunc(backups, func(b backup) bool { return b.plain })
			}
			must(t, again.Close())
		}
		names, texts := content(t, f.config.Path)
		seen := map[string]int{}
		for i, text := range texts {
			if len(text) > most {
				t.Errorf("%s has %d bytes", names[i], len(text))
			}
			for line := range bytes.Lines(text) {
				if !bytes.HasSuffix(line, []byte("x\n")) || len(line) < 500 {
					t.Errorf("%s has a broken line: %.40q", names[i], line)
				}
				id, _, _ := strings.Cut(string(line), " ")
				seen[id]++
			}
		}
		if len(seen) != writers*each || len(names) < 25 {
			t.Errorf("%d lines in %d files", len(seen), len(names))
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("line %s is there %d times", id, n)
			}
		}
		end := map[bool]string{false: ".log", true: ".log.gz"}[compress]
		if names[0] != "audit-2026-01-02T03-04-05.006"+end || names[1] != "audit-2026-01-02T03-04-05.007"+end {
			t.Errorf("the first backups are %s", names[:2])
		}
	}
}

// TestLongLine has a line that is longer than a file may be.
func TestLongLine(t *testing.T) {
	f := openHere(t, Config{MaxBytes: 10}, standing)
	for _, line := range []string{"a\n", strings.Repeat("b", 30) + "\n", "c\n"} {
		_, err := f.Write([]byte(line))
		must(t, err)
	}
	must(t, f.Close())
	_, texts := content(t, f.config.Path)
	if got := fmt.Sprintf("%q", texts); got != `["a\n" "`+strings.Repeat("b", 30)+`\n" "c\n"]` {
		t.Error(got)
	}
}

// TestOldBackups: those that are too many or too old go, in either form, and other files stay.
func TestOldBackups(t *testing.T) {
	now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
	for _, tc := range []struct {
		name  string
		c     Config
		stays []int // days of age
	}{
		{"no bound", Config{}, []int{1, 2, 3, 40}},
		{"count", Config{MaxBackups: 2}, []int{1, 2}},
		{"age", Config{MaxAge: 2*24*time.Hour + time.Minute}, []int{1, 2}},
		{"both", Config{MaxAge: 30 * 24 * time.Hour, MaxBackups: 1}, []int{1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			tc.c.Path, tc.c.MaxBytes = filepath.Join(dir, "audit.log"), 1<<20
			for _, days := range []int{1, 2, 3, 40} {
				name := "audit-" + now.AddDate(0, 0, -days).Format(timeFormat) + ".log"
				for _, end := range []string{"", zipped}[:1+days%2] { // some were being compressed
					must(t, os.WriteFile(filepath.Join(dir, name+end), nil, 0o600))
				}
			}
			for _, other := range []string{"audit-old.log", "audit-2026-01-02.log", "other-2026-01-02T03-04-05.006.log", "audit-2026-01-02T03-04-05.006.txt"} {
				must(t, os.WriteFile(filepath.Join(dir, other), nil, 0o600))
			}
			f := openHere(t, tc.c, func() time.Time { return now })
			must(t, f.Close()) // which waits for the first look
			entries, err := os.ReadDir(dir)
			must(t, err)
			others := 0
			var stay []int
			for _, e := range entries {
				text, _ := strings.CutPrefix(strings.TrimSuffix(e.Name(), zipped), "audit-")
				at, err := time.Parse(timeFormat, strings.TrimSuffix(text, ".log"))
				if err != nil || !strings.Contains(e.Name(), ".log") {
					others++
					continue
				}
				if age := int(now.Sub(at).Hours() / 24); !slices.Contains(stay, age) {
					stay = append(stay, age)
				}
			}
			slices.Sort(stay)
			if !slices.Equal(stay, tc.stays) || others != 5 {
				t.Errorf("backups of %v days stay, not %v, and %d other files", stay, tc.stays, others)
			}
		})
	}
}

// TestKept: a file goes on where it ended, keeps the mode that somebody gave it, and hands it on.
func TestKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	must(t, os.WriteFile(path, []byte("before\n"), 0o600))
	must(t, os.Chmod(path, 0o640)) // somebody's log reader is of the group
	f := openHere(t, Config{Path: path, MaxBytes: 10}, standing)
	_, err := f.Write([]byte("after\n"))
	must(t, err)
	must(t, f.Close())
	for name, want := range map[string]string{path: "after\n", filepath.Join(filepath.Dir(path), "audit-2026-01-02T03-04-05.006.log"): "before\n"} {
		text, err := os.ReadFile(name)
		must(t, err)
		info, err := os.Stat(name)
		must(t, err)
		if string(text) != want || info.Mode().Perm() != 0o640 {
			t.Errorf("%s has %q and the mode %v", name, text, info.Mode())
		}
	}
}

// TestFailure: where no file can be made any more, the old one goes on, and somebody is told.
func TestFailure(t *testing.T) {
	path := filepath.Join(t.TempDir(), "gone", "audit.log")
	var mu sync.Mutex
	var failures []error
	f := openHere(t, Config{Path: path, MaxBytes: 10, Failed: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failures = append(failures, err)
	}}, standing)
	kept, err := os.Open(path)
	must(t, err)
	defer kept.Close()
	must(t, os.RemoveAll(filepath.Dir(path)))
	for range 3 {
		_, err := f.Write([]byte("12345678\n"))
		must(t, err)
	}
	must(t, f.Close())
	text, err := io.ReadAll(kept)
	must(t, err)
	mu.Lock()
	defer mu.Unlock()
	rotations := slices.DeleteFunc(failures, func(err error) bool { return !strings.Contains(err.Error(), "rotate "+path) })
	if string(text) != strings.Repeat("12345678\n", 3) || len(rotations) != 2 || !errors.Is(rotations[0], fs.ErrNotExist) {
		t.Errorf("the file has %q, and %v was told", text, failures)
	}
}

// TestMovedAway: a file that another program has moved away is not missed, and nothing of that program is renamed.
func TestMovedAway(t *testing.T) {
	f := openHere(t, Config{MaxBytes: 10}, standing)
	_, err := f.Write([]byte("12345678\n"))
	must(t, err)
	moved := f.config.Path + ".1"
	must(t, os.Rename(f.config.Path, moved))
	_, err = f.Write([]byte("9\n"))
	must(t, err)
	must(t, f.Close())
	names, texts := content(t, f.config.Path)
	if got := fmt.Sprintf("%s %q", names, texts); got != `[audit.log audit.log.1] ["9\n" "12345678\n"]` {
		t.Error(got)
	}
}

// TestDevice: what is no file is not renamed.
func TestDevice(t *testing.T) {
	f := openHere(t, Config{Path: os.DevNull, MaxBytes: 1}, standing)
	for range 3 {
		_, err := f.Write([]byte("12345678\n"))
		must(t, err)
	}
	must(t, f.Close())
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%v %v", info, err)
	}
}
