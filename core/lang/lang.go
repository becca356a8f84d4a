package lang

import (
	"fmt"
	"strings"
)

// Language is a language of people. Its zero value is English.
type Language uint8

// The languages.
const (
	English Language = iota
	Chinese
)

// codes holds the codes of languages, by Language.
var codes = [...]string{"en", "zh"}

// Codes are the names of all languages.
func Codes() []string { return append([]string(nil), codes[:]...) }

func (l Language) String() string { return codes[l] }

// Parse reads the name of a language. It may be a locale, such as zh_CN.UTF-8.
func Parse(name string) (Language, error) {
	if l, ok := ofLocale(name); ok {
		return l, nil
	}
	return English, fmt.Errorf("language %q: there are %s", name, strings.Join(codes[:], " and "))
}

// FromEnvironment is the language of the messages that the environment asks for, as POSIX has it: the first of LC_ALL,
// LC_MESSAGES and LANG that is set decides. A language that is not here is English.
func FromEnvironment(getenv func(string) string) Language {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if locale := getenv(name); locale != "" {
			l, _ := ofLocale(locale)
			return l
		}
	}
	return English
}

// ofLocale finds the language of a locale such as zh, zh_CN.UTF-8 or zh-Hans-CN.
func ofLocale(locale string) (Language, bool) {
	code := locale
	if end := strings.IndexAny(locale, "_-.@"); end >= 0 {
		code = locale[:end]
	}
	for l, known := range codes {
		if strings.EqualFold(code, known) {
			return Language(l), true
		}
	}
	return English, false
}

// Text returns an English text in the language. A text without a translation stays English. For a word with two
// meanings the catalogue's key has a context in front, such as took::open, which is never shown.
func (l Language) Text(english string) string {
	if text, ok := l.catalogue().texts[english]; ok {
		return text
	}
	if _, text, ok := strings.Cut(english, "::"); ok {
		return text
	}
	return english
}

// Phrase is an English format of package fmt in the language, with its values. The English is a literal where Phrase is
// called, so that a test finds it.
func (l Language) Phrase(english string, values ...any) string {
	format := l.Text(english)
	if len(values) == 0 {
		return format
	}
	return fmt.Sprintf(format, values...)
}

// none is the catalogue of the language that the code is written in.
var none = &catalogue{}

func (l Language) catalogue() *catalogue {
	if l == Chinese {
		return chinese()
	}
	return none
}
