package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// seat is a kx tui on a terminal of its own.
type seat struct {
	cmd    *exec.Cmd
	begun  time.Time
	master *os.File
	text   buffer // all that it wrote
	news   chan struct{}
	closed chan struct{}
}

// sit starts kx tui on a terminal of 120x40, which answers what a terminal is asked.
func sit(t testing.TB, args ...string) *seat {
	t.Helper()
	master, slave := terminal(t)
	s := &seat{cmd: kx(t, append([]string{"tui"}, args...)...), master: master, news: make(chan struct{}, 1), closed: make(chan struct{})}
	s.cmd.Env = append(s.cmd.Env, "TERM=xterm-256color", "NO_COLOR=")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = slave, slave, slave
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s.begun = time.Now()
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	go s.read()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		master.Close()
		<-s.closed
	})
	return s
}

// terminal opens a terminal: what is written to slave is read from master.
func terminal(t testing.TB) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120}); err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}

// asked is what a program asks a terminal, and what a dark one answers, in the order in which it is asked.
var asked = []struct{ question, answer string }{
	{"\x1b]11;?", "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\"},
	{"\x1b[6n", "\x1b[1;1R"},
}

func (s *seat) read() {
	defer close(s.closed)
	chunk := make([]byte, 64<<10)
	for {
		n, err := s.master.Read(chunk)
		for _, a := range asked {
			if bytes.Contains(chunk[:n], []byte(a.question)) {
				_, _ = s.master.WriteString(a.answer)
			}
		}
		_, _ = s.text.Write(chunk[:n])
		select {
		case s.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// see waits until a text was written, and says how long that was after the start.
func (s *seat) see(t testing.TB, text string) time.Duration {
	t.Helper()
	s.seeTimes(t, text, 1)
	return time.Since(s.begun)
}

// seeTimes waits until a text was written that often.
func (s *seat) seeTimes(t testing.TB, text string, n int) {
	t.Helper()
	late := time.After(patience)
	for s.times(text) < n {
		select {
		case <-s.news:
		case <-late:
			t.Fatalf("%q was not seen in %q", text, s.text.String())
		}
	}
}

// times is how often a text was written.
func (s *seat) times(text string) int { return strings.Count(s.text.String(), text) }

// press writes to the program what keys write.
func (s *seat) press(t testing.TB, keys string) {
	t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkTUIStart is how long it is from the start of the process to what is seen first, and until the server is there.
func BenchmarkTUIStart(b *testing.B) {
	var frame, live time.Duration
	for b.Loop() {
		s := sit(b, "--data-dir", filepath.Join(b.TempDir(), "kx"), "--listen", "127.0.0.1:0")
		frame += s.see(b, "1 Capture")
		live += s.see(b, "live")
		s.press(b, "q")
		if err := s.cmd.Wait(); err != nil {
			b.Fatal(err, s.text.String())
		}
	}
	b.ReportMetric(float64(frame.Milliseconds())/float64(b.N), "ms-to-frame")
	b.ReportMetric(float64(live.Milliseconds())/float64(b.N), "ms-to-live")
}

// cpu is what a process has taken of the processors.
func cpu(t testing.TB, pid int) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	user, err1 := strconv.Atoi(fields[11])
	system, err2 := strconv.Atoi(fields[12])
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return time.Duration(user+system) * (time.Second / 100)
}
