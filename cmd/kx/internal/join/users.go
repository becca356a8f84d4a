package join

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mostUsers bounds what is read of the list of users.
const mostUsers = 64 << 10

// enter writes who uses a server into the list of users, whose lock they hold: process and command. What the command
// was told is not written, for it may be secret.
func enter(f *os.File) error {
	command := "?"
	if len(os.Args) > 1 {
		command, _, _ = strings.Cut(os.Args[1], "\n")
	}
	if _, err := fmt.Fprintf(f, "%d %s\n", os.Getpid(), command); err != nil {
		return fmt.Errorf("enter the list of users: %w", err)
	}
	return nil
}

// usersOf names those who use the server of a data directory, such as "kx get (process 4711)". Who has left is in the
// list until the server ends, so only processes that are alive count.
func usersOf(dir string) (names []string) {
	data, err := os.ReadFile(filepath.Join(dir, usersName))
	if err != nil || len(data) > mostUsers {
		return nil
	}
	seen := map[int]bool{os.Getpid(): true}
	for line := range strings.Lines(string(data)) {
		var pid int
		var command string
		if n, _ := fmt.Sscanf(line, "%d %s", &pid, &command); n < 2 || seen[pid] || !alive(pid) {
			continue
		}
		seen[pid] = true
		names = append(names, fmt.Sprintf("kx %s (process %d)", command, pid))
	}
	return names
}
