package reload

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// kept is a keeper with what was taken over, and its log.
type kept struct {
	*Keeper
	now string
	bad error // why nothing can be taken over, beside the files
	log bytes.Buffer
	reg *prometheus.Registry
}

func keep(t *testing.T, s Source) *kept {
	t.Helper()
	k := &kept{reg: prometheus.NewRegistry()}
	take := func(_ context.Context, files []File, _ string) error {
		var text []string
		for _, f := range files {
			if strings.Contains(string(f.Data), "bad") {
				return errors.New(f.Path + ": it is bad")
			}
			text = append(text, filepath.Base(f.Path)+"="+string(f.Data))
		}
		if k.bad != nil {
			return k.bad
		}
		k.now = strings.Join(text, " ")
		return nil
	}
	files, hash, err := s.Read()
	if err == nil {
		err = take(t.Context(), files, hash)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.Keeper = New(Config{
		Source: s, What: "the colours", Take: take, Metrics: "apiserver_colour_config_controller", Flag: "--colours", Process: "p",
		Labels: prometheus.Labels{"plugin": "paint"}, Registry: k.reg, Log: slog.New(slog.NewTextHandler(&k.log, nil)),
	}, hash)
	return k
}

// look looks, and checks what was taken over then, and what of it is told.
func (k *kept) look(t *testing.T, now, failure string, successes, failures int) {
	t.Helper()
	k.Look(t.Context())
	if k.now != now {
		t.Errorf("it has %q, want %q", k.now, now)
	}
	if err := k.Ready(t.Context()); (err == nil) != (failure == "") || err != nil && !strings.Contains(err.Error(), failure) {
		t.Errorf("it is not ready: %v, want %q", err, failure)
	}
	if got := strings.Count(k.log.String(), "are as their"); got != successes {
		t.Errorf("%d successes are logged, want %d: %s", got, successes, &k.log)
	}
	if got := strings.Count(k.log.String(), "stay as they were"); got != failures {
		t.Errorf("%d failures are logged, want %d: %s", got, failures, &k.log)
	}
	for status, want := range map[string]int{"success": successes, "failure": failures} {
		if got := testutil.ToFloat64(k.metrics.reloads.WithLabelValues(status)); got != float64(want) {
			t.Errorf("%v times %s are counted, want %d", got, status, want)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFile: what is of no use changes nothing and is told once, whatever was wrong, until it is mended.
func TestFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c.yaml")
	write(t, file, "red")
	k := keep(t, OneFile(file))
	k.look(t, "c.yaml=red", "", 0, 0)
	write(t, file, "green")
	k.look(t, "c.yaml=green", "", 1, 0)
	write(t, file, "bad")
	k.look(t, "c.yaml=green", "the colours are not as their file says", 1, 1)
	k.look(t, "c.yaml=green", "it is bad", 1, 1)
	write(t, file, "green")
	k.look(t, "c.yaml=green", "", 2, 1)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	k.look(t, "c.yaml=green", file, 2, 2)
	write(t, file, "blue")
	k.bad = errors.New("the painter is away")
	k.look(t, "c.yaml=green", "the painter is away", 2, 3)
	k.bad = ErrLater
	k.look(t, "c.yaml=green", "the painter is away", 2, 3)
	k.bad = nil
	k.look(t, "c.yaml=blue", "", 3, 3)
	// What printf blue | sha256sum says, and the same of p.
	const want = `# HELP apiserver_colour_config_controller_last_config_info The hash of what --colours names, as far as it counts.
# TYPE apiserver_colour_config_controller_last_config_info gauge
apiserver_colour_config_controller_last_config_info{apiserver_id_hash="sha256:148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940",hash="sha256:16477688c0e00699c6cfa4497a3612d7e83c532062b64b250fed8908128ed548",plugin="paint"} 1
`
	if err := testutil.GatherAndCompare(k.reg, strings.NewReader(want), "apiserver_colour_config_controller_last_config_info"); err != nil {
		t.Error(err)
	}
}

// TestDirectory: files of other names and directories do not count, and the bytes have a bound.
func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "b.yml"), "blue")
	write(t, filepath.Join(dir, "a.yaml"), "red")
	write(t, filepath.Join(dir, "notes.txt"), "bad")
	if err := os.Mkdir(filepath.Join(dir, "d.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	k := keep(t, Directory(dir))
	k.look(t, "a.yaml=red b.yml=blue", "", 0, 0)
	write(t, filepath.Join(dir, "a.yaml"), "redbl")
	write(t, filepath.Join(dir, "b.yml"), "ue")
	write(t, filepath.Join(dir, "c.JSON"), "green")
	k.look(t, "a.yaml=redbl b.yml=ue c.JSON=green", "", 1, 0)
	write(t, filepath.Join(dir, "big.yaml"), strings.Repeat(" ", mostBytes))
	k.look(t, "a.yaml=redbl b.yml=ue c.JSON=green", "have more than", 1, 1)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	k.look(t, "a.yaml=redbl b.yml=ue c.JSON=green", "no such file or directory", 1, 2)
}
