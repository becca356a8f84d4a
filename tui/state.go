package tui

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
	"github.com/kx-apiserver/kx/tui/whole"
)

// stateMost is how long a file of state may be.
const stateMost = 1 << 20

// state is what one run leaves to the next. What can't be read of it is left, and said.
type state struct {
	Theme theme.Name `json:"theme,omitempty"`
	// NoMouse says that the mouse is the terminal's.
	NoMouse bool `json:"noMouse,omitempty"`
	// Borders are those between the panes of each screen, as the user moved them.
	Borders map[screen.Name]layout.Borders `json:"borders,omitempty"`
	// Used is how often commands were taken from the palette.
	Used map[keys.ID]int `json:"used,omitempty"`
	// Screens are what each screen keeps.
	Screens map[screen.Name]json.RawMessage `json:"screens,omitempty"`
}

// readState reads what an earlier run left. No file is no state.
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

// restore gives the screens what they kept.
func (m *model) restore(s state) error {
	var errs []error
	for _, c := range m.table.Commands() { // others were of another version
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

// keep writes what the next run shall know.
func (m *model) keep() error {
	if m.options.StateFile == "" || m.options.Saved != nil {
		return nil
	}
	s := state{Theme: m.keptTheme, Used: m.used, NoMouse: !m.mouse, Borders: map[screen.Name]layout.Borders{}, Screens: map[screen.Name]json.RawMessage{}}
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

// writeState replaces the file as a whole: another kx may read it meanwhile.
func writeState(file string, s state) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return whole.Write(file, append(data, '\n'))
}
