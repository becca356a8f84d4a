package source_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/source"
)

// TestBranches reads code in which => marks the line that ran, ? the conditions that decided, and - lines that did not
// run.
func TestBranches(t *testing.T) {
	for _, code := range []string{`
  func early(a, b bool) int {
      if a {
-         work()
-         return 1
      }
      work()
?     if b {
=>        return 2
      }
-     work()
-     return 3
  }
  func next() { work() }
`, `
  func either(n int) int {
      if n == 0 {
-         return 0
      } else if n == 1 {
-         return 1
      }
?     if n > 9 {
=>        work()
      } else {
-         stop()
      }
      return n
  }
`, `
  func other(n int) {
?     if n > 9 {
-         work()
      } else {
=>        stop()
      }
      work()
  }
`, `
  func choose(n int) string {
      switch {
-     case n == 1:
-         return "one"
?     case n == 2:
=>        return "two"
-     default:
-         return "many"
      }
  }
`, `
  func loop(all []int) int {
      for _, n := range all {
          if n < 0 {
-             continue
          }
?         if n == 7 {
=>            return n
          }
-         work(n)
      }
-     return 0
  }
`, `
  func inner() error {
      if ready() {
          work()
      }
      return each(func(n int) error {
?         if n > 1 {
=>            return wrong(n)
          }
-         return nil
      })
  }
`, `
  func last(a bool) int {
      if a {
-         return 1
      }
=>    return 2
  }
`} {
		text, want, ran := "package p\n", []string(nil), 0
		lines := strings.Split(strings.Trim(code, "\n"), "\n")
		for i, line := range lines {
			text += line[2:] + "\n"
			if want = append(want, strings.TrimSpace(line[:2])); want[i] == "=>" {
				ran = i + 2
			}
		}
		found := source.ReadBranches(text, ran)
		for i := range lines {
			got := ""
			switch n := i + 2; {
			case n == ran:
				got = "=>"
			case slices.Contains(found.Decides, n):
				got = "?"
			case !found.Ran(n):
				got = "-"
			}
			if got != want[i] {
				t.Errorf("%q is said to be %q\n%s", lines[i], got, code)
			}
		}
	}
}
