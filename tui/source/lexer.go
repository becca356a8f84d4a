package source

import (
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// lexer splits Go into tokens, just well enough to colour it. Its rules are here so that kx does not carry, and set
// up at each start, the lexers of all languages in chroma.
var lexer = sync.OnceValue(func() chroma.Lexer {
	return chroma.Coalesce(chroma.MustNewLexer(&chroma.Config{Name: "Go"}, rules))
})

// rules are tried in their order. Each matches on one line, but for comments and raw strings.
func rules() chroma.Rules {
	word := func(words ...string) string { return chroma.Words(``, `\b`, words...) }
	return chroma.Rules{"root": {
		{Pattern: `\s+`, Type: chroma.Whitespace},
		{Pattern: `//[^\n]*`, Type: chroma.Comment},
		{Pattern: `/\*(?s:.*?)\*/`, Type: chroma.Comment},
		{Pattern: "`[^`]*`", Type: chroma.String},
		{Pattern: `"(\\.|[^"\\\n])*"`, Type: chroma.String},
		{Pattern: `'(\\.|[^'\\\n])+'`, Type: chroma.String},
		{Pattern: `(func)(\s+)(\([^()\n]*\)\s+)?(\w+)`,
			Type: chroma.ByGroups(chroma.Keyword, chroma.Whitespace, chroma.Text, chroma.NameFunction)},
		{Pattern: word("break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough", "for", "func", "go",
			"goto", "if", "import", "interface", "map", "package", "range", "return", "select", "struct", "switch", "type", "var"),
			Type: chroma.Keyword},
		{Pattern: word("true", "false", "nil", "iota"), Type: chroma.Number},
		{Pattern: `\d[\w.]*`, Type: chroma.Number},
		{Pattern: `\w+`, Type: chroma.Name},
		{Pattern: `[^\w\s]`, Type: chroma.Text},
	}}
}
