//go:build linux

package soak

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// level is one thing that is measured.
type level struct {
	name, unit string
	// most is by how much of its mean it may grow in an hour, for sure.
	most float64
	at   []time.Duration
	is   []float64
}

// levels are all of them, in the order of what look finds.
func newLevels() []*level {
	return []*level{
		{name: "resident memory", unit: "MiB", most: 0.02},
		{name: "living heap after a collection", unit: "MiB", most: 0.02},
		{name: "goroutines", unit: "", most: 0.02},
		{name: "open files", unit: "", most: 0.02},
		{name: "etcd's database", unit: "MiB", most: 0.02},
		// Files of the log are given back one by one, so their sum goes up and down in steps.
		{name: "etcd's log and snapshots", unit: "MiB", most: math.Inf(1)},
		{name: "backups", unit: "MiB", most: 0.02},
	}
}

// look measures a process with its data.
func look(ctx context.Context, pid int, client rest.Interface, data, backups string) ([]float64, error) {
	resident, err := residentMemory(pid)
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		return nil, err
	}
	metrics, err := client.Get().AbsPath("/metrics").Do(ctx).Raw()
	if err != nil {
		return nil, err
	}
	heap, err := metric(string(metrics), "go_gc_heap_live_bytes")
	if err != nil {
		return nil, err
	}
	goroutines, err := metric(string(metrics), "go_goroutines")
	if err != nil {
		return nil, err
	}
	member := filepath.Join(data, "etcd", "member")
	database, err := size(filepath.Join(member, "snap", "db"))
	if err != nil {
		return nil, err
	}
	log, err := size(member)
	if err != nil {
		return nil, err
	}
	archives, err := size(backups)
	const mib = 1 << 20
	return []float64{resident / mib, heap / mib, goroutines, float64(len(files)), database / mib, (log - database) / mib, archives / mib}, err
}

func residentMemory(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kib, err := strconv.ParseFloat(strings.Fields(value)[0], 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("the system does not say how much memory the process has")
}

// metric is the value of one without labels.
func metric(page, name string) (float64, error) {
	for line := range strings.Lines(page) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("/metrics has no %s", name)
}

// size is how many bytes the files below a path have. What goes away meanwhile has none.
func size(path string) (sum float64, err error) {
	err = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil {
			sum += float64(info.Size())
		}
		return err
	})
	return sum, err
}

func (l *level) add(at time.Duration, value float64) {
	l.at, l.is = append(l.at, at), append(l.is, value)
}

// blocks is into how many parts of equal length a run is cut. The mean of each is a point: two points that are a part away from
// each other know little of each other, and single measures of a heap know nearly all.
const blocks = 24

// trend is the line through a level from some time on: where it is in the middle, how much it rises in an hour, and by how much
// that may be wrong (two standard errors).
type trend struct{ mean, hourly, doubt float64 }

func (l *level) trend(from, to time.Duration) trend {
	length := (to - from) / blocks
	var xs, ys []float64
	for i := range blocks {
		var sum, n float64
		for j, at := range l.at {
			if begin := from + time.Duration(i)*length; at >= begin && at < begin+length {
				sum, n = sum+l.is[j], n+1
			}
		}
		if n > 0 {
			xs, ys = append(xs, (from+time.Duration(i)*length+length/2).Hours()), append(ys, sum/n)
		}
	}
	return line(xs, ys)
}

// line is the one with the least squares.
func line(xs, ys []float64) trend {
	n := float64(len(xs))
	if n < 3 {
		return trend{mean: math.NaN(), hourly: math.NaN(), doubt: math.NaN()}
	}
	var mx, my float64
	for i := range xs {
		mx, my = mx+xs[i]/n, my+ys[i]/n
	}
	var sxx, sxy float64
	for i := range xs {
		sxx, sxy = sxx+(xs[i]-mx)*(xs[i]-mx), sxy+(xs[i]-mx)*(ys[i]-my)
	}
	slope := sxy / sxx
	var rest float64
	for i := range xs {
		off := ys[i] - my - slope*(xs[i]-mx)
		rest += off * off
	}
	return trend{mean: my, hourly: slope, doubt: 2 * math.Sqrt(rest/(n-2)/sxx)}
}

// grows is whether a trend surely is more than a level may have. A rise of less than one whole thing in an hour is none.
func (l *level) grows(t trend) bool { return t.hourly-t.doubt > max(1, l.most*t.mean) }
