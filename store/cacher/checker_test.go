package cacher_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/store/cacher"
)

// forgetsVariable has TestDifferenceEndsTheProcess be the process that ends.
const forgetsVariable = "KX_TEST_FORGETS"

// TestDifferenceEndsTheProcess runs itself as a process whose cache misses a change, and as one whose cache does not.
func TestDifferenceEndsTheProcess(t *testing.T) {
	if forgets := os.Getenv(forgetsVariable); forgets != "" {
		keepsChecking(t, forgets)
		return
	}
	for _, test := range []struct{ forget, says string }{
		{"/pandas/ns/lost", "panic: the watch cache of pandas.example.com differs from etcd at revision"},
		{"nothing", "compared: nothing differs"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestDifferenceEndsTheProcess$", "-test.v")
		cmd.Env = append(os.Environ(), forgetsVariable+"="+test.forget, cacher.CheckVariable+"=1ms")
		out, err := cmd.CombinedOutput()
		ended := strings.Contains(string(out), "panic:")
		if ended != (err != nil) || !strings.Contains(string(out), test.says) {
			t.Errorf("a cache that forgets %s: %v\n%s", test.forget, err, out)
		}
	}
}

// keepsChecking waits until the cache has been compared after it missed a change.
func keepsChecking(t *testing.T, forget string) {
	r := shared(t, func(c *cacher.Config) { c.Storage = &forgetful{Storage: c.Storage, forget: forget} })
	r.create(t, "ns", "a", "red")
	r.create(t, "ns", "lost", "red")
	if forget != "nothing" {
		<-t.Context().Done() // the process ends before
	}
	for range 3 {
		consistent(t, r)
	}
	t.Log("compared: nothing differs")
}

func TestCheckVariable(t *testing.T) {
	raw := shared(t, nil).raw
	for value, fails := range map[string]bool{"": false, "false": false, "true": false, "1": false, "10s": false, "-1s": true, "yes": true} {
		t.Setenv(cacher.CheckVariable, value)
		c, err := cacher.NewCacherFromConfig(cacher.Config{
			Storage: raw, ResourcePrefix: "/pandas", GroupResource: pandas, NewFunc: newPanda, GetAttrsFunc: attrs,
		})
		if err == nil {
			c.Stop()
		}
		if (err != nil) != fails || fails && !strings.Contains(err.Error(), "want true, false, or a duration") {
			t.Errorf("%q: %v", value, err)
		}
	}
}
