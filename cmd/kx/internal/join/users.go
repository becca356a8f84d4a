package join

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mostUsers limits the bytes that are read from the list of users.
const mostUsers = 64 << 10

// enter adds this process to the list of users, which it has locked: its ID and its command. It leaves out the
// command's arguments, which may be secret.
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

// usersOf lists the processes that use the server of a data directory, such as "kx get (process 4711)". The list of
// users keeps entries until the server ends, so usersOf skips processes that have ended.
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
