package atinit

import (
	"os"
	"os/exec"
	"runtime/debug"
	"testing"
)

// Until Done the collector does not run; from then on it does, as often as GOGC says.
func TestCollector(t *testing.T) {
	if os.Getenv("KX_TEST_COLLECTOR") == "" {
		for gogc, want := range map[string]string{"": "100", "50": "50", "off": "-1"} {
			cmd := exec.Command(os.Args[0], "-test.run=^TestCollector$", "-test.count=1")
			cmd.Env = append(os.Environ(), "GOGC="+gogc, "KX_TEST_COLLECTOR="+want)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("GOGC=%s: %v\n%s", gogc, err, out)
			}
		}
		return
	}
	want := map[string]int{"100": 100, "50": 50, "-1": -1}[os.Getenv("KX_TEST_COLLECTOR")]
	if before := debug.SetGCPercent(-1); before != -1 {
		t.Errorf("before main the heap may grow by %d %%, want -1", before)
	}
	Finish()
	if is := debug.SetGCPercent(want); is != want {
		t.Errorf("in main the heap may grow by %d %%, want %d", is, want)
	}
}
