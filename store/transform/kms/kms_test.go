package kms_test

import (
	"bytes"
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/store/transform/kms"
	"github.com/kx-apiserver/kx/store/transform/kms/kmstest"
)

var place = []byte("/registry/secrets/default/a")

// clock is a time that tests set, while calls of the plugin read it.
type clock struct {
	start time.Time
	later atomic.Int64
}

func (c *clock) add(d time.Duration) { c.later.Add(int64(d)) }

func (c *clock) now() time.Time { return c.start.Add(time.Duration(c.later.Load())) }

func open(t testing.TB, p *kmstest.Plugin, timeout time.Duration) (*kms.Envelope, *clock) {
	t.Helper()
	e, err := kms.New(kms.Config{Name: "vault", Endpoint: p.Endpoint(), Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	c := &clock{start: time.Now()}
	e.SetNow(c.now)
	return e, c
}

// patience is more than any call of a plugin that answers takes.
const patience = 3 * time.Minute

func seal(t testing.TB, e *kms.Envelope, value string) []byte {
	t.Helper()
	stored, err := e.Seal(t.Context(), []byte(value), place)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// opens checks what a value is, and whether it is to be written again.
func opens(t *testing.T, e *kms.Envelope, stored []byte, want string, wantStale bool) {
	t.Helper()
	got, stale, err := e.Open(t.Context(), stored, place)
	if err != nil || string(got) != want || stale != wantStale {
		t.Errorf("got %q, stale %v, error %v; want %q, stale %v", got, stale, err, want, wantStale)
	}
}

// becomes waits until a read tells whether a value is to be written again: the plugin is asked beside it. Before each look, pass
// lets time go by.
func becomes(t *testing.T, e *kms.Envelope, stored []byte, wantStale bool, pass func()) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; {
		pass()
		_, stale, err := e.Open(t.Context(), stored, place)
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("it is not noticed which key the plugin has: %v", err)
		}
		if stale == wantStale {
			return
		}
	}
}

func fails(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want %q", want)
		return
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got the error %q, want %q in it", err, part)
		}
	}
}

// TestSeedsOfOthers: the plugin is asked once for each seed, whoever made it.
func TestSeedsOfOthers(t *testing.T) {
	p := kmstest.Serve(t, "1")
	one, _ := open(t, p, patience)
	other, _ := open(t, p, patience)
	var stored [][]byte
	for range 10 {
		stored = append(stored, seal(t, one, "value"))
	}
	for i, s := range stored {
		opens(t, one, s, "value", false)
		opens(t, other, s, "value", false)
		if i > 0 && bytes.Equal(s, stored[i-1]) {
			t.Error("a value was encrypted to the same bytes twice")
		}
		if bytes.Contains(s, []byte("value")) {
			t.Error("the value is there in the clear")
		}
	}
	if encrypts, decrypts := p.Calls(); encrypts != 2 || decrypts != 1 {
		t.Errorf("the plugin encrypted %d times and decrypted %d times, want 2 and 1", encrypts, decrypts)
	}
	_, _, err := one.Open(t.Context(), stored[0], []byte("/registry/secrets/default/b"))
	fails(t, err, "authentication failed")
}

// TestRotation: values are stale when the plugin has another key, which is noticed within a minute.
func TestRotation(t *testing.T) {
	p := kmstest.Serve(t, "1")
	e, c := open(t, p, patience)
	first := seal(t, e, "value")
	p.Use("2")
	opens(t, e, first, "value", false)
	c.add(time.Minute)
	becomes(t, e, first, true, func() {})
	second := seal(t, e, "value")
	opens(t, e, second, "value", false)
	p.Use("1")
	c.add(time.Minute)
	becomes(t, e, second, true, func() {})
	opens(t, e, first, "value", false)
}

// TestPluginIsAway: without a plugin nothing is written with a key that it has not named for three minutes, and what was decrypted
// once can be read.
func TestPluginIsAway(t *testing.T) {
	p := kmstest.Serve(t, "1")
	e, c := open(t, p, 2*time.Second)
	stored := seal(t, e, "value")
	p.Stop()
	c.add(2 * time.Minute)
	opens(t, e, seal(t, e, "value"), "value", false)
	fails(t, e.Check(t.Context()), `the KMS plugin "vault" at `+p.Endpoint(), "status")
	c.add(time.Minute + time.Second)
	_, err := e.Seal(t.Context(), []byte("value"), place)
	fails(t, err, `"vault" has not named its key for 3m1s`, p.Endpoint())
	opens(t, e, stored, "value", false)

	fresh, _ := open(t, p, 2*time.Second)
	_, err = fresh.Seal(t.Context(), []byte("value"), place)
	fails(t, err, `"vault"`, p.Endpoint())
	_, _, err = fresh.Open(t.Context(), stored, place)
	fails(t, err, "failed to decrypt DEK", `"vault"`, p.Endpoint())

	p.Start(t)
	c.add(10 * time.Second)
	for deadline := time.Now().Add(patience); ; { // the connection comes back in its own time
		if _, err = e.Seal(t.Context(), []byte("value"), place); err == nil || time.Now().After(deadline) {
			break
		}
		c.add(10 * time.Second)
	}
	if err != nil {
		t.Error(err)
	}
}

