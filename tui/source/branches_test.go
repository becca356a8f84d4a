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
      case n == 1:
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
`, `
  func otherwise(n int) {
      switch n {
-     default:
-         work()
      case 1, 2:
-         work()
?     case 3,
          4:
=>        stop()
-     case 5:
-         work()
      }
      work()
  }
`, `
  func none(n int) {
      switch n {
?     default:
=>        stop()
      case 1:
-         work()
      case 2:
-         work()
      }
  }
`, `
  func through(n int) {
      switch {
      case n == 0:
-         work()
      case n > 2:
          work()
          fallthrough
      case n > 1:
=>        stop()
          fallthrough
      case n > 0:
          work()
-     default:
-         work()
      }
  }
`, `
  func onto(n int) {
      switch {
?     case n > 1:
=>        stop()
          fallthrough
      case n > 0:
          work()
-     case n == 0:
-         work()
      }
  }
`, `
  func tag(n int) {
=>    switch k := kindOf(n); k {
      case 1:
          work()
      default:
          stop()
      }
  }
`, `
  func condition(n int) {
      switch {
      case n == 0:
-         work()
=>    case isOdd(n):
          work()
      case n == 2:
          work()
      default:
          stop()
      }
  }
`, `
  func lines(n int) {
      switch {
      case n == 0:
-         work()
      case n > 7,
=>        isOdd(n):
          work()
      case n == 2:
          work()
      }
  }
`, `
  func kinds(v any) {
      switch v := v.(type) {
      case int:
-         work(v)
?     case string:
=>        stop(v)
-     default:
-         work()
      }
  }
`, `
  func wait(a, b chan int) {
      select {
-     case <-a:
-         work()
?     case n := <-b:
=>        stop(n)
-     default:
-         work()
      }
  }
`, `
  func waits(a, b chan int) {
=>    select {
      case <-a:
          work()
      case <-b:
          stop()
      }
  }
`, `
  func receive(a, b chan int) {
      select {
=>    case a <- next():
          work()
      case <-b:
          stop()
      }
  }
`, `
  func ifLines(a bool) {
      if a &&
=>        isOdd(1) {
          work()
      } else {
          stop()
      }
  }
`, `
  func ifBrace(a bool) {
      if isOdd(
          1,
=>    ) {
          work()
      } else if a {
          stop()
      }
  }
`, `
  func ifLiteral(a []int) {
      if slices.ContainsFunc(a, func(n int) bool {
=>        return n > 1
      }) {
          work()
      } else {
          stop()
      }
  }
`, `
  func elseIf(n int) {
?     if n == 0 {
-         work()
=>    } else if isOdd(n) {
          work()
      } else {
          stop()
      }
  }
`, `
  func jump(n int) {
      if n == 0 {
          work()
          goto done
      }
      work()
  done:
=>    stop()
  }
`, `
  func jumpInside(n int) {
      if n == 0 {
          if work() {
              goto done
          }
          return
      }
  done:
=>    stop()
  }
`, `
  func again(n int) {
  retry:
      if n == 0 {
-         return
      }
?     if n > 9 {
=>        return
      }
-     n++
-     goto retry
  }
`, `
  func back(n int) int {
  retry:
      n++
      if n < 9 {
-         work()
-         goto retry
      }
=>    return n
  }
`, `
  func outer(all [][]int) {
  next:
      for _, some := range all {
          for _, n := range some {
              if n < 0 {
-                 continue next
              }
              if n == 0 {
-                 break next
              }
=>            work(n)
          }
      }
      stop()
  }
`, `
  func ends(n int) int {
      if n == 0 {
          work()
      } else if n == 1 {
-         return 1
      } else {
-         return 2
      }
=>    return stop()
  }
`, `
  func later(n int) (err error) {
      defer func() {
          work()
      }()
      if n == 0 {
-         return nil
      }
=>    return wrong(n)
  }
`, `
  func deferred(n int) {
      defer func() {
          if n == 0 {
-             return
          }
=>        stop()
      }()
      if n == 0 {
          return
      }
      work()
  }
`, `
  func short(all []int) bool {
      if len(all) == 0 {
-         return false
      }
=>    return slices.ContainsFunc(all, func(n int) bool { return n > 1 })
  }
`, `
  func start(all []int) bool {
      if len(all) == 0 {
-         return false
      }
=>    return slices.ContainsFunc(all, func(n int) bool {
          return n > 1
      })
-     work()
  }
`, `
  func made(n int) func() {
      if n == 0 {
-         return nil
      }
=>    f := func() { stop() }
      if n == 1 {
          return f
      }
      return nil
  }
`, `
  func rounds(n int) int {
      for i := range n {
          if i > 7 {
-             break
          }
          switch {
?         case i == 3:
=>            return work()
-         default:
-             stop()
          }
-         work()
      }
-     return 0
  }
`, `
  func labelled(n int) {
  out:
      switch {
?     case n > 1:
          if n > 7 {
-             break out
          }
=>        work()
-     case n == 1:
-         stop()
      }
      stop()
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

// TestBranchesOfBrokenCode: code of another server that does not parse has what branches it has.
func TestBranchesOfBrokenCode(t *testing.T) {
	const code = "package p\nfunc f(n int) {\nif n > 1 {\ngoto\n}\nif n > 0 {\nreturn\n} else {\nbreak\n}\nswitch {\ncase n > 1:\n" +
		"fallthrough\ncase n > 0, func() bool {\nreturn true\n}():\ndefault:\n}\nselect {\ncase <-c:\nl:\nreturn\n}\n}\n"
	for i := range code {
		for line := range strings.Count(code, "\n") + 2 {
			source.ReadBranches(code[:i], line)
			source.ReadBranches(code[i:], line)
			source.ReadBranches("package p\n"+code[:i]+"}\n"+code[i:], line)
		}
	}
}
