package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of CPU time in /proc, on every Linux that Go runs on.
const tick = 10 * time.Millisecond

// sampler reads the resource usage of the server's processes.
type sampler struct {
	proc string
	pids []int
}

// sample is the CPU time since the processes' start, and their current memory.
type sample struct {
	cpu      time.Duration
	resident int64
}

// newSampler makes a sampler. It returns an error if the processes can't be read.
func newSampler(proc string, pids []int) (*sampler, error) {
	s := &sampler{proc: proc, pids: pids}
	if len(pids) == 0 {
		return s, nil
	}
	if _, err := os.Stat(filepath.Join(proc, "self", "stat")); err != nil {
		return nil, fmt.Errorf("--pid needs %s, which this system does not have: leave it out, or run on Linux", proc)
	}
	_, err := s.now()
	return s, err
}

// now returns the sum over all processes.
func (s *sampler) now() (sample, error) {
	var sum sample
	for _, pid := range s.pids {
		one, err := s.read(pid)
		if err != nil {
			return sample{}, fmt.Errorf("read what process %d has used: %w", pid, err)
		}
		sum.cpu += one.cpu
		sum.resident += one.resident
	}
	return sum, nil
}

func (s *sampler) read(pid int) (sample, error) {
	dir := filepath.Join(s.proc, strconv.Itoa(pid))
	stat, err := os.ReadFile(filepath.Join(dir, "stat"))
	if err != nil {
		return sample{}, err
	}
	// The command's name is in parentheses, and may itself contain spaces and parentheses.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	const user, system = 11, 12 // among the fields after the name
	if len(fields) <= system {
		return sample{}, fmt.Errorf("%s/stat has %d fields", dir, len(fields))
	}
	ticks := int64(0)
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return sample{}, fmt.Errorf("%s/stat: %w", dir, err)
		}
		ticks += n
	}
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return sample{}, err
	}
	return sample{cpu: time.Duration(ticks) * tick, resident: residentOf(string(status))}, nil
}

// residentOf returns 0 for a process that has ended but is still listed.
func residentOf(status string) int64 {
	for line := range strings.Lines(status) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 10, 64)
			if err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
