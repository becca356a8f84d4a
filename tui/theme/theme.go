package theme

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Name is which theme is wanted.
type Name string

// The themes.
const (
	Auto  Name = "auto" // ask the terminal whether it is light or dark
	Light Name = "light"
	Dark  Name = "dark"
)

// Parse reads a theme's name; nothing is Auto.
func Parse(s string) (Name, error) {
	switch n := Name(strings.ToLower(s)); n {
	case "":
		return Auto, nil
	case Auto, Light, Dark:
		return n, nil
	}
	return "", fmt.Errorf("theme %q: there are auto, light and dark", s)
}

// Style paints a piece of text without changing its width.
type Style func(string) string

// Theme are the styles, by what they mean.
type Theme struct {
	// Name is which theme it is: what was drawn with another must be drawn anew.
	Name Name

	Title, Dim, Border, Focus Style
	Selected, Key, Good, Bad  Style
	Notice, Tab, Layer        Style
}

// palette are the colours of a theme. Those of text have a contrast of 4.5:1 or more with a usual background.
type palette struct {
	text, dim, border, focus, selectedBack, key, good, bad, notice, layer string
}

var palettes = map[Name]palette{
	Dark: {
		text: "#E4E4E4", dim: "#9E9E9E", border: "#8A8A8A", focus: "#5FD7FF", selectedBack: "#3A3A3A",
		key: "#5FD7FF", good: "#87D787", bad: "#FF8787", notice: "#FFD75F", layer: "#AFAFFF",
	},
	Light: {
		text: "#1C1C1C", dim: "#585858", border: "#767676", focus: "#005FAF", selectedBack: "#D7E3F4",
		key: "#005FAF", good: "#006100", bad: "#AF0000", notice: "#7A4B00", layer: "#4B2E9E",
	},
}

// backgrounds are what the contrast of the palettes is measured against.
var backgrounds = map[Name]string{Dark: "#1E1E1E", Light: "#FFFFFF"}

// New makes a theme for the terminal at out. With Auto the terminal is asked, once, whether it is dark: that must happen
// before anything else reads from it.
func New(name Name, out io.Writer) Theme {
	r := lipgloss.NewRenderer(out)
	if name == Auto {
		name = Light
		if r.HasDarkBackground() {
			name = Dark
		}
	}
	return of(r, name)
}

// Fixed is a theme for a terminal that is known.
func Fixed(name Name, profile termenv.Profile) Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	return of(r, name)
}

// Plain is the theme without colours.
func Plain() Theme { return Fixed(Dark, termenv.Ascii) }

func of(r *lipgloss.Renderer, name Name) Theme {
	p := palettes[name]
	plain := r.NewStyle().Inline(true)
	colour := func(c string) lipgloss.Style { return plain.Foreground(lipgloss.Color(c)) }
	paint := func(s lipgloss.Style) Style { return func(text string) string { return s.Render(text) } }
	return Theme{
		Name:     name,
		Title:    paint(colour(p.text).Bold(true)),
		Dim:      paint(colour(p.dim)),
		Border:   paint(colour(p.border)),
		Focus:    paint(colour(p.focus)),
		Selected: paint(colour(p.text).Background(lipgloss.Color(p.selectedBack)).Bold(true)),
		Key:      paint(colour(p.key).Bold(true)),
		Good:     paint(colour(p.good)),
		Bad:      paint(colour(p.bad)),
		Notice:   paint(colour(p.notice)),
		Tab:      paint(colour(p.focus).Bold(true)),
		Layer:    paint(colour(p.layer)),
	}
}
