package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Result is the result of a run.
type Result struct {
	Time    time.Time `json:"time"`
	Server  string    `json:"server"`
	Machine string    `json:"machine"`
	Passes  []Pass    `json:"passes"`
}

// Pass is the result of one pass over the operations.
type Pass struct {
	Settings
	Operations []Measurement `json:"operations"`
}

// Measurement is the result of one operation.
type Measurement struct {
	Name string `json:"name"`
	// Unit is the unit of the figures: requests, objects or events.
	Unit  string `json:"unit"`
	Count int64  `json:"count"`
	// Failed requests do not count in the other figures. Failure is the first of them.
	Failed    int64   `json:"failed,omitempty"`
	Failure   string  `json:"failure,omitempty"`
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"perSecond"`
	// The duration of a request, or the time from an event's write to its delivery.
	P50Micros float64 `json:"p50Micros"`
	P90Micros float64 `json:"p90Micros"`
	P99Micros float64 `json:"p99Micros"`
	MaxMicros float64 `json:"maxMicros"`
	// ReceivedBytes is the size of one request's answer.
	ReceivedBytes int64 `json:"receivedBytes"`
	// CPUMicros is the CPU time of the server's processes for one unit, and ResidentBytes their memory afterwards.
	// Both are 0 if the processes are not known.
	CPUMicros     float64 `json:"cpuMicros,omitempty"`
	ResidentBytes int64   `json:"residentBytes,omitempty"`
}

func newMeasurement(op operation, t *tally, elapsed, cpu time.Duration, resident int64) *Measurement {
	m := &Measurement{Name: op.name, Unit: op.unit, Count: t.successes(), Failed: t.failed, Seconds: elapsed.Seconds(),
		P50Micros: micros(t.took.quantile(0.5)), P90Micros: micros(t.took.quantile(0.9)), P99Micros: micros(t.took.quantile(0.99)),
		MaxMicros:     micros(t.took.max),
		ResidentBytes: resident}
	if t.first != nil {
		m.Failure = t.first.Error()
	}
	m.PerSecond = float64(m.Count) / elapsed.Seconds()
	if m.Count > 0 {
		m.CPUMicros = micros(cpu) / float64(m.Count)
		m.ReceivedBytes = t.received / max(1, t.took.n)
	}
	return m
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// header returns the settings of a pass and the titles of its columns.
func header(s Settings, cpu bool) string {
	text := fmt.Sprintf("\n%s %s objects of %s bytes, %d requests at a time, %d watchers\n\n%-16s %11s %11s %9s %9s %9s",
		thousands(int64(s.Objects)), s.Shape, thousands(int64(s.Size)),
		s.Concurrency, s.Watchers, "operation", "count", "a second", "p50", "p99", "max")
	if cpu {
		text += fmt.Sprintf(" %10s %10s", "CPU each", "resident")
	}
	return text + "\n"
}

// row returns a line of the table, and a second line if there were failures.
func (m *Measurement) row(cpu bool) string {
	text := fmt.Sprintf("%-16s %11s %11s %9s %9s %9s", m.Name, thousands(m.Count), rate(m.PerSecond), duration(m.P50Micros),
		duration(m.P99Micros), duration(m.MaxMicros))
	if cpu {
		text += fmt.Sprintf(" %10s %10s", duration(m.CPUMicros), fmt.Sprintf("%d MB", m.ResidentBytes/1_000_000))
	}
	if m.Failed > 0 {
		text += fmt.Sprintf("\n  %s failed, the first: %s", thousands(m.Failed), m.Failure)
	}
	return text + "\n"
}

// Write writes the result as JSON.
func (r *Result) Write(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err == nil {
		err = os.WriteFile(path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}

// Read reads the JSON that Write wrote.
func Read(path string) (*Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a result: %w", err)
	}
	r := &Result{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("read a result: %s: %w", path, err)
	}
	return r, nil
}

// Compare writes a table of the measurements that both results hold for the same settings.
func Compare(w io.Writer, first, second *Result) error {
	found := false
	for _, a := range first.Passes {
		for _, b := range second.Passes {
			a.Duration, b.Duration = 0, 0 // a longer run is only more exact
			if a.Settings != b.Settings {
				continue
			}
			found = true
			if _, err := io.WriteString(w, comparison(&a, &b)); err != nil {
				return err
			}
		}
	}
	if !found {
		return fmt.Errorf(
			"there is nothing to compare: no pass of one result has the objects, sizes and requests at a time of one of the other")
	}
	return nil
}

func comparison(a, b *Pass) string {
	var out strings.Builder
	s := a.Settings
	fmt.Fprintf(&out, "\n%s %s objects of %s bytes, %d requests at a time, %d watchers\n\n", thousands(int64(s.Objects)), s.Shape,
		thousands(int64(s.Size)), s.Concurrency, s.Watchers)
	fmt.Fprintf(&out, "%-16s %33s %33s %33s\n", "operation", "CPU each", "p50", "a second")
	for _, x := range a.Operations {
		for _, y := range b.Operations {
			if x.Name != y.Name {
				continue
			}
			fmt.Fprintf(&out, "%-16s %33s %33s %33s\n", x.Name, compareFigures(x.CPUMicros, y.CPUMicros, duration),
				compareFigures(x.P50Micros, y.P50Micros, duration), compareFigures(x.PerSecond, y.PerSecond, rate))
		}
	}
	return out.String()
}

// compareFigures shows two figures and, if neither is 0, their ratio.
func compareFigures(a, b float64, show func(float64) string) string {
	if a == 0 || b == 0 {
		return "–"
	}
	return fmt.Sprintf("%s → %s (×%s)", show(a), show(b), digitsOf(b/a))
}

// duration writes microseconds with three digits and a fitting unit.
func duration(us float64) string {
	switch {
	case us == 0:
		return "–"
	case us < 1000:
		return digitsOf(us) + " µs"
	case us < 1_000_000:
		return digitsOf(us/1000) + " ms"
	default:
		return digitsOf(us/1_000_000) + " s"
	}
}

func rate(n float64) string {
	if n >= 100 {
		return thousands(int64(n + 0.5))
	}
	return digitsOf(n)
}

// digitsOf writes at least three digits.
func digitsOf(n float64) string {
	switch {
	case n < 10:
		return fmt.Sprintf("%.2f", n)
	case n < 100:
		return fmt.Sprintf("%.1f", n)
	default:
		return thousands(int64(n + 0.5))
	}
}

// thousands writes a whole number with commas.
func thousands(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