// TestPluginIsSilent: a plugin that does not answer is not asked by each read, nor by each write.
func TestPluginIsSilent(t *testing.T) {
	p := kmstest.Serve(t, "1")
	e, c := open(t, p, 2*time.Second)
	stored := seal(t, e, "value")
	p.Answer(false)
	c.add(2 * time.Minute)
	for range 100 {
		opens(t, e, stored, "value", false)
	}
	fails(t, e.Check(t.Context()), "status")
	p.Answer(true)
	p.Use("2")
	for range 100 {
		opens(t, e, stored, "value", false) // the plugin failed a moment ago
	}
	// Where an answer is late, the next is asked for ten seconds later.
	becomes(t, e, stored, true, func() { c.add(10 * time.Second) })
}

// TestPluginComesBack: who reads many values does not wait for each of them, and it is told when they can be opened.
func TestPluginComesBack(t *testing.T) {
	p := kmstest.Serve(t, "1")
	writer, _ := open(t, p, patience)
	stored := seal(t, writer, "value")
	opened := make(chan struct{}, 10)
	e, _ := open(t, p, 100*time.Millisecond)
	e.OnOpened(func() { opened <- struct{}{} })
	calls := &decrypts{}
	e.Observe(calls)
	p.Stop()
	for range 100 {
		_, _, err := e.Open(t.Context(), stored, place)
		fails(t, err, "failed to decrypt DEK", `"vault"`, p.Endpoint())
	}
	if n := calls.n.Load(); n > 10 { // one, and those of who asks again meanwhile
		t.Errorf("the plugin was asked %d times", n)
	}
	p.Start(t)
	select {
	case <-opened:
	case <-time.After(patience):
		t.Fatal("nobody is told that the value can be opened")
	}
	opens(t, e, stored, "value", false)

	// A caller whose time is up says nothing about the plugin.
	other, _ := open(t, p, patience)
	p.Answer(false)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err := other.Open(ctx, stored, place)
	fails(t, err, "DeadlineExceeded")
	p.Answer(true)
	opens(t, other, stored, "value", false)
}

// decrypts counts calls that decrypt.
type decrypts struct{ n atomic.Int64 }

func (d *decrypts) ObserveCall(_, method, _ string, _ time.Duration) {
	if strings.HasSuffix(method, "/Decrypt") {
		d.n.Add(1)
	}
}

func (d *decrypts) ObserveUse(string, string, string) {}

// TestNonsense: what a plugin must not say is an error that names it.
func TestNonsense(t *testing.T) {
	for name, c := range map[string]struct {
		key, health, version string
		want                 string
	}{
		"ill":            {"1", "no", "v2", "unexpected healthz status: no"},
		"other version":  {"1", "ok", "v3", "expected KMSv2 API version v2, got v3"},
		"no key":         {"", "ok", "v2", "keyID is empty"},
		"endless key":    {strings.Repeat("k", 1025), "ok", "v2", "keyID is 1025 bytes, which exceeds the max size of 1024"},
		"endless health": {"1", strings.Repeat("k", 1<<20), "v2", "larger than max"},
	} {
		t.Run(name, func(t *testing.T) {
			p := kmstest.Serve(t, c.key)
			p.Say(c.health, c.version)
			e, _ := open(t, p, patience)
			_, err := e.Seal(t.Context(), []byte("value"), place)
			fails(t, err, `the KMS plugin "vault" at `, c.want)
		})
	}
	p := kmstest.Serve(t, "1")
	p.Say("ok", "v2beta1")
	e, _ := open(t, p, patience)
	opens(t, e, seal(t, e, "value"), "value", false)
}

func TestSocketOf(t *testing.T) {
	for endpoint, want := range map[string]string{
		"unix:///run/kms.sock": "/run/kms.sock",
		"unix:///@kms.sock":    "@kms.sock",
	} {
		if got, err := kms.SocketOf(endpoint); got != want || err != nil {
			t.Errorf("%s is %q, %v; want %q", endpoint, got, err, want)
		}
	}
	for _, endpoint := range []string{"", "http://a", "unix://", "unix:\x00"} {
		if got, err := kms.SocketOf(endpoint); err == nil {
			t.Errorf("%q is %q, want an error", endpoint, got)
		}
	}
}

// FuzzOpen: no stored bytes do harm.
func FuzzOpen(f *testing.F) {
	p := kmstest.Serve(f, "1")
	e, _ := open(f, p, patience)
	stored := seal(f, e, "value")
	f.Add(stored)
	f.Add(stored[:len(stored)/2])
	f.Add([]byte{})
	f.Add([]byte("\x0a\x01a\x12\x01b\x1a\x01c\x28\x02"))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := bytes.Clone(data)
		if value, _, err := e.Open(t.Context(), data, place); err == nil && string(value) != "value" {
			t.Errorf("%q was opened: %q", data, value)
		}
		if !bytes.Equal(data, before) {
			t.Error("the stored bytes were changed")
		}
	})
}
