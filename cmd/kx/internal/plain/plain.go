// Package plain spares every start of kx the loading of translations that nobody reads.
//
// kubectl's packages translate their help texts while they are initialised, and for that unpack a catalogue, in English
// too: a third of what they take together. Go initialises packages as soon as what they import is, in the order of
// their paths; this one's path comes before k8s.io, so it is there before the first text is asked for.
package plain

import (
	"os"
	"strings"

	"k8s.io/kubectl/pkg/util/i18n"
)

func init() {
	// It fails only if translations are loaded already: then there is nothing to spare.
	_ = i18n.SetLoadTranslationsFunc(load)
}

// load loads the translations if the environment asks for another language than that of the texts.
func load() error {
	if english(os.Getenv) {
		return nil
	}
	return i18n.LoadTranslations("kubectl", nil)
}

// english says whether the environment asks for English, or for nothing.
func english(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := getenv(name); value != "" {
			language, _, _ := strings.Cut(value, ".")
			return language == "C" || language == "POSIX" || strings.HasPrefix(language, "en")
		}
	}
	return true
}
