package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/kx-apiserver/kx/tui/disk"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// stateMost limits the file of state.
const stateMost = 1 << 20

// state is kept from one run to the next. Unreadable parts are skipped and reported.
type state struct {
	Theme theme.Name `json:"theme,omitempty"`
	// NoMouse leaves the mouse to the terminal.
	NoMouse bool `json:"noMouse,omitempty"`
	// Borders holds the borders that the user moved, by screen.
	Borders map[screen.Name]layout.Borders `json:"borders,omitempty"`
	// Used counts how often each command was run from the palette.
	Used map[keys.ID]int `json:"used,omitempty"`
	// Screens holds the state of each screen.
	Screens map[screen.Name]json.RawMessage `json:"screens,omitempty"`
}

// readState reads the state of an earlier run. A missing file is an empty state.
func readState(file string) (state, error) {
	var s state
	if file == "" {
		return s, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, stateMost))
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return state{}, fmt.Errorf("read %s: %w", file, err)
	}
	if _, err := theme.Parse(string(s.Theme)); err != nil {
		s.Theme = ""
		return s, fmt.Errorf("read %s: %w", file, err)
	}
	return s, nil
}

// restore passes the kept state to the screens.
func (m *model) restore(s state) error {
	var errs []error
	for _, c := range m.table.Commands() { // other commands belong to another version of kx
		if n := s.Used[c.ID]; n > 0 {
			if m.used == nil {
				m.used = map[keys.ID]int{}
			}
			m.used[c.ID] = min(n, usedMost)
		}
	}
	for _, one := range m.order {
		*one.Borders() = s.Borders[one.Name()]
		one.Borders().Clamp()
		k, ok := one.(screen.Keeper)
		if kept := s.Screens[one.Name()]; ok && len(kept) > 0 {
			if err := k.Restore(kept); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", one.Name(), err))
			}
		}
	}
	return errors.Join(errs...)
}

// keep writes the state for the next run.
func (m *model) keep() error {
	if m.options.StateFile == "" || m.options.Saved != nil {
		return nil
	}
	s := state{Theme: m.keptTheme, Used: m.used, NoMouse: !m.mouse, Borders: map[screen.Name]layout.Borders{},
		Screens: map[screen.Name]json.RawMessage{}}
	for _, one := range m.order {
		if b := *one.Borders(); b != (layout.Borders{}) {
			s.Borders[one.Name()] = b
		}
		k, ok := one.(screen.Keeper)
		if !ok {
			continue
		}
		kept := k.Keep()
		if kept == nil {
			continue
		}
		data, err := json.Marshal(kept)
		if err != nil {
			return fmt.Errorf("keep the state of %s: %w", one.Name(), err)
		}
		s.Screens[one.Name()] = data
	}
	if err := writeState(m.options.StateFile, s); err != nil {
		return fmt.Errorf("keep the state of the screen for the next run: %w", err)
	}
	return nil
}

// writeState replaces the file atomically: another kx may read it meanwhile.
func writeState(file string, s state) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return disk.Write(file, append(data, '\n'))
}
