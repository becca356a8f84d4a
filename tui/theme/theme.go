package theme

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Name is which theme is wanted.
type Name string

// The themes.
const (
	Auto         Name = "auto" // light or dark, as the terminal is
	Dark         Name = "dark"
	Light        Name = "light"
	HighContrast Name = "high-contrast"
	ColourBlind  Name = "colour-blind"
	None         Name = "none"
)

// Names are the themes, in the order in which one goes through them.
var Names = []Name{Auto, Dark, Light, HighContrast, ColourBlind, None}

// Parse reads a theme's name; nothing is nothing.
func Parse(s string) (Name, error) {
	n := Name(strings.ToLower(s))
	if n == "" {
		return "", nil
	}
	var all []string
	for _, name := range Names {
		if n == name {
			return n, nil
		}
		all = append(all, string(name))
	}
	return "", fmt.Errorf("theme %q: there are %s", s, strings.Join(all, ", "))
}

// Style paints a piece of text without changing its width.
type Style func(string) string

// Theme are the styles, by what they mean, and the language of the words.
type Theme struct {
	// Name is which theme it is: what was drawn with another must be drawn anew.
	Name Name

	Title, Dim, Border, Focus Style
	Selected, Key, Good, Bad  Style
	Notice, Tab, Layer        Style

	// Lanes are the styles of the layers, by their lane.
	Lanes [len(trace.Lanes)]Style

	// Words is the language of all words that are not the server's.
	Words lang.Language
}

// LayerOf is the style of a layer, by its name. Layers have a letter and a place too: the colour is never the only sign.
func (t Theme) LayerOf(layer string) Style {
	if lane, ok := trace.LaneOf(layer); ok {
		return t.Lanes[lane]
	}
	return t.Layer
}

// Box frames lines, as draw.Box does. The frame shows where the focus is.
func (t Theme) Box(lines []string, title, note string, w, h int, focused bool) []string {
	paint := t.Border
	if focused {
		paint = t.Focus
	}
	return draw.Box(lines, title, note, w, h, focused, draw.Paint(paint))
}

// SameAs is the line that says how else the same can be done.
func (t Theme) SameAs(command string) string {
	return t.Dim(" "+t.Words.Phrase("same as")+"  ") + draw.Clean(command)
}

// Terminal is what is to be known of a terminal to choose colours for it.
type Terminal struct {
	// Words is the language of its themes.
	Words lang.Language

	renderer *lipgloss.Renderer
	// plain says that no colours are wanted, or none can be had.
	plain bool
	// dark says whether it is dark, once that is known.
	dark *bool
}

// For is the terminal at out. NO_COLOR, and a TERM that is dumb, mean that it shall have no colours.
func For(out io.Writer) *Terminal {
	t := &Terminal{renderer: lipgloss.NewRenderer(out)}
	t.plain = os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return t
}

// Choose is the theme that the terminal gets: what was said for this run, or else none if it shall have no colours, or else
// what an earlier run had, or else auto.
func (t *Terminal) Choose(said, kept Name) Name {
	switch {
	case said != "":
		return said
	case t.plain:
		return None
	case kept != "":
		return kept
	}
	return Auto
}

// Theme is a theme for the terminal. Whether it is dark the terminal was asked when the process began, by Bubble Tea, before
// anything else read from it; a theme that is named for a background answers that itself.
func (t *Terminal) Theme(name Name) Theme {
	if t.dark == nil {
		dark := name != Light
		if name == Auto || name == HighContrast || name == ColourBlind {
			dark = lipgloss.HasDarkBackground()
		}
		t.dark = &dark
	}
	if t.plain && name != None && t.renderer.ColorProfile() == termenv.Ascii {
		// It was said that there shall be colours after all.
		t.renderer.SetColorProfile(t.renderer.Output().ColorProfile())
	}
	made := of(t.renderer, name, *t.dark)
	made.Words = t.Words
	return made
}

// Fixed is a theme for a terminal that is known: dark, unless the theme is for a light one.
func Fixed(name Name, profile termenv.Profile) Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	return of(r, name, name != Light)
}

// Plain is the theme without colours.
func Plain() Theme { return Fixed(None, termenv.Ascii) }

func of(r *lipgloss.Renderer, name Name, dark bool) Theme {
	if name == None {
		same := func(text string) string { return text }
		return Theme{Name: name, Title: same, Dim: same, Border: same, Focus: same, Selected: same, Key: same, Good: same, Bad: same,
			Notice: same, Tab: same, Layer: same, Lanes: [...]Style{same, same, same, same, same, same}}
	}
	p := paletteOf(name, dark)
	plain := r.NewStyle().Inline(true)
	colour := func(c string) lipgloss.Style { return plain.Foreground(lipgloss.Color(c)) }
	paint := func(s lipgloss.Style) Style { return func(text string) string { return s.Render(text) } }
	var lanes [len(trace.Lanes)]Style
	for i, c := range p.lanes {
		lanes[i] = paint(colour(c))
	}
	return Theme{
		Lanes:    lanes,
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
