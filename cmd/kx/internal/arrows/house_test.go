package arrows

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// noRooms are packages that a reader need not find: one embeds source, the other is this test.
	noRooms = []string{"core", "cmd/kx/internal/arrows"}
	// floorRooms have rows for themselves alone: each package below them needs another room.
	floorRooms = []string{"store", "server", "tui", "cmd/kx"}
)

// roomsMost bounds the table of rooms: a reader keeps it in mind.
const roomsMost = 70

var roomPath = regexp.MustCompile(`^(core|store|server|tui|cmd)(/[a-z0-9]+)*$`)

// TestHouse compares the table of rooms in docs/house.md with the packages: each lies in a room, and each room has a package.
func TestHouse(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "house.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows, rooms := 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		first, ok := strings.CutPrefix(line, "| ")
		if !ok {
			continue
		}
		first, _, _ = strings.Cut(first, " |")
		names := strings.Split(first, ", ")
		if !roomPath.MatchString(names[0]) {
			continue
		}
		rows++
		for _, name := range names {
			rooms[name] = true
		}
	}
	if rows == 0 || rows > roomsMost {
		t.Errorf("docs/house.md has %d rooms, %d at most", rows, roomsMost)
	}
	inhabited := map[string]bool{}
	for _, p := range list(t) {
		pkg, ours := strings.CutPrefix(p.ImportPath, module+"/")
		if !ours || isKit(p.ImportPath) || !roomPath.MatchString(pkg) || slices.Contains(noRooms, pkg) {
			continue
		}
		room := pkg
		for !rooms[room] || room != pkg && slices.Contains(floorRooms, room) {
			if room = path.Dir(room); room == "." {
				t.Errorf("docs/house.md has no room for %s: add it to a row of the table Rooms", pkg)
				break
			}
		}
		inhabited[room] = true
	}
	for room := range rooms {
		if !inhabited[room] {
			t.Errorf("docs/house.md has a room %s without a package", room)
		}
	}
}
