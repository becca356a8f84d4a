package draw

import "fmt"

// Bytes formats a number of bytes in at most six cells.
func Bytes(n int64) string {
	const units = "KMGTPE"
	if n < 1000 {
		return fmt.Sprintf("%dB", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 999.5 && i < len(units)-1 {
		f, i = f/1024, i+1
	}
	if f < 9.95 {
		return fmt.Sprintf("%.1f%ciB", f, units[i])
	}
	return fmt.Sprintf("%.0f%ciB", f, units[i])
}
