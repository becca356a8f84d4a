//go:build linux

package torture

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// alarming is what no log of a server may have.
var alarming = regexp.MustCompile(`(?i)panic|fatal|WARNING: DATA RACE|goroutine \d+ \[|level=ERROR`)

// allowed are lines that are alarming and in order, with why.
var allowed = []*regexp.Regexp{
	// The disk was full, for a while.
	regexp.MustCompile(`file too large|etcd: writeAt failed`),
	// Then etcd's applier goes on for a moment without the transaction that it could not commit, while the process ends already.
	regexp.MustCompile(`etcd: (failed to commit tx|execute job failed" job=server_applyAll)`),
	// etcd had the alarm NOSPACE, for a while.
	regexp.MustCompile(`msg="writes are refused" error="etcd has the alarm NOSPACE`),
	// etcd could not do what it was asked: a request was answered so.
	regexp.MustCompile(`An error without a Status reached the response.* type=(rpctypes\.EtcdError|\*status\.Error)`),
}

// checkLogs is an error if a server said what it must not.
func checkLogs(dir string) error {
	logs, err := filepath.Glob(filepath.Join(dir, "kx-*.log"))
	if err != nil {
		return err
	}
	var found []string
	for _, log := range logs {
		f, err := os.Open(log)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if alarms(lines.Text()) {
				found = append(found, filepath.Base(log)+": "+lines.Text())
			}
		}
		err = lines.Err()
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("read %s: %w", log, err)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("%d lines in logs:\n%s", len(found), strings.Join(found[:min(len(found), 20)], "\n"))
}

func alarms(line string) bool {
	if !alarming.MatchString(line) {
		return false
	}
	for _, a := range allowed {
		if a.MatchString(line) {
			return false
		}
	}
	return true
}
