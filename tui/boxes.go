package tui

import (
	"fmt"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
)

// boxWidth returns the width of the palette and of help in cells.
func (m *model) boxWidth() int { return min(m.w-4, 90) }

// boxTop returns the line of the terminal on which the palette and help begin.
func (m *model) boxTop() int { return m.frame.Screen.Y + 1 }

// boxHeight leaves the lines below the panes as they are.
func (m *model) boxHeight() int { return m.frame.Screen.H - 1 }

const (
	keyColumn   = 14
	titleColumn = 34
)

// paletteRows returns the number of visible commands: the frame and the typed line take the rest.
func (m *model) paletteRows() int { return max(m.boxHeight()-3, 1) }

// palette draws the commands that match the typed text.
func (m *model) palette() []string {
	w := m.boxWidth()
	lines := []string{": " + m.typing.View(w-4)}
	found := m.paletteCommands()
	m.chosen.Clamp(len(found), m.paletteRows())
	for i := m.chosen.Top; i < min(m.chosen.Top+m.paletteRows(), len(found)); i++ {
		c := found[i]
		mark, help := "  ", m.theme.Dim(string(c.ID))
		if on := m.screenOf(c); on != "" {
			help = m.theme.Layer(on) + "  " + help
		}
		if i == m.chosen.Cursor {
			mark = "> "
		}
		if reason := c.DisabledReason(); reason != "" {
			help = m.theme.Notice(m.theme.Words.Phrase("not now: %s", m.theme.Words.Text(reason)))
		}
		line := mark + m.theme.Key(draw.Fit(keys.FormatKeys(c.Keys...), keyColumn)) +
			draw.Fit(m.theme.Words.Text(c.Title), titleColumn+1) + " " + help
		lines = append(lines, line)
	}
	if len(found) == 0 {
		for _, line := range draw.Wrap(m.nothingListed(), max(w-4, 1)) {
			lines = append(lines, "  "+line)
		}
	}
	return m.theme.Box(lines, m.theme.Title(m.theme.Words.Phrase("Commands")), fmt.Sprintf("%d", len(found)), w, m.boxHeight(), true)
}

// helpRows returns the number of visible lines of help: the frame takes the rest, and the line that narrows it.
func (m *model) helpRows() int {
	if m.overlay == keys.InHelp {
		return max(m.boxHeight()-3, 1)
	}
	return max(m.boxHeight()-2, 1)
}

// helpLines lists the keys of the context for which help was opened: those that have the words that are looked for.
func (m *model) helpLines() []string {
	var lines []string
	sought := typedWords(m.seeking.String())
	for _, c := range m.table.CommandsIn(m.helpOf) {
		if !sought.matchIn(m.namesOf(c) + " " + m.helpOn(c)) {
			continue
		}
		shown := keys.FormatKeys(c.KeysIn(m.helpOf)...)
		text := draw.Wrap(m.theme.Words.Text(c.Help), max(m.boxWidth()-keyColumn-4, 1))
		if reason := c.DisabledReason(); reason != "" {
			text = append(text, m.theme.Words.Phrase("not now: %s", m.theme.Words.Text(reason)))
		}
		for i, part := range text {
			key := ""
			if i == 0 {
				key = shown
			}
			lines = append(lines, " "+m.theme.Key(draw.Fit(key, keyColumn))+" "+part)
		}
	}
	if len(sought) > 0 {
		if len(lines) == 0 {
			lines = append(lines, " "+m.theme.Words.Phrase("No key of this pane has that. %s looks among all commands.",
				keys.OpenPalette.Key()))
		}
		return lines
	}
	lines = append(lines, "",
		" "+m.theme.Words.Phrase("Marks: > cursor  ! failed  ~ running  ~3 changed 3 fields of the object  + folded  - unfolded"))
	return lines
}

// help draws the visible part of the keys of a context.
func (m *model) help() []string {
	lines := m.helpLines()
	m.reading.Clamp(len(lines), m.helpRows())
	note := m.theme.Words.Phrase("%s finds, esc closes", keys.Narrow.Key())
	if more := len(lines) - m.reading.Top - m.helpRows(); more > 0 {
		note = m.theme.Words.Phrase("%d more below", more)
	}
	lines = lines[m.reading.Top:]
	if m.overlay == keys.InHelp {
		lines = append([]string{"/ " + m.seeking.View(m.boxWidth()-4)}, lines...)
	}
	return m.theme.Box(lines, m.theme.Title(m.theme.Words.Phrase("Keys in %s", m.theme.Words.Text(m.helpOf.Name))),
		note, m.boxWidth(), m.boxHeight(), true)
}
