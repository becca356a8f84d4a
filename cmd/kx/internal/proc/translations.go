package proc

import (
	"os"
	"strings"

	"k8s.io/kubectl/pkg/util/i18n"
)

// kubectl's packages translate their help texts during initialisation. For that they unpack a catalogue, even for
// English, which takes a third of their initialisation. Go initialises packages as soon as their imports are
// initialised, in the order of their paths. This package's path comes before k8s.io, so it runs before the first
// translation.
func init() {
	// It fails only if translations are loaded already: then there is nothing to skip.
	_ = i18n.SetLoadTranslationsFunc(load)
}

// load loads the translations unless the environment selects English, the language of the texts.
func load() error {
	if english(os.Getenv) {
		return nil
	}
	return i18n.LoadTranslations("kubectl", nil)
}

// english reports whether the environment selects English, or no language.
func english(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if value := getenv(name); value != "" {
			language, _, _ := strings.Cut(value, ".")
			return language == "C" || language == "POSIX" || strings.HasPrefix(language, "en")
		}
	}
	return true
}
