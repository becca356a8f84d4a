package draw

import "testing"

func TestBytes(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0B", 999: "999B", 1000: "1.0KiB", 1024: "1.0KiB", 10 << 10: "10KiB", 999 << 10: "999KiB", 1000 << 10: "1.0MiB",
		9900 << 10: "9.7MiB", 1 << 40: "1.0TiB", 1<<63 - 1: "8.0EiB",
	} {
		if got := Bytes(n); got != want || len(got) > 6 {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
