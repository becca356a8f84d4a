package theme

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
)

// Own is the theme of a file of the user's colours.
const Own Name = "own"

// Skin holds the colours of a file: those of a theme, of which the file changes some.
type Skin struct{ palette palette }

// skinBytesMost limits a file of colours.
const skinBytesMost = 64 << 10

// based are the themes that a file can begin with, by name.
var based = map[string]palette{
	string(Dark): palettes[Auto][onDark], string(Light): palettes[Auto][onLight],
	string(HighContrast) + "-dark": palettes[HighContrast][onDark], string(HighContrast) + "-light": palettes[HighContrast][onLight],
	string(ColourBlind) + "-dark": palettes[ColourBlind][onDark], string(ColourBlind) + "-light": palettes[ColourBlind][onLight],
}

// roles returns the colours of a palette by the names that files have for them.
func (p *palette) roles() map[string]*string {
	all := map[string]*string{"text": &p.text, "dim": &p.dim, "border": &p.border, "focus": &p.focus,
		"selected-background": &p.selectedBack, "key": &p.key, "good": &p.good, "bad": &p.bad, "notice": &p.notice, "layer": &p.layer}
	for i, letter := range steps.Lanes {
		all["lane-"+strings.ToLower(string(letter))] = &p.lanes[i]
	}
	return all
}

// colour is #RRGGBB, or the number of one of a terminal's 256 colours.
var colour = regexp.MustCompile(`^(#[0-9A-Fa-f]{6}|[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$`)

// ReadSkin reads a file of colours.
func ReadSkin(file string) (*Skin, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > skinBytesMost {
		return nil, fmt.Errorf("%s is no file of colours: one has at most %d bytes", file, skinBytesMost)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	skin, err := parseSkin(data)
	if err != nil {
		return nil, fmt.Errorf("%s, %w", file, err)
	}
	return skin, nil
}

// parseSkin reads colours by the names of roles. The role base, which comes first, names a theme for the others.
func parseSkin(data []byte) (*Skin, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	skin := &Skin{based[string(Dark)]}
	if len(doc.Content) == 0 {
		return nil, errors.New("line 1: it has no colours, such as key: \"#5FD7FF\"")
	}
	if doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("line 1: it is no list of roles and their colours, such as key: \"#5FD7FF\"")
	}
	rows := doc.Content[0].Content
	for i := 0; i < len(rows); i += 2 {
		if rows[i].Value != "base" {
			continue
		}
		p, ok := based[rows[i+1].Value]
		if !ok {
			return nil, unknown(rows[i+1], "theme", slices.Sorted(maps.Keys(based)))
		}
		skin.palette = p
	}
	roles, seen := skin.palette.roles(), map[string]bool{}
	for i := 0; i < len(rows); i += 2 {
		role, value := rows[i], rows[i+1]
		switch into, ok := roles[role.Value]; {
		case seen[role.Value]:
			return nil, fmt.Errorf("line %d: %s is there twice", role.Line, role.Value)
		case role.Value == "base":
		case !ok:
			return nil, unknown(role, "role", append(slices.Sorted(maps.Keys(roles)), "base"))
		case value.Kind != yaml.ScalarNode || !colour.MatchString(value.Value):
			return nil, fmt.Errorf("line %d: %q is no colour for %s: write \"#RRGGBB\" in quotes, or a number up to 255",
				value.Line, value.Value, role.Value)
		default:
			*into = value.Value
		}
		seen[role.Value] = true
	}
	return skin, nil
}

// unknown is the error of a name that does not exist, with the nearest ones or else all.
func unknown(at *yaml.Node, kind string, all []string) error {
	if near := filter.Near(at.Value, all); len(near) > 0 {
		return fmt.Errorf("line %d: there is no %s %q; near it: %s", at.Line, kind, at.Value, strings.Join(near, ", "))
	}
	return fmt.Errorf("line %d: there is no %s %q; there are %s", at.Line, kind, at.Value, strings.Join(all, ", "))
}
