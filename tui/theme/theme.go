package theme

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Name identifies a theme.
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

// Names lists the themes, in the order in which the user cycles through them.
var Names = []Name{Auto, Dark, Light, HighContrast, ColourBlind, None}

// Parse parses a theme's name; an empty name stays empty.
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

// Theme holds styles by meaning, and the language of the words.
type Theme struct {
	// Name identifies the theme: text drawn with another theme must be drawn anew.
	Name Name

	Title, Dim, Border, Focus Style
	Selected, Key, Good, Bad  Style
	Notice, Tab, Layer        Style

	// Lanes holds the styles of the layers, by lane.
	Lanes [len(steps.Lanes)]Style

	// Words is the language of all words except the server's.
	Words lang.Language
}

// LayerOf returns the style of a layer. Layers have a letter and a place too: the colour is never the only sign.
func (t Theme) LayerOf(layer string) Style {
	if lane, ok := steps.LaneOf(layer); ok {
		return t.Lanes[lane]
	}
	return t.Layer
}

// Box frames lines. The frame's style shows the focus.
func (t Theme) Box(lines []string, title, note string, w, h int, focused bool) []string {
	paint := t.Border
	if focused {
		paint = t.Focus
	}
	return draw.Frame{Focused: focused, Paint: draw.Paint(paint)}.Box(lines, title, note, w, h)
}

// SameAs draws the line with the equivalent command.
func (t Theme) SameAs(command string) string {
	return t.Dim(" "+t.Words.Phrase("same as")+"  ") + draw.Clean(command)
}

// Terminal describes the colours of a terminal.
type Terminal struct {
	// Words is the language of the terminal's themes.
	Words lang.Language
	// Skin holds the colours of the theme Own; nil if there is none.
	Skin *Skin

	renderer *lipgloss.Renderer
	// plain reports that colours are unwanted or unavailable.
	plain bool
	// dark reports whether the background is dark; nil until that is known.
	dark *bool
}

// DetectTerminal describes the terminal at out. NO_COLOR, and a dumb TERM, turn colours off.
func DetectTerminal(out io.Writer) *Terminal {
	t := &Terminal{renderer: lipgloss.NewRenderer(out)}
	t.plain = os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb"
	return t
}

// Choose returns the theme for the terminal: said, the choice for this run; or else None if colours are off; or else
// kept, the choice of an earlier run; or else Auto.
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

// Names lists the themes of the terminal, in the order in which the user cycles through them.
func (t *Terminal) Names() []Name {
	if t.Skin == nil {
		return Names
	}
	return append(slices.Clone(Names), Own)
}

// Theme returns a theme for the terminal. Bubble Tea asked the terminal for its background when the process began,
// before anything else read from it. A theme named for a background does not need the answer.
func (t *Terminal) Theme(name Name) Theme {
	if t.dark == nil {
		dark := name != Light
		if name == Auto || name == HighContrast || name == ColourBlind {
			dark = lipgloss.HasDarkBackground()
		}
		t.dark = &dark
	}
	if t.plain && name != None && t.renderer.ColorProfile() == termenv.Ascii {
		// A theme with colours was chosen explicitly.
		t.renderer.SetColorProfile(t.renderer.Output().ColorProfile())
	}
	p := paletteOf(name, *t.dark)
	if name == Own && t.Skin != nil {
		p = t.Skin.palette
	}
	made := newTheme(t.renderer, name, p)
	made.Words = t.Words
	return made
}

// NewTheme returns a theme for a known terminal: dark, unless the theme is for a light one.
func NewTheme(name Name, profile termenv.Profile) Theme {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	return newTheme(r, name, paletteOf(name, name != Light))
}

// Plain returns the theme without colours.
func Plain() Theme { return NewTheme(None, termenv.Ascii) }

func newTheme(r *lipgloss.Renderer, name Name, p palette) Theme {
	if name == None {
		same := func(text string) string { return text }
		return Theme{Name: name, Title: same, Dim: same, Border: same, Focus: same, Selected: same, Key: same, Good: same, Bad: same,
			Notice: same, Tab: same, Layer: same, Lanes: [...]Style{same, same, same, same, same, same}}
	}
	plain := r.NewStyle().Inline(true)
	colour := func(c string) lipgloss.Style { return plain.Foreground(lipgloss.Color(c)) }
	paint := func(s lipgloss.Style) Style { return func(text string) string { return s.Render(text) } }
	var lanes [len(steps.Lanes)]Style
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
