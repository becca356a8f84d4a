package theme

import "github.com/kx-apiserver/kx/core/steps"

// palette holds the colours of a theme. Text colours have a contrast of 4.5:1 or more with a usual background; in
// high-contrast, 7:1. In colour-blind, good and bad are blue and orange, which stay distinct in the common kinds of
// colour blindness.
type palette struct {
	text, dim, border, focus, selectedBack, key, good, bad, notice, layer string
	// lanes holds the colours of the lanes, from the client to etcd.
	lanes [len(steps.Lanes)]string
}

// ground is a kind of background.
type ground bool

const (
	onDark  ground = true
	onLight ground = false
)

// palettes maps themes and backgrounds to palettes.
var palettes = map[Name]map[ground]palette{
	Auto: {
		onDark: {
			text: "#E4E4E4", dim: "#9E9E9E", border: "#8A8A8A", focus: "#5FD7FF", selectedBack: "#3A3A3A",
			key: "#5FD7FF", good: "#87D787", bad: "#FF8787", notice: "#FFD75F", layer: "#AFAFFF",
			lanes: [...]string{"#AFAFFF", "#5FD7FF", "#87D787", "#FFD75F", "#FFAF87", "#FF87D7"},
		},
		onLight: {
			text: "#1C1C1C", dim: "#585858", border: "#6C6C6C", focus: "#005FAF", selectedBack: "#D7E3F4",
			key: "#005FAF", good: "#006100", bad: "#AF0000", notice: "#7A4B00", layer: "#4B2E9E",
			lanes: [...]string{"#4B2E9E", "#005F87", "#006100", "#7A4B00", "#A03000", "#9B0070"},
		},
	},
	HighContrast: {
		onDark: {
			text: "#FFFFFF", dim: "#D0D0D0", border: "#FFFFFF", focus: "#FFFF00", selectedBack: "#00005F",
			key: "#FFFF00", good: "#5FFF5F", bad: "#FFAFAF", notice: "#FFD700", layer: "#D7D7FF",
			lanes: [...]string{"#D7D7FF", "#5FFFFF", "#5FFF5F", "#FFFF5F", "#FFBF7F", "#FFAFFF"},
		},
		onLight: {
			text: "#000000", dim: "#303030", border: "#000000", focus: "#00008B", selectedBack: "#FFFF87",
			key: "#00008B", good: "#004000", bad: "#870000", notice: "#5F3700", layer: "#3A1C80",
			lanes: [...]string{"#3A1C80", "#004A6A", "#004000", "#5F3700", "#7F1F00", "#6F0050"},
		},
	},
	ColourBlind: {
		onDark: {
			text: "#E4E4E4", dim: "#9E9E9E", border: "#8A8A8A", focus: "#F0E442", selectedBack: "#3A3A3A",
			key: "#F0E442", good: "#56B4E9", bad: "#FFB000", notice: "#F0E442", layer: "#D7AFD7",
			lanes: [...]string{"#8080FF", "#60FFFF", "#FFFF80", "#A0A000", "#E06080", "#FFFF00"},
		},
		onLight: {
			text: "#1C1C1C", dim: "#585858", border: "#6C6C6C", focus: "#004C7F", selectedBack: "#D7E3F4",
			key: "#004C7F", good: "#005A9C", bad: "#8F4700", notice: "#5F4700", layer: "#6A3D6A",
			lanes: [...]string{"#000000", "#0000FF", "#806080", "#A06000", "#8040FF", "#000080"},
		},
	},
}

// grounds lists the backgrounds that contrast is measured against.
var grounds = map[ground][]string{onDark: {"#1E1E1E", "#000000"}, onLight: {"#FFFFFF", "#F5F5F5"}}

// paletteOf returns the palette of a theme on a background. Dark and Light use the palettes of Auto.
func paletteOf(name Name, dark bool) palette {
	switch name {
	case Dark:
		return palettes[Auto][onDark]
	case Light:
		return palettes[Auto][onLight]
	}
	return palettes[name][ground(dark)]
}
